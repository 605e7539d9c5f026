#include "transpiler/composites/component_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {

Dims DimsOfFloats(const Op& op, absl::string_view slot) {
  const Argument* const input = op.Input(slot);
  const Variable* const variable = input == nullptr ? nullptr : input->variable();
  if (variable == nullptr || !variable->is_dense_tensor() ||
      variable->tensor()->data_type() != VarType::FP32) {
    return {};
  }
  const auto& dims = variable->tensor()->dims();
  return Dims(dims.begin(), dims.end());
}

std::string VarLine(absl::string_view name, DimsView dims) {
  return absl::StrCat("  var ", name, " f32[", absl::StrJoin(dims, ","), "]\n");
}

std::string IntegersText(absl::Span<const int64_t> integers) {
  return absl::StrCat("[", absl::StrJoin(integers, ", "), "]");
}

std::string FloatText(double value) {
  return PrintAttrValue(MakeFloatAttr("", static_cast<float>(value)));
}

std::string InputsText(const Op& op, absl::Span<const absl::string_view> slots) {
  std::string text;
  for (const absl::string_view slot : slots) {
    if (op.Input(slot) == nullptr) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", slot, "=", absl::AsciiStrToLower(slot));
  }
  return text;
}

}  // namespace fixpoint
