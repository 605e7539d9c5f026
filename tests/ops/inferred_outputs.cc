#include "tests/ops/inferred_outputs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {

std::string Inferred(const std::string& text, Era era) {
  const ProgramDesc program = DescFromText(text);
  const BlockDesc& block = program.blocks(0);
  const auto find = [&](absl::string_view name) -> const VarDesc* {
    for (const VarDesc& var : block.vars()) {
      if (var.name() == name) return &var;
    }
    return nullptr;
  };
  const OpDesc& op = block.ops(0);
  const auto outputs = InferOutputs(op, era, find);
  if (!outputs.ok()) return absl::StrCat("error: ", outputs.status().message());
  std::vector<std::string> parts;
  size_t i = 0;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (int k = 0; k < slot.arguments_size(); ++k, ++i) {
      const InferredOutput& output = (*outputs)[i];
      parts.push_back(absl::StrCat(slot.parameter(), "=",
                                   output.dtype ? VarType::Type_Name(*output.dtype) : "?",
                                   output.dims ? DimsText(*output.dims) : "?",
                                   output.kind == VarType::SELECTED_ROWS ? " rows" : ""));
    }
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace fixpoint
