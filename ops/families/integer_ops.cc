#include "ops/families/integer_ops.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckStored(InferContext& op, DataType dtype, StoredTypes stored) {
  const bool are_codes = stored == StoredTypes::kCodes;
  if (dtype == VarType::FP32 && !are_codes) return absl::OkStatus();
  if (!IsCodeDtype(dtype) && !(are_codes && IsWideCodeDtype(dtype))) {
    return absl::InvalidArgumentError(
        absl::StrCat("out_dtype is ", static_cast<int>(dtype), "; want ",
                     are_codes ? "INT8, INT16 or UINT8" : "FP32, INT8 or UINT8"));
  }
  const CodeRange codes = CodesOfDtype(dtype);
  const int64_t code = op.Int("out_largest_code");
  if (code < 1 || code > codes.largest) {
    return absl::InvalidArgumentError(
        absl::StrCat("out_largest_code is ", code, "; want 1 to ", codes.largest));
  }
  if (const int64_t zero_point = op.Int("out_zero_point"); !IsCode(zero_point, codes)) {
    return absl::InvalidArgumentError(absl::StrCat("out_zero_point is ", zero_point, "; want ",
                                                   codes.smallest, " to ", codes.largest));
  }
  if (const double range = op.Float("out_range"); !(range >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("out_range is ", range, "; want a number that is not negative"));
  }
  return absl::OkStatus();
}

absl::Status CheckEpilogue(const InferContext& op) {
  ASSIGN_OR_RETURN(const Epilogue epilogue, EpilogueOf(op.op()));
  const int64_t operands =
      std::count_if(epilogue.begin(), epilogue.end(),
                    [](const EpilogueStage& stage) { return stage.has_operand(); });
  if (op.InputCount("Operands") != operands) {
    return absl::InvalidArgumentError(
        absl::StrCat("the epilogue has ", operands, " stages with an operand and Operands ",
                     op.InputCount("Operands"), "; want one for each"));
  }
  int index = 0;
  for (const EpilogueStage& stage : epilogue) {
    if (!stage.has_operand()) continue;
    const std::optional<DataType> dtype = op.Input("Operands", index++).dtype;
    if (dtype && !stage.is_of_codes()) RETURN_IF_ERROR(CheckNumbersType(stage, *dtype));
  }
  return absl::OkStatus();
}

// Whether the stage never gives a float or code below 0.
bool EndsAtZero(const EpilogueStage& stage) {
  return stage.kind == EpilogueStage::Kind::kRelu ||
         (stage.kind == EpilogueStage::Kind::kClip && stage.a >= 0);
}

// Whether the stage gives nothing below 0 for what is not below 0.
bool KeepsSign(const EpilogueStage& stage) {
  const bool is_of_a_number = stage.kind == EpilogueStage::Kind::kMultiply ||
                              stage.kind == EpilogueStage::Kind::kAdd ||
                              stage.kind == EpilogueStage::Kind::kRound;
  return EndsAtZero(stage) || (is_of_a_number && stage.a >= 0);
}

bool StoresUnsigned(const OpAttributes& op) {
  return op.Int("out_dtype") == CodeDtype(/*is_unsigned=*/true);
}

// Whether no float or code below 0 is stored after the epilogue.
bool IsNeverNegative(const OpAttributes& op) {
  if (StoresUnsigned(op)) return true;
  const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.op());
  if (!epilogue.ok()) return false;
  auto last = epilogue->rbegin();
  while (last != epilogue->rend() && KeepsSign(*last) && !EndsAtZero(*last)) ++last;
  return last != epilogue->rend() && EndsAtZero(*last);
}

}  // namespace

OpSchemaBuilder& DefineStored(OpSchemaBuilder& op) {
  return op.IsOnIntegers()
      .Attr("out_dtype", Int(VarType::FP32))
      .Attr("out_range", Float(0))
      .Attr("out_largest_code", Int(0))
      .Attr("out_zero_point", Int(0))
      .NeverNegativeIf(StoresUnsigned);
}

OpSchemaBuilder& DefineEpilogue(OpSchemaBuilder& op) {
  return DefineStored(op)
      .NeverNegativeIf(IsNeverNegative)
      .HasEpilogue()
      .Attr("input_zero_point", Int(0))
      .Attr("epilogue", Strings({}))
      .Attr("epilogue_a", Floats({}))
      .Attr("epilogue_b", Floats({}));
}

OpSchemaBuilder& DefineProductOfCodes(OpSchemaBuilder& op) {
  return DefineEpilogue(op).Attr("weight_zero_point", Int(0));
}

bool EpilogueKeepsSign(const OpAttributes& op) {
  const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.op());
  return epilogue.ok() && op.Int("input_zero_point") == 0 &&
         std::all_of(epilogue->begin(), epilogue->end(), KeepsSign);
}

OpSchema::InferFunction InferStored(OpSchema::InferFunction infer, absl::string_view output,
                                    StoredTypes stored) {
  return [infer = std::move(infer), output = std::string(output),
          stored](InferContext& op) -> absl::Status {
    ASSIGN_OR_RETURN(const DataType dtype, DataTypeAttr(op, "out_dtype"));
    RETURN_IF_ERROR(CheckStored(op, dtype, stored));
    RETURN_IF_ERROR(infer(op));
    RETURN_IF_ERROR(CheckEpilogue(op));
    const std::optional<Dims> dims =
        op.OutputCount(output) > 0 ? op.outputs().front().dims : std::nullopt;
    op.SetOutput(output, dtype, dims);
    return absl::OkStatus();
  };
}

}  // namespace fixpoint
