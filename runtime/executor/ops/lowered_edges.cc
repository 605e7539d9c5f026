// The ops of lowered programs around sums: edges between floats and codes, codes that are added to
// floats, and tables of codes.

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/epilogue.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/lowered_codes.h"
#include "runtime/executor/ops/wide_codes.h"
#include "runtime/kernels/code_conversion.h"
#include "runtime/kernels/code_table.h"

namespace fixpoint::executor {
namespace {

using kernels::CodeType;
using kernels::OutputType;

absl::Status PlanQuantize(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const int32_t zero_point, ZeroPointOf(op, "out_zero_point", type.dtype));
  const kernels::CodeConversion conversion = {
      op.Number("multiplier"), static_cast<float>(op.attributes().Int("smallest_code")),
      static_cast<float>(op.attributes().Int("out_largest_code")), static_cast<float>(zero_point)};
  const bool is_wide = IsWideCodeDtype(type.dtype);
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  const Buffer out = op.WriteAs("Out", type, layout);
  const bool is_unsigned = OutputTypeOf(type.dtype) == OutputType::kUint8;
  AddElementStep(op, {x}, out, [=](const kernels::ElementBlock& block) {
    if (is_wide) {
      kernels::Convert(block.In<float>(0), conversion, block.Out<int16_t>());
    } else if (is_unsigned) {
      kernels::Convert(block.In<float>(0), conversion, block.Out<uint8_t>());
    } else {
      kernels::Convert(block.In<float>(0), conversion, block.Out<int8_t>());
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<int32_t> LargestCodeOf(const OpPlanner& op) {
  const int64_t largest_code = op.attributes().Int("largest_code");
  const int32_t largest = LargestCode(kMostBits);
  if (largest_code >= 1 && largest_code <= largest) return static_cast<int32_t>(largest_code);
  return absl::InvalidArgumentError(
      absl::StrCat("largest_code is ", largest_code, "; want 1 to ", largest));
}

// A buffer that holds the number in every run.
Buffer AddNumber(OpPlanner& op, absl::string_view what, float number) {
  const Buffer buffer = op.Scratch(what, VarType::FP32, 1);
  op.AddStep({{},
              {buffer},
              [=](const StepContext& run) {
                run.Floats(buffer)[0] = number;
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat("set ", what)});
  return buffer;
}

// Of wide codes.
absl::Status PlanDequantizeWide(OpPlanner& op) {
  if (op.attributes().Int("zero_point") != 0) {
    return absl::UnimplementedError("zero_point is given, and X is i16; want none");
  }
  WideCodes codes;
  ASSIGN_OR_RETURN(codes.largest_code, LargestCodeOf(op));
  codes.layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(codes.codes, op.Read("X", VarType::INT16, codes.layout));
  codes.ranges = AddNumber(op, "range", op.Number("range"));
  return WriteWideCodes(op, "Out", codes);
}

// An op that no rule of lowering took is computed on codes if it was computed so in the portable
// program.
absl::Status AddDequantize(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const bool is_wide, IsWide(op, "X"));
  if (is_wide) return PlanDequantizeWide(op);
  Codes codes;
  ASSIGN_OR_RETURN(codes.type, CodeTypeOf(op, "X"));
  ASSIGN_OR_RETURN(codes.largest_code, LargestCodeOf(op));
  codes.layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(codes.codes, op.Read("X", op.InputType("X").dtype, codes.layout));
  codes.ranges = AddNumber(op, "range", op.Number("range"));
  ASSIGN_OR_RETURN(const int32_t zero_point, ZeroPointOf(op, "zero_point", codes.dtype()));
  if (op.attributes().IsGiven("zero_point")) {
    codes.zero_point = AddNumber(op, "zero_point", static_cast<float>(zero_point));
  }
  op.builder().WriteCodes(op.OutputValue("Out"), type, codes, /*holds_codes=*/false);
  return absl::OkStatus();
}

absl::Status PlanDequantize(OpPlanner& op) {
  RETURN_IF_ERROR(AddDequantize(op));
  op.KeepRunShape("X", "Out");
  return absl::OkStatus();
}

absl::Status PlanAdd(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const CodeType code_type, CodeTypeOf(op, "Y"));
  RETURN_IF_ERROR(op.CheckDims("Y", op.InputDims("X")));
  ASSIGN_OR_RETURN(const int32_t largest_code, LargestCodeOf(op));
  ASSIGN_OR_RETURN(const int32_t zero_point, ZeroPointOf(op, "zero_point", DtypeOf(code_type)));
  const EpilogueStage stage =
      EpilogueStage::AddCodes(IsUnsigned(code_type), StepOf(op.Number("range"), largest_code),
                              static_cast<float>(zero_point));
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer codes, op.Read("Y", op.InputType("Y").dtype, layout));
  const Buffer out = op.WriteOver("Out", type, layout, x);
  op.AddStep({{x, codes}, {out}, [=](const StepContext& run) {
                AddCodes(stage, run.Of<uint8_t>(codes), run.Floats(x), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanTable(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const CodeType code_type, CodeTypeOf(op, "X"));
  RETURN_IF_ERROR(op.CheckSize("Table", kCodesInByte));
  ASSIGN_OR_RETURN(const Buffer table, op.Read("Table", type.dtype));
  const OutputType output_type = OutputTypeOf(type.dtype);
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", op.InputType("X").dtype, layout));
  const Buffer out = output_type == OutputType::kFloat ? op.WriteAs("Out", type, layout)
                                                       : op.WriteOver("Out", type, layout, x);
  op.AddStep({{x, table}, {out}, [=](const StepContext& run) {
                kernels::LookUp(run.Of<uint8_t>(x), code_type, run.Of<uint8_t>(table).data(),
                                OutputOf(run, out, output_type));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans LoweredEdgePlans() {
  return {{"integer_quantize", PlanQuantize},
          {"integer_dequantize", PlanDequantize},
          {"integer_add", PlanAdd},
          {"integer_table", PlanTable}};
}

}  // namespace fixpoint::executor
