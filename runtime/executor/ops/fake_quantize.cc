// Ops that simulate quantization, and observers of ranges. Ranges are found as ops/quant_math.h
// defines; the codes of a value are held as integers if 8 bits hold them, so that a product of such
// values is one of integers.

#include "runtime/kernels/fake_quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/power_of_two_range.h"
#include "ops/quant_math.h"
#include "ops/stochastic_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/batch_norm.h"
#include "runtime/executor/ops/int8_runtime.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/kernels/stochastic_quantize.h"

namespace fixpoint::executor {
namespace {

// What becomes of a range that an op found.
struct Widening {
  bool to_power_of_two_steps = false;
  int32_t largest_code = 0;

  float operator()(float range) const {
    return to_power_of_two_steps ? PowerOfTwoRange(range, largest_code) : range;
  }
};

// Error: that of CheckBits, with kLeastBitsOfOps.
absl::StatusOr<Widening> WideningOf(const OpPlanner& op) {
  const auto bits = static_cast<int>(op.attributes().Int("bit_length"));
  RETURN_IF_ERROR(CheckBits("bit_length", bits, kLeastBitsOfOps));
  return Widening{op.attributes().Bool(kPowerOfTwoStepsAttr), LargestCode(bits)};
}

// Adds the step that finds the largest absolute value of X, of each channel.
absl::Status AddFindRanges(OpPlanner& op, std::optional<int> channel_axis, Buffer ranges) {
  const NormalizedValue* normalized = FindNormalized(op.builder(), op.InputValue("X"));
  if (!channel_axis && normalized != nullptr) {
    op.builder().AddCopy("range of batch_norm", normalized->range, ranges);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, channel_axis));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  std::optional<RunShape> shape;
  if (!channel_axis) shape = RunShapeOfX(op);
  std::vector<Buffer> reads = {x};
  if (shape) reads.push_back(shape->dims);
  op.AddStep({std::move(reads),
              {ranges},
              [=, channels = view.channels](const StepContext& run) {
                kernels::Channels there = channels;
                if (shape) there.inner = run.CountOf(shape, there.inner);
                kernels::FindRanges(run.Floats(x).first(there.size()), there, run.Floats(ranges));
                return absl::OkStatus();
              },
              "",
              0,
              "find range"});
  return absl::OkStatus();
}

// The ranges with which X is quantized: its largest absolute values, widened if the op says so.
absl::Status AddRangesOfX(OpPlanner& op, std::optional<int> channel_axis, Buffer ranges) {
  ASSIGN_OR_RETURN(const Widening widening, WideningOf(op));
  if (!widening.to_power_of_two_steps) return AddFindRanges(op, channel_axis, ranges);
  const Buffer found = op.Scratch("ranges", VarType::FP32, ranges.size);
  RETURN_IF_ERROR(AddFindRanges(op, channel_axis, found));
  op.AddStep({{found},
              {ranges},
              [=](const StepContext& run) {
                const absl::Span<const float> from = run.Floats(found);
                std::transform(from.begin(), from.end(), run.Floats(ranges).begin(), widening);
                return absl::OkStatus();
              },
              "",
              0,
              "widen range"});
  return absl::OkStatus();
}

// What an op finds in a variable that it names only as an output. Error (kInvalidArgument): it has
// no value, or another number of elements.
absl::StatusOr<Buffer> HeldInOutput(OpPlanner& op, absl::string_view slot, int64_t size) {
  ASSIGN_OR_RETURN(const std::optional<Buffer> held, op.ReadFoundIn(slot, {VarType::FP32, {size}}));
  if (held) return *held;
  return absl::InvalidArgumentError(
      absl::StrCat("output ", slot, " holds no ", size,
                   " numbers; want a persistable variable of that size with a value"));
}

// The range that an op uses in inference: what is in InScale.
absl::StatusOr<Buffer> StoredRange(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer range, ReadNumber(op, "InScale"));
  if (op.Wants("OutScale")) {
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue("OutScale"), op.InputValue("InScale")));
  }
  return range;
}

absl::Status PlanAbsMax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  const Buffer range = op.WriteAs("OutScale", kOneNumber);
  RETURN_IF_ERROR(AddRangesOfX(op, std::nullopt, range));
  return AddQuantize(op, quantize, range);
}

// Numbers are drawn for elements as they lie with their channels last.
absl::Status PlanStochasticAbsMax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  if (!FitByte(quantize.codes)) {
    return absl::UnimplementedError(
        absl::StrCat("bit_length is ", quantize.codes.bits, "; want 8 or less"));
  }
  const Buffer range = op.WriteAs("OutScale", kOneNumber);
  RETURN_IF_ERROR(AddFindRanges(op, std::nullopt, range));
  if (!op.Wants("Out")) return absl::OkStatus();
  const TensorType type = op.InputType("X");
  Codes codes;
  codes.ranges = range;
  codes.largest_code = quantize.codes.largest;
  codes.layout = type.dims.size() == 4 ? Layout::kChannelsLast : Layout::kRowMajor;
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", codes.layout));
  codes.codes = op.builder().NewBuffer(absl::StrCat(op.OutputName("Out"), " as codes"),
                                       {codes.dtype(), type.dims}, codes.layout);
  StepKernel step{{x, range},
                  {codes.codes},
                  [=, number = op.number(), seed = op.attributes().Int("seed"),
                   largest = codes.largest_code, out = codes.codes](const StepContext& run) {
                    kernels::QuantizeStochastically(run.Random(number, seed), run.Floats(x),
                                                    run.Floats(range)[0], largest,
                                                    run.Of<int8_t>(out));
                    return absl::OkStatus();
                  }};
  step.in_each_run = true;
  op.AddStep(std::move(step));
  op.builder().WriteCodes(op.OutputValue("Out"), type, codes, /*holds_codes=*/false);
  op.KeepRunShape("X", "Out");
  return absl::OkStatus();
}

