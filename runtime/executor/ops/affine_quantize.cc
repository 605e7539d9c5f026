// The affine quantizer, whose codes have a zero point: code = clamp(round(x / step) + zero_point).
// All is computed in float.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/quant_math.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/quantized.h"

namespace fixpoint::executor {
namespace {

struct CodeRange {
  float lowest;
  float largest;
};

struct Affine {
  float step;
  float zero_point;
};

// Of a range that holds 0; a range too small for a step that is a normal number has step 1, and one
// that is more than a float holds has a step that a float holds.
Affine AffineOf(float min, float max, const CodeRange& codes) {
  const float count = codes.largest - codes.lowest;
  float step = (max - min) / count;
  if (std::isinf(step)) step = max / count - min / count;
  if (!(step >= std::numeric_limits<float>::min())) step = 1;
  const float zero_point = RoundHalfToEven(codes.lowest - min / step);
  return {step, std::min(std::max(zero_point, codes.lowest), codes.largest)};
}

// A NaN has the code of 0.
float CodeOf(float x, const Affine& affine, const CodeRange& codes, bool half_to_even) {
  const float steps = x / affine.step;
  const float rounded = half_to_even ? RoundHalfToEven(steps) : std::round(steps);
  const float code = rounded + affine.zero_point;
  if (std::isnan(code)) return affine.zero_point;
  return std::min(std::max(code, codes.lowest), codes.largest);
}

Buffer WriteNumberOver(OpPlanner& op, absl::string_view slot, Buffer before) {
  return op.WriteOver(slot, kOneNumber, Layout::kRowMajor, before);
}

// In test mode what an op goes by stays as it is.
absl::Status ShareNumber(OpPlanner& op, absl::string_view output, absl::string_view input) {
  if (!op.Wants(output)) return absl::OkStatus();
  return op.builder().Share(op.OutputValue(output), op.InputValue(input));
}

struct AffineBuffers {
  Buffer step;
  Buffer zero_point;
};

// Adds the step that takes the finite values of X in: moving averages of the smallest and of the
// largest, widened to 0.
absl::StatusOr<AffineBuffers> AddFollow(OpPlanner& op, const CodeRange& codes, Buffer x,
                                        const AffineBuffers& before) {
  ASSIGN_OR_RETURN(const Buffer state, ReadNumber(op, "InState"));
  ASSIGN_OR_RETURN(const Buffer min, ReadNumber(op, "InAccumMin"));
  ASSIGN_OR_RETURN(const Buffer max, ReadNumber(op, "InAccumMax"));
  const Buffer state_out = WriteNumberOver(op, "OutState", state);
  const Buffer min_out = WriteNumberOver(op, "OutAccumMin", min);
  const Buffer max_out = WriteNumberOver(op, "OutAccumMax", max);
  const AffineBuffers after = {WriteNumberOver(op, "OutScale", before.step),
                               WriteNumberOver(op, "OutZeroPoint", before.zero_point)};
  const float rate = op.Number("moving_rate");
  op.AddStep({{x, state, min, max, before.step, before.zero_point},
              {state_out, min_out, max_out, after.step, after.zero_point},
              [=](const StepContext& run) {
                float smallest = 0;
                float largest = 0;
                for (const float value : run.Floats(x)) {
                  if (!std::isfinite(value)) continue;
                  smallest = std::min(smallest, value);
                  largest = std::max(largest, value);
                }
                const float count = rate * run.Floats(state)[0] + 1;
                const float new_min = rate * run.Floats(min)[0] + smallest;
                const float new_max = rate * run.Floats(max)[0] + largest;
                const Affine affine = AffineOf(new_min / count, new_max / count, codes);
                run.Floats(state_out)[0] = count;
                run.Floats(min_out)[0] = new_min;
                run.Floats(max_out)[0] = new_max;
                run.Floats(after.step)[0] = affine.step;
                run.Floats(after.zero_point)[0] = affine.zero_point;
                return absl::OkStatus();
              },
              "",
              0,
              "follow moving average"});
  return after;
}

absl::Status PlanQuantize(OpPlanner& op) {
  const int64_t bits = op.attributes().Int("bit_length");
  const int64_t round_type = op.attributes().Int("round_type");
  if (bits < 1 || bits > 16 || (round_type != 0 && round_type != 1)) {
    return absl::InvalidArgumentError(absl::StrCat("bit_length is ", bits, " and round_type ",
                                                   round_type, "; want 1 to 16, and 0 or 1"));
  }
  const float count = std::ldexp(1.0f, static_cast<int>(bits));
  const float lowest = op.attributes().Bool("unsigned_codes") ? 0 : -count / 2;
  const CodeRange codes{lowest, lowest + count - 1};
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  AffineBuffers affine;
  ASSIGN_OR_RETURN(affine.step, ReadNumber(op, "InScale"));
  ASSIGN_OR_RETURN(affine.zero_point, ReadNumber(op, "InZeroPoint"));
  if (op.IsTest()) {
    RETURN_IF_ERROR(ShareNumber(op, "OutScale", "InScale"));
    RETURN_IF_ERROR(ShareNumber(op, "OutZeroPoint", "InZeroPoint"));
  } else {
    ASSIGN_OR_RETURN(affine, AddFollow(op, codes, x, affine));
  }
  const Buffer out = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.AddStep({{x, affine.step, affine.zero_point}, {out}, [=](const StepContext& run) {
                const Affine a{run.Floats(affine.step)[0], run.Floats(affine.zero_point)[0]};
                const absl::Span<float> from = run.Floats(x);
                std::transform(from.begin(), from.end(), run.Floats(out).begin(), [&](float value) {
                  return CodeOf(value, a, codes, round_type == 0);
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanDequantize(OpPlanner& op) {
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer step, ReadNumber(op, "Scale"));
  ASSIGN_OR_RETURN(const Buffer zero_point, ReadNumber(op, "ZeroPoint"));
  const Buffer out = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.AddStep({{x, step, zero_point}, {out}, [=](const StepContext& run) {
                const absl::Span<float> from = run.Floats(x);
                std::transform(from.begin(), from.end(), run.Floats(out).begin(),
                               [by = run.Floats(step)[0], zero = run.Floats(zero_point)[0]](
                                   float code) { return (code - zero) * by; });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans AffineQuantizePlans() {
  return {{"fake_quantize_moving_average_min_max", PlanQuantize},
          {"fake_dequantize_affine", PlanDequantize}};
}

}  // namespace fixpoint::executor
