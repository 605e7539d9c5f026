#include "runtime/executor/ops/lowered_codes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "proto/program/type_names.h"

namespace fixpoint::executor {

using kernels::CodeType;
using kernels::Output;
using kernels::OutputType;

absl::StatusOr<CodeType> CodeTypeOf(const OpPlanner& op, absl::string_view slot) {
  const VarType::Type dtype = op.InputType(slot).dtype;
  if (IsCodeDtype(dtype)) return CodeTypeOf(IsUnsignedDtype(dtype));
  return absl::UnimplementedError(
      absl::StrCat(slot, " is ", TypeName(dtype), "; want codes, i8 or u8"));
}

absl::StatusOr<bool> IsWide(const OpPlanner& op, absl::string_view slot) {
  const VarType::Type dtype = op.InputType(slot).dtype;
  if (IsWideCodeDtype(dtype)) return true;
  if (IsCodeDtype(dtype)) return false;
  return absl::UnimplementedError(
      absl::StrCat(slot, " is ", TypeName(dtype), "; want codes, i8, u8 or i16"));
}

absl::StatusOr<int32_t> ZeroPointOf(const OpPlanner& op, absl::string_view attribute,
                                    VarType::Type dtype) {
  const int64_t zero_point = op.attributes().Int(attribute);
  const CodeRange codes = CodesOfDtype(dtype);
  if (IsCode(zero_point, codes)) return static_cast<int32_t>(zero_point);
  return absl::InvalidArgumentError(absl::StrCat(std::string(attribute), " is ", zero_point,
                                                 "; want a code, ", codes.smallest, " to ",
                                                 codes.largest));
}

OutputType OutputTypeOf(VarType::Type dtype) {
  if (!IsCodeDtype(dtype)) return OutputType::kFloat;
  return IsUnsignedDtype(dtype) ? OutputType::kUint8 : OutputType::kInt8;
}

Output OutputOf(const StepContext& run, Buffer buffer, OutputType type) {
  switch (type) {
    case OutputType::kInt8:
      return run.Of<int8_t>(buffer);
    case OutputType::kUint8:
      return run.Of<uint8_t>(buffer);
    case OutputType::kFloat:
      break;
  }
  return run.Floats(buffer);
}

void AddCodes(const EpilogueStage& stage, absl::Span<const uint8_t> codes,
              absl::Span<const float> x, absl::Span<float> out) {
  if (stage.is_of_unsigned_codes()) {
    kernels::AddCodes(x, codes, stage.a, stage.b, out);
  } else {
    const auto* const data = reinterpret_cast<const int8_t*>(codes.data());
    kernels::AddCodes(x, absl::MakeConstSpan(data, codes.size()), stage.a, stage.b, out);
  }
}

}  // namespace fixpoint::executor
