#include "runtime/op_by_op.h"

#include <glog/logging.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/era.h"
#include "ops/written_outputs.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/rewriter.h"

namespace fixpoint {
namespace {

bool IsPlainTensor(const Variable* variable) {
  return variable != nullptr && variable->desc() != nullptr && !variable->persistable() &&
         variable->desc()->type().type() == VarType::LOD_TENSOR;
}

// Other integers may be shapes, which a plan has to know.
bool HoldsNumbersOrCodes(const Variable& variable) {
  const VarType::TensorDesc* const tensor = variable.tensor();
  return tensor != nullptr &&
         (tensor->data_type() == VarType::FP32 || IsCodeDtype(tensor->data_type()) ||
          IsWideCodeDtype(tensor->data_type()));
}

}  // namespace

std::vector<WrittenTensor> WrittenTensors(const Program& program) {
  const Era era = EraOf(program);
  std::vector<WrittenTensor> written;
  absl::flat_hash_set<std::string> names;
  for (const Op& op : program.block(0).ops()) {
    if (IsFeed(op)) continue;
    for (const Argument* output : op.outputs()) {
      if (!IsPlainTensor(output->variable()) || !IsWritten(*output, era)) continue;
      std::string name(output->name());
      if (names.insert(name).second) {
        written.push_back({std::move(name), &op});
      }
    }
  }
  return written;
}

OpByOpProgram MakeOpByOp(const Program& program, const Program& other) {
  absl::flat_hash_set<std::string> common;
  for (const WrittenTensor& tensor : WrittenTensors(other)) common.insert(tensor.name);
  OpByOpProgram op_by_op{program.Clone(), {}};
  Rewriter rewriter(&op_by_op.program, "op_by_op");
  absl::flat_hash_map<std::string, std::string> given_as;
  for (const WrittenTensor& tensor : WrittenTensors(op_by_op.program)) {
    const Variable& variable = *op_by_op.program.Find(op_by_op.program.block(0), tensor.name);
    if (!common.contains(tensor.name) || variable.values().size() != 1) continue;
    if (!HoldsNumbersOrCodes(variable)) continue;
    VarDesc desc = *variable.desc();
    desc.set_name(rewriter.FreshName(absl::StrCat(tensor.name, ".given")));
    CHECK(rewriter.AddVariable(op_by_op.program.block(0), desc).ok());
    given_as[tensor.name] = desc.name();
    op_by_op.given.push_back({tensor.name, desc.name()});
  }
  for (const Op& op : op_by_op.program.block(0).ops()) {
    if (IsFetch(op) || !op.sub_blocks().empty()) continue;
    for (const Argument* input : op.inputs()) {
      const auto given = given_as.find(std::string(input->name()));
      if (given != given_as.end()) rewriter.SetArgument(*input, given->second);
    }
  }
  op_by_op.program.ForgetEdits();
  return op_by_op;
}

}  // namespace fixpoint