// Under paddle-mobile's name (int8_runtime.cc): at InScale, or at the range of X.
absl::Status PlanMobileQuantize(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  if (op.HasInput("InScale")) {
    if (!op.IsTest()) {
      return absl::UnimplementedError("is_test is false; want a program for inference");
    }
    ASSIGN_OR_RETURN(const Buffer stored, StoredRange(op));
    return AddQuantize(op, quantize, stored);
  }
  const Buffer range = op.WriteAs("OutScale", kOneNumber);
  RETURN_IF_ERROR(AddFindRanges(op, std::nullopt, range));
  return AddQuantize(op, quantize, range);
}

// Adds the steps that include the range of X in the moving average: state = rate * state + 1, accum
// = rate * accum + range; their quotient is the new range, which is returned.
absl::StatusOr<Buffer> AddFollow(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Widening widening, WideningOf(op));
  const Buffer current = op.Scratch("range", VarType::FP32, 1);
  RETURN_IF_ERROR(AddFindRanges(op, std::nullopt, current));
  ASSIGN_OR_RETURN(const Buffer state, ReadNumber(op, "InState"));
  ASSIGN_OR_RETURN(const Buffer accum, ReadNumber(op, "InAccum"));
  const Buffer state_out = op.WriteOver("OutState", kOneNumber, Layout::kRowMajor, state);
  const Buffer accum_out = op.WriteOver("OutAccum", kOneNumber, Layout::kRowMajor, accum);
  const Buffer range = op.WriteAs("OutScale", kOneNumber);
  const float rate = op.Number("moving_rate");
  op.AddStep({{current, state, accum},
              {state_out, accum_out, range},
              [=](const StepContext& run) {
                const float new_state = rate * run.Floats(state)[0] + 1.0f;
                const float new_accum = rate * run.Floats(accum)[0] + run.Floats(current)[0];
                run.Floats(state_out)[0] = new_state;
                run.Floats(accum_out)[0] = new_accum;
                run.Floats(range)[0] = widening(new_accum / new_state);
                return absl::OkStatus();
              },
              "",
              0,
              "follow moving average"});
  return range;
}

absl::Status PlanMovingAverage(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  if (op.IsTest()) {
    ASSIGN_OR_RETURN(const Buffer stored, StoredRange(op));
    return AddQuantize(op, quantize, stored);
  }
  ASSIGN_OR_RETURN(const Buffer range, AddFollow(op));
  return AddQuantize(op, quantize, range);
}

absl::Status PlanObserver(OpPlanner& op) {
  if (!op.IsTest()) RETURN_IF_ERROR(AddFollow(op).status());
  if (!op.Wants("Out")) return absl::OkStatus();
  return op.builder().Share(op.OutputValue("Out"), op.InputValue("X"));
}

// The largest absolute values of the last steps, before this one: OutScales.
absl::StatusOr<Buffer> WindowOf(OpPlanner& op) {
  const int64_t size = op.attributes().Int("window_size");
  if (size >= 1) return HeldInOutput(op, "OutScales", size);
  return absl::InvalidArgumentError(absl::StrCat("window_size is ", size, "; want 1 or more"));
}

// The largest of the window, by the reference's rule: if the value that leaves the window is the
// range, the range is found anew.
float NextWindowRange(absl::Span<float> window, int64_t step, float range, float current) {
  float& place = window[step % window.size()];
  const float removed = place;
  place = current;
  if (range < current) return current;
  if (std::fabs(removed - range) >= 1e-6f) return range;
  return AbsMax(window.first(std::min<size_t>(step, window.size())));
}

// The mean of the window. Step t, counted from 1, is kept at place (t - 1) mod its size.
float NextWindowMean(absl::Span<float> window, int64_t step, float /*range*/, float current) {
  window[(step - 1) % window.size()] = current;
  const size_t seen = std::min<size_t>(step, window.size());
  double sum = 0;
  for (size_t i = 0; i < seen; ++i) sum += window[i];
  return static_cast<float>(sum / static_cast<double>(seen));
}

using WindowRule = float (*)(absl::Span<float> window, int64_t step, float range, float current);

