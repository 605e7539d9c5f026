// Quantization to codes with a zero point: code = clamp(round(x * (1 / step)) + zero_point). Codes
// of up to 8 bits are held as integers, and the dequantize op computes nothing.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/affine_codes.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/codes/held_codes.h"
#include "ops/surrogate.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/kernels/code_conversion.h"
#include "runtime/kernels/finite_range.h"
#include "runtime/kernels/range_gradient.h"

namespace fixpoint::executor {
namespace {

// A state or a parameter that was loaded may hold anything.
absl::Status CheckZeroPoint(float zero_point, const CodeRange& codes) {
  if (IsCode(zero_point, codes)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the zero point is ", zero_point, "; want a code, ", codes.smallest, " to ", codes.largest));
}

Buffer WriteNumberOver(OpPlanner& op, absl::string_view slot, Buffer before) {
  return op.WriteOver(slot, kOneNumber, Layout::kRowMajor, before);
}

// In test mode the op's state does not change.
absl::Status ShareNumber(OpPlanner& op, absl::string_view output, absl::string_view input) {
  if (!op.Wants(output)) return absl::OkStatus();
  return op.builder().Share(op.OutputValue(output), op.InputValue(input));
}

struct AffineBuffers {
  Buffer step;
  Buffer zero_point;

  // What they hold. Error (kInvalidArgument): the zero point is not one of the codes.
  absl::StatusOr<AffineParams> In(const StepContext& run, const CodeRange& codes) const {
    const AffineParams params = {run.Floats(step)[0], run.Floats(zero_point)[0]};
    RETURN_IF_ERROR(CheckZeroPoint(params.zero_point, codes));
    return params;
  }
};

absl::StatusOr<AffineBuffers> ReadAffine(OpPlanner& op) {
  AffineBuffers affine;
  ASSIGN_OR_RETURN(affine.step, ReadNumber(op, "InScale"));
  ASSIGN_OR_RETURN(affine.zero_point, ReadNumber(op, "InZeroPoint"));
  return affine;
}

// Adds the step that observes the finite values of X: moving averages of the smallest and of the
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
  const std::optional<RunShape> shape = RunShapeOfX(op);
  std::vector<Buffer> reads = {x, state, min, max, before.step, before.zero_point};
  if (shape) reads.push_back(shape->dims);
  op.AddStep({std::move(reads),
              {state_out, min_out, max_out, after.step, after.zero_point},
              [=](const StepContext& run) {
                const auto [smallest, largest] =
                    kernels::FindFiniteRange(run.Floats(x).first(run.CountOf(shape, x.size)));
                const float count = rate * run.Floats(state)[0] + 1;
                const float new_min = rate * run.Floats(min)[0] + smallest;
                const float new_max = rate * run.Floats(max)[0] + largest;
                const AffineParams affine = AffineParamsOf(new_min / count, new_max / count, codes);
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

// Adds the step that quantizes X to integers, which are the result or stand for its floats.
void AddIntegers(OpPlanner& op, Buffer x, Layout layout, const AffineBuffers& affine,
                 const CodeRange& range, bool holds_codes) {
  const Value& out = op.OutputValue("Out");
  const TensorType numbers = op.InputType("X");
  const bool is_signed = !range.is_unsigned;
  Codes codes;
  codes.codes = op.builder().NewBuffer(absl::StrCat(op.OutputName("Out"), " as codes"),
                                       {CodeDtype(range), numbers.dims}, layout);
  codes.ranges = affine.step;
  codes.zero_point = affine.zero_point;
  codes.type = TypeOf(range);
  codes.largest_code = 1;
  codes.layout = layout;
  op.AddStep({{x, affine.step, affine.zero_point},
              {codes.codes},
              [=, to = codes.codes](const StepContext& run) {
                ASSIGN_OR_RETURN(const AffineParams params, affine.In(run, range));
                const kernels::CodeConversion conversion = {
                    1 / params.step, static_cast<float>(range.smallest),
                    static_cast<float>(range.largest), params.zero_point, range.rounding};
                if (is_signed) {
                  kernels::Convert(run.Floats(x), conversion, run.Of<int8_t>(to));
                } else {
                  kernels::Convert(run.Floats(x), conversion, run.Of<uint8_t>(to));
                }
                return absl::OkStatus();
              }});
  op.builder().WriteCodes(out, numbers, codes, holds_codes);
}

absl::Status AddQuantize(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  const CodeRange& codes = quantize.codes;
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(AffineBuffers affine, ReadAffine(op));
  if (op.IsTest()) {
    RETURN_IF_ERROR(ShareNumber(op, "OutScale", "InScale"));
    RETURN_IF_ERROR(ShareNumber(op, "OutZeroPoint", "InZeroPoint"));
  } else {
    ASSIGN_OR_RETURN(affine, AddFollow(op, codes, x, affine));
  }
  if (!op.Wants("Out")) return absl::OkStatus();
  if (const auto held = CodesHeldOf(quantize, /*is_never_negative=*/false)) {
    AddIntegers(op, x, layout, affine, *held, /*holds_codes=*/true);
    return absl::OkStatus();
  }
  const Buffer out = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.AddStep(
      {{x, affine.step, affine.zero_point}, {out}, [=, codes = codes](const StepContext& run) {
         ASSIGN_OR_RETURN(const AffineParams params, affine.In(run, codes));
         const absl::Span<float> from = run.Floats(x);
         std::transform(from.begin(), from.end(), run.Floats(out).begin(),
                        [&](float value) { return StoredAffineCode(value, params, codes); });
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// With the step and the zero point that other steps give.
absl::Status AddQuantizeDequantize(OpPlanner& op) {
  RETURN_IF_ERROR(op.OutputType("Out").status());
  ASSIGN_OR_RETURN(const CodeOp quantize, CodeOpOf(op));
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const AffineBuffers affine, ReadAffine(op));
  if (!op.Wants("Out")) return absl::OkStatus();
  if (const auto held = CodesHeldOf(quantize, /*is_never_negative=*/false)) {
    AddIntegers(op, x, layout, affine, *held, /*holds_codes=*/false);
    return absl::OkStatus();
  }
  const Buffer out = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.AddStep({{x, affine.step, affine.zero_point},
              {out},
              [=, codes = quantize.codes](const StepContext& run) {
                ASSIGN_OR_RETURN(const AffineParams params, affine.In(run, codes));
                const absl::Span<float> from = run.Floats(x);
                std::transform(from.begin(), from.end(), run.Floats(out).begin(), [&](float value) {
                  return (StoredAffineCode(value, params, codes) - params.zero_point) * params.step;
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The codes of the op whose gradient it is.
absl::StatusOr<CodeRange> CodesOfGradient(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  const int64_t bits = attributes.Int("bit_length");
  RETURN_IF_ERROR(CheckBits("bit_length", bits));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding,
                   RoundingOfType(static_cast<int32_t>(attributes.Int("round_type"))));
  return AffineCodes(static_cast<int>(bits), attributes.Bool("unsigned_codes"), rounding);
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CodeRange codes, CodesOfGradient(op));
  ASSIGN_OR_RETURN(const Surrogate surrogate, SurrogateOf(op.attributes().String(kSurrogateAttr)));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", op.InputType("X").size()));
  const Layout layout = op.InputLayout("Out@GRAD");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", layout));
  ASSIGN_OR_RETURN(const AffineBuffers affine, ReadAffine(op));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), layout, dy);
  const Buffer dstep = op.WriteAs("InScale@GRAD", kOneNumber);
  const Buffer dzero_point = op.WriteAs("InZeroPoint@GRAD", kOneNumber);
  op.AddStep({{x, dy, affine.step, affine.zero_point},
              {dx, dstep, dzero_point},
              [=](const StepContext& run) {
                ASSIGN_OR_RETURN(const AffineParams params, affine.In(run, codes));
                const kernels::AffineGradient gradient = kernels::AffineBackward(
                    codes, surrogate, params, run.Floats(x), run.Floats(dy), run.Floats(dx));
                run.Floats(dstep)[0] = gradient.step;
                run.Floats(dzero_point)[0] = gradient.zero_point;
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Codes that the program holds as integers of 8 bits, as it holds parameters.
absl::StatusOr<Codes> ReadIntegers(OpPlanner& op, Buffer step, Buffer zero_point) {
  const VarType::Type dtype = op.InputType("X").dtype;
  const CodeRange range = CodesOfDtype(dtype);
  Codes codes;
  ASSIGN_OR_RETURN(codes.codes, op.Read("X", dtype));
  codes.ranges = step;
  codes.zero_point = op.Scratch("zero point", VarType::FP32, 1);
  codes.type = TypeOf(range);
  codes.largest_code = 1;
  op.AddStep({{zero_point},
              {*codes.zero_point},
              [=, to = *codes.zero_point](const StepContext& run) {
                const float read = run.Floats(zero_point)[0];
                RETURN_IF_ERROR(CheckZeroPoint(read, range));
                run.Floats(to)[0] = read;
                return absl::OkStatus();
              },
              "",
              0,
              "check ZeroPoint"});
  return codes;
}

absl::Status AddDequantize(OpPlanner& op) {
  if (!op.Wants("Out")) return absl::OkStatus();
  PlanBuilder& builder = op.builder();
  const Value& codes_in = op.InputValue("X");
  const TensorType type{VarType::FP32, op.InputDims("X")};
  ASSIGN_OR_RETURN(const Buffer step, ReadNumber(op, "Scale"));
  ASSIGN_OR_RETURN(const Buffer zero_point, ReadNumber(op, "ZeroPoint"));
  if (IsCodeDtype(op.InputType("X").dtype)) {
    ASSIGN_OR_RETURN(const Codes codes, ReadIntegers(op, step, zero_point));
    builder.WriteCodes(op.OutputValue("Out"), type, codes, /*holds_codes=*/false);
    return absl::OkStatus();
  }
  if (builder.HoldsCodes(codes_in)) {
    ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                     builder.ReadCodes(codes_in, builder.LayoutOf(codes_in)));
    if (codes && codes->ranges == step && codes->zero_point == zero_point) {
      builder.WriteCodes(op.OutputValue("Out"), type, *codes, /*holds_codes=*/false);
      return absl::OkStatus();
    }
  }
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  const Buffer out = op.WriteOver("Out", type, layout, x);
  op.AddStep({{x, step, zero_point}, {out}, [=](const StepContext& run) {
                const absl::Span<float> from = run.Floats(x);
                std::transform(from.begin(), from.end(), run.Floats(out).begin(),
                               [by = run.Floats(step)[0], zero = run.Floats(zero_point)[0]](
                                   float code) { return (code - zero) * by; });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Plans an op whose results have the rows of X.
template <absl::Status (*add)(OpPlanner&)>
absl::Status PlanOfRows(OpPlanner& op) {
  RETURN_IF_ERROR(add(op));
  op.KeepRunShape("X", "Out");
  return absl::OkStatus();
}

}  // namespace

OpPlans AffineQuantizePlans() {
  return {{"fake_quantize_moving_average_min_max", PlanOfRows<AddQuantize>},
          {"fake_quantize_dequantize_affine", PlanOfRows<AddQuantizeDequantize>},
          {"fake_quantize_dequantize_affine_grad", PlanGradient},
          {"fake_dequantize_affine", PlanOfRows<AddDequantize>}};
}

}  // namespace fixpoint::executor
