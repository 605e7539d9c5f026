// The quantizer that finds a step and a zero point for each row of a weight, and the op after it.
// Codes of up to 8 bits are held as integers: lookups and products read them as such, and floats
// are computed where something reads them.

#include "runtime/executor/ops/row_codes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/codes/held_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/kernels/row_codes.h"

namespace fixpoint::executor {
namespace {

// The codes themselves, as floats.
struct CodesAsNumbers {
  RowCodes rows;
};

kernels::RowParams ParamsOf(const RowCodes& rows, const StepContext& run) {
  return {run.Floats(rows.scales), run.Of<int32_t>(rows.zero_points)};
}

// Declares that an output is held as codes: `add_numbers` adds the step that dequantizes them.
template <typename Note>
void DeferNumbers(OpPlanner& op, const Note& note, std::function<void(Buffer)> add_numbers) {
  const Value& out = op.OutputValue("Out");
  op.builder().Defer(out, {VarType::FP32, op.InputDims("X")}, Layout::kRowMajor,
                     std::move(add_numbers));
  op.builder().Attach(out, note);
}

absl::Status PlanQuantize(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  const CodeRange range = quantize.codes;
  const int axis = quantize.axis.value_or(-1);
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, axis));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  RowCodes rows;
  rows.axis = axis;
  rows.scales = op.WriteAs("OutScale", {VarType::FP32, {view.channels.count}});
  rows.zero_points = op.WriteAs("OutZeroPoint", {VarType::INT32, {view.channels.count}});
  op.AddStep({{x},
              {rows.scales, rows.zero_points},
              [=, channels = view.channels](const StepContext& run) {
                kernels::FindRowParams(run.Floats(x), channels, range, ParamsOf(rows, run));
                return absl::OkStatus();
              },
              "",
              0,
              "find range"});
  if (!op.Wants("Out")) return absl::OkStatus();
  if (!CodesHeldOf(quantize, /*is_never_negative=*/false)) {
    const Buffer out = op.WriteAs("Out", {VarType::FP32, op.InputDims("X")});
    op.AddStep({{x, rows.scales, rows.zero_points},
                {out},
                [=, channels = view.channels](const StepContext& run) {
                  kernels::QuantizeRows(run.Floats(x), channels, range, ParamsOf(rows, run),
                                        run.Floats(out));
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  }
  rows.codes = op.Scratch("codes", VarType::INT8, view.channels.size());
  op.AddStep({{x, rows.scales, rows.zero_points},
              {rows.codes},
              [=, channels = view.channels](const StepContext& run) {
                kernels::QuantizeRows(run.Floats(x), channels, range, ParamsOf(rows, run),
                                      run.Of<int8_t>(rows.codes));
                return absl::OkStatus();
              }});
  DeferNumbers(op, CodesAsNumbers{rows}, [=, &builder = op.builder()](Buffer out) {
    builder.AddStep(
        {"codes to numbers", nullptr, "", {rows.codes}, {out}, 0, [=](const StepContext& run) {
           const absl::Span<int8_t> codes = run.Of<int8_t>(rows.codes);
           std::copy(codes.begin(), codes.end(), run.Floats(out).begin());
           return absl::OkStatus();
         }});
  });
  return absl::OkStatus();
}

absl::Status PlanDequantize(OpPlanner& op) {
  if (!op.Wants("Out")) return absl::OkStatus();
  const int axis = static_cast<int>(op.attributes().Int("quant_axis"));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, axis));
  RowCodes rows;
  rows.axis = axis;
  RETURN_IF_ERROR(op.CheckSize("Scale", view.channels.count));
  RETURN_IF_ERROR(op.CheckSize("ZeroPoint", view.channels.count));
  ASSIGN_OR_RETURN(rows.scales, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(rows.zero_points, op.Read("ZeroPoint", VarType::INT32));
  const auto* quantized = op.builder().Attached<CodesAsNumbers>(op.InputValue("X"));
  if (op.InputType("X").dtype == VarType::INT8) {
    ASSIGN_OR_RETURN(rows.codes, op.Read("X", VarType::INT8));
  } else if (quantized != nullptr && quantized->rows.axis == axis) {
    rows.codes = quantized->rows.codes;
  } else {
    ASSIGN_OR_RETURN(const Buffer codes, op.ReadFloats("X"));
    const Buffer out =
        op.WriteOver("Out", {VarType::FP32, op.InputDims("X")}, Layout::kRowMajor, codes);
    op.AddStep({{codes, rows.scales, rows.zero_points},
                {out},
                [=, channels = view.channels](const StepContext& run) {
                  kernels::DequantizeRows(run.Floats(codes), channels, ParamsOf(rows, run),
                                          run.Floats(out));
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  }
  DeferNumbers(op, rows, [=, channels = view.channels, &builder = op.builder()](Buffer out) {
    builder.AddStep({"dequantize",
                     nullptr,
                     "",
                     {rows.codes, rows.scales, rows.zero_points},
                     {out},
                     0,
                     [=](const StepContext& run) {
                       kernels::DequantizeRows(run.Of<int8_t>(rows.codes), channels,
                                               ParamsOf(rows, run), run.Floats(out));
                       return absl::OkStatus();
                     }});
  });
  return absl::OkStatus();
}

}  // namespace

const RowCodes* FindRowCodes(const OpPlanner& op, absl::string_view slot) {
  return op.builder().Attached<RowCodes>(op.InputValue(slot));
}

OpPlans RowCodePlans() {
  return {{"fake_row_wise_quantize_min_max", PlanQuantize},
          {"fake_row_wise_dequantize", PlanDequantize}};
}

}  // namespace fixpoint::executor
