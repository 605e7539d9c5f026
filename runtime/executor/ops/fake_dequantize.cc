// Ops that dequantize codes. If codes are held as integers, and the ranges are those that they were
// made with, nothing is computed: the floats are computed where something reads them, which a
// product of codes never does.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/int8_runtime.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/executor/ops/wide_codes.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::executor {
namespace {

// What an op says about the codes in X.
struct Dequantization {
  int32_t largest_code = 0;
  std::optional<int> channel_axis = std::nullopt;
  absl::string_view scale = "Scale";
  absl::string_view output = "Out";
};

absl::Status AddDequantize(OpPlanner& op, const Dequantization& d) {
  PlanBuilder& builder = op.builder();
  const Value& x = op.InputValue("X");
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, d.channel_axis));
  RETURN_IF_ERROR(op.CheckSize(d.scale, view.channels.count));
  ASSIGN_OR_RETURN(const Buffer ranges, op.ReadFloats(d.scale));
  const TensorType type{VarType::FP32, op.InputDims("X")};

  if (op.InputType("X").dtype == VarType::INT8) {
    Codes codes;
    ASSIGN_OR_RETURN(codes.codes, op.Read("X", VarType::INT8));
    codes.ranges = ranges;
    codes.largest_code = d.largest_code;
    codes.channel_axis = d.channel_axis;
    builder.WriteCodes(op.OutputValue(d.output), type, codes, /*holds_codes=*/false);
    return absl::OkStatus();
  }
  WideCodes wide = {{}, ranges, d.largest_code, d.channel_axis};
  if (IsWideCodeDtype(op.InputType("X").dtype)) {
    ASSIGN_OR_RETURN(wide.codes, op.Read("X", VarType::INT16));
    return WriteWideCodes(op, d.output, wide);
  }
  if (const WideCodes* const held = FindWideNumbers(op, "X"); held != nullptr) {
    wide.codes = held->codes;
    wide.layout = held->layout;
    const bool are_same = held->ranges == ranges && held->largest_code == d.largest_code &&
                          held->channel_axis == d.channel_axis;
    if (are_same || held->ranges == Buffer()) return WriteWideCodes(op, d.output, wide);
  }
  if (builder.HoldsCodes(x)) {
    ASSIGN_OR_RETURN(const std::optional<Codes> codes, builder.ReadCodes(x, builder.LayoutOf(x)));
    // For codes that were read as integers, this op defines what they stand for.
    if (codes && codes->ranges == Buffer()) {
      Codes ranged = *codes;
      ranged.ranges = ranges;
      ranged.largest_code = d.largest_code;
      ranged.channel_axis = d.channel_axis;
      builder.WriteCodes(op.OutputValue(d.output), type, ranged, /*holds_codes=*/false);
      return absl::OkStatus();
    }
    if (codes && codes->ranges == ranges && codes->largest_code == d.largest_code &&
        codes->channel_axis == d.channel_axis && !codes->zero_point) {
      builder.WriteCodes(op.OutputValue(d.output), type, *codes, /*holds_codes=*/false);
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(const Buffer codes, op.ReadFloats("X", view.layout));
  const Buffer out = op.WriteOver(d.output, type, view.layout, codes);
  op.AddStep({{codes, ranges},
              {out},
              [=, largest_code = d.largest_code, channels = view.channels](const StepContext& run) {
                kernels::Dequantize(run.Floats(codes), run.Floats(ranges), channels, largest_code,
                                    run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanDequantize(OpPlanner& op, const Dequantization& d) {
  if (!op.Wants(d.output)) return absl::OkStatus();
  RETURN_IF_ERROR(AddDequantize(op, d));
  if (!d.channel_axis) op.KeepRunShape("X", d.output);
  return absl::OkStatus();
}

// What an op says that divides by a largest code.
absl::StatusOr<Dequantization> DequantizationOf(const OpPlanner& op) {
  RETURN_IF_ERROR(ReadLargestCode(op.attributes().op(), op.era(), LargestCode(8)).status());
  const std::optional<CodeOp> read = ReadCodeOp(op.op(), op.era());
  if (!read) return absl::InvalidArgumentError("its result is absent; want an output for it");
  return Dequantization{read->codes.largest, read->axis, OpPlanner::SlotOf(*read->scale),
                        OpPlanner::SlotOf(*read->output)};
}

absl::StatusOr<int32_t> LargestCodeOf(int64_t bits) {
  if (AreBits(bits)) return LargestCode(static_cast<int>(bits));
  return absl::InvalidArgumentError(
      absl::StrCat("codes of ", bits, " bits; want ", kLeastBits, " to ", kMostBits));
}

// For sums of products of codes: programs that the reference froze in its first releases have the
// scale of the weight in max_range.
absl::Status PlanScaledSums(OpPlanner& op, float max_range) {
  if (!op.Wants("Out")) return absl::OkStatus();
  RETURN_IF_ERROR(op.CheckSize("Scale", 1));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, std::nullopt));
  ASSIGN_OR_RETURN(const Buffer sums, op.ReadFloats("X", view.layout));
  ASSIGN_OR_RETURN(const Buffer range, op.ReadFloats("Scale"));
  const Buffer out = op.WriteOver("Out", {VarType::FP32, op.InputDims("X")}, view.layout, sums);
  op.AddStep({{sums, range}, {out}, [=, channels = view.channels](const StepContext& run) {
                kernels::DequantizeProduct(run.Floats(sums), run.Floats(range), channels,
                                           /*input_range=*/1, max_range, run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanMaxAbs(OpPlanner& op) {
  const float max_range = op.Number("max_range");
  if (!(max_range > 0 && std::isfinite(max_range))) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_range is ", max_range, "; want a finite number above 0"));
  }
  const bool is_code = max_range == std::floor(max_range) &&
                       max_range < static_cast<float>(std::numeric_limits<int32_t>::max());
  if (!is_code) return PlanScaledSums(op, max_range);
  Dequantization d;
  d.largest_code = static_cast<int32_t>(max_range);
  return PlanDequantize(op, d);
}

// X is the product of codes of an activation, whose range is the second of Scales, and of a
// weight's channels.
absl::Status PlanProductOfCodes(OpPlanner& op, const std::vector<int64_t>& bits) {
  ASSIGN_OR_RETURN(const int32_t of_weight, LargestCodeOf(bits[0]));
  ASSIGN_OR_RETURN(const int32_t of_activation, LargestCodeOf(bits[1]));
  const int axis = static_cast<int>(std::max<int64_t>(op.attributes().Int("x_num_col_dims"), 1));
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, axis));
  RETURN_IF_ERROR(op.CheckSize("Scales", view.channels.count));
  if (op.InputType("Scales", 1).size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scales[1] is ", DimsText(op.InputDims("Scales", 1)), "; want one number"));
  }
  ASSIGN_OR_RETURN(const Buffer ranges, op.ReadFloats("Scales"));
  ASSIGN_OR_RETURN(const Buffer range, op.ReadFloats("Scales", Layout::kRowMajor, 1));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  const Buffer out = op.WriteOver("Out", {VarType::FP32, op.InputDims("X")}, view.layout, x);
  const float largest = static_cast<float>(of_weight) * static_cast<float>(of_activation);
  op.AddStep({{x, ranges, range}, {out}, [=, channels = view.channels](const StepContext& run) {
                kernels::DequantizeProduct(run.Floats(x), run.Floats(ranges), channels,
                                           run.Floats(range)[0], largest, run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanChannelWise(OpPlanner& op) {
  const std::vector<int64_t> bits = op.attributes().Ints("quant_bits");
  const int scales = op.InputCount("Scales");
  if (scales < 1 || scales > 2 || static_cast<int>(bits.size()) < scales) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scales has ", scales, " arguments and quant_bits ", bits.size(),
                     " values; want the channels' scales, and one of an activation or none"));
  }
  if (scales == 2) return PlanProductOfCodes(op, bits);
  ASSIGN_OR_RETURN(const Dequantization d, DequantizationOf(op));
  return PlanDequantize(op, d);
}

// By oneDNN, or under paddle-mobile's name (int8_runtime.cc).
absl::Status PlanEitherDequantize(OpPlanner& op) {
  if (!op.HasInput("X")) return PlanDequantizeForOneDnn(op);
  if (op.InputCount("Scales") > 0) return PlanChannelWise(op);
  if (!op.HasInput("Scale")) {
    return absl::InvalidArgumentError("X has no scale; want Scale or Scales");
  }
  return PlanMaxAbs(op);
}

// Dict has the floats that the codes from 0 on stand for; a negative code x is -Dict[x + 128].
absl::Status PlanDequantizeLog(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Dict", kCodesInByte / 2));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", VarType::INT8));
  ASSIGN_OR_RETURN(const Buffer dict, op.ReadFloats("Dict"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, op.InputDims("X")});
  op.AddStep({{x, dict}, {out}, [=](const StepContext& run) {
                const absl::Span<int8_t> codes = run.Of<int8_t>(x);
                const absl::Span<float> numbers = run.Floats(dict);
                std::transform(
                    codes.begin(), codes.end(), run.Floats(out).begin(), [=](int8_t code) {
                      return code < 0 ? -numbers[code + kCodesInByte / 2] : numbers[code];
                    });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// only_observer: the values pass as they are.
absl::Status PlanDequantizeLinear(OpPlanner& op) {
  if (op.attributes().Bool("only_observer")) {
    if (!op.Wants("Y")) return absl::OkStatus();
    return op.builder().Share(op.OutputValue("Y"), op.InputValue("X"));
  }
  ASSIGN_OR_RETURN(const Dequantization d, DequantizationOf(op));
  return PlanDequantize(op, d);
}

}  // namespace

OpPlans FakeDequantizePlans() {
  return {{"fake_dequantize_max_abs", PlanMaxAbs},
          {"dequantize", PlanEitherDequantize},
          {"dequantize_abs_max", PlanMaxAbs},
          {"fake_channel_wise_dequantize_max_abs", PlanChannelWise},
          {"dequantize_linear", PlanDequantizeLinear},
          {"dequantize_log", PlanDequantizeLog}};
}

}  // namespace fixpoint::executor