// `widening`: of the range that the rule gives.
absl::Status PlanWindow(OpPlanner& op, WindowRule rule, int64_t first_step,
                        const Widening& widening) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  if (op.IsTest()) {
    ASSIGN_OR_RETURN(const Buffer stored, StoredRange(op));
    return AddQuantize(op, quantize, stored);
  }
  const Buffer current = op.Scratch("range", VarType::FP32, 1);
  RETURN_IF_ERROR(AddFindRanges(op, std::nullopt, current));
  ASSIGN_OR_RETURN(const Buffer before, ReadNumber(op, "InScale"));
  RETURN_IF_ERROR(op.CheckSize("Iter", 1));
  ASSIGN_OR_RETURN(const Buffer step, op.Read("Iter", VarType::INT64));
  ASSIGN_OR_RETURN(const Buffer window_before, WindowOf(op));
  const Buffer window = op.WriteOver("OutScales", {VarType::FP32, {window_before.size}},
                                     Layout::kRowMajor, window_before);
  const Buffer range = op.WriteOver("OutScale", kOneNumber, Layout::kRowMajor, before);
  op.AddStep({{current, before, step, window_before},
              {window, range},
              [=](const StepContext& run) {
                const int64_t number = run.Of<int64_t>(step)[0];
                if (number < first_step) {
                  return absl::InvalidArgumentError(
                      absl::StrCat("Iter is ", number, "; want steps from ", first_step, " on"));
                }
                const absl::Span<float> after = run.Floats(window);
                const absl::Span<const float> held = run.Floats(window_before);
                if (after.data() != held.data()) std::copy(held.begin(), held.end(), after.begin());
                run.Floats(range)[0] =
                    widening(rule(after, number, run.Floats(before)[0], run.Floats(current)[0]));
                return absl::OkStatus();
              },
              "",
              0,
              "follow window"});
  return AddQuantize(op, quantize, range);
}

absl::Status PlanWindowMean(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Widening widening, WideningOf(op));
  return PlanWindow(op, NextWindowMean, /*first_step=*/1, widening);
}

absl::Status PlanChannelWise(OpPlanner& op) {
  RETURN_IF_ERROR(op.OutputType("Out").status());
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, quantize.axis));
  if (quantize.kind == QuantOp::kQuantize && op.IsTest()) {
    ASSIGN_OR_RETURN(const Buffer stored, HeldInOutput(op, "OutScale", view.channels.count));
    return AddQuantize(op, quantize, stored);
  }
  const Buffer ranges = op.WriteAs("OutScale", {VarType::FP32, {view.channels.count}});
  RETURN_IF_ERROR(AddRangesOfX(op, quantize.axis, ranges));
  return AddQuantize(op, quantize, ranges);
}

// quant_axis -1: by the moving average, in inference by Scale [1]; else by each channel's own
// range, in inference by Scale [C]. only_observer: the values pass as they are.
absl::Status PlanQuantizeLinear(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, quantize.axis));
  Buffer ranges;
  if (op.IsTest()) {
    RETURN_IF_ERROR(op.CheckSize("Scale", view.channels.count));
    ASSIGN_OR_RETURN(ranges, op.ReadFloats("Scale"));
  } else {
    if (quantize.axis) {
      ranges = op.WriteAs("OutScale", {VarType::FP32, {view.channels.count}});
      RETURN_IF_ERROR(AddRangesOfX(op, quantize.axis, ranges));
    } else {
      ASSIGN_OR_RETURN(ranges, AddFollow(op));
    }
  }
  if (!quantize.only_observes) return AddQuantize(op, quantize, ranges);
  if (!op.Wants("Y")) return absl::OkStatus();
  return op.builder().Share(op.OutputValue("Y"), op.InputValue("X"));
}

// The straight-through estimator: rounding has the gradient 1, and so has clipping.
absl::Status PlanPassGradient(OpPlanner& op) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  return op.builder().Share(op.OutputValue("X@GRAD"), op.InputValue("Out@GRAD"));
}

}  // namespace

OpPlans FakeQuantizePlans() {
  return {
      {"fake_quantize_abs_max", PlanAbsMax},
      {"fake_quantize_dequantize_abs_max", PlanAbsMax},
      {kQuantizeStochastically, PlanStochasticAbsMax},
      {"quantize",
       [](OpPlanner& op) {
         return op.HasInput("X") ? PlanMobileQuantize(op) : PlanQuantizeForOneDnn(op);
       }},
      {"fake_quantize_moving_average_abs_max", PlanMovingAverage},
      {"fake_quantize_dequantize_moving_average_abs_max", PlanMovingAverage},
      {"moving_average_abs_max_scale", PlanObserver},
      {"fake_quantize_range_abs_max",
       [](OpPlanner& op) { return PlanWindow(op, NextWindowRange, /*first_step=*/0, Widening()); }},
      {"fake_quantize_window_mean_abs_max", PlanWindowMean},
      {"fake_channel_wise_quantize_abs_max", PlanChannelWise},
      {"fake_channel_wise_quantize_dequantize_abs_max", PlanChannelWise},
      {"quantize_linear", PlanQuantizeLinear},
      {"fake_quantize_dequantize_grad", PlanPassGradient},
      {"straight_through_estimator_grad", PlanPassGradient},
      {"stright_throuth_estimator_grad", PlanPassGradient},
  };
}

}  // namespace fixpoint::executor
