#include "runtime/executor/ops/bfloat16_operands.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/batch_norm.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/cast.h"

namespace fixpoint::executor {
namespace {

using kernels::Bfloat16;

template <typename F>
void WithCodes(const Codes& codes, const StepContext& run, F f) {
  if (codes.type == kernels::CodeType::kInt8) return f(run.Of<const int8_t>(codes.codes));
  f(run.Of<const uint8_t>(codes.codes));
}

// The codes of an input that stand for its floats; nothing: it is not held as such.
absl::StatusOr<std::optional<Codes>> ReadItsCodes(OpPlanner& op, absl::string_view slot,
                                                  Layout layout) {
  const Value& value = op.InputValue(slot);
  if (op.builder().FindCodes(value) == nullptr) return std::nullopt;
  return op.builder().ReadCodes(value, layout);
}

// What a step is a power of two times: from 1 up to 2, so that neither a gradient times it nor one
// divided by it leaves the range of floats.
float FactorOf(float step) {
  // 0, of codes that are all 0, and what is not finite have none.
  return step != 0 && std::isfinite(step) ? std::ldexp(step, -std::ilogb(step)) : 1;
}

}  // namespace

std::vector<Buffer> Multiples::StepBuffers() const {
  return codes ? std::vector<Buffer>{codes->ranges} : std::vector<Buffer>();
}

float Multiples::StepIn(const StepContext& run) const { return codes ? codes->StepIn(run) : 1; }

absl::StatusOr<Multiples> ReadInBfloat16(OpPlanner& op, absl::string_view slot, Layout layout) {
  ASSIGN_OR_RETURN(const std::optional<Codes> codes, ReadItsCodes(op, slot, layout));
  if (!codes || codes->channel_axis) {
    ASSIGN_OR_RETURN(const Buffer floats, op.ReadFloats(slot, layout));
    return Multiples{AddRounding(op, slot, floats), std::nullopt};
  }
  const Buffer numbers = op.Scratch(slot, VarType::BF16, codes->codes.size);
  op.AddStep({codes->buffers(),
              {numbers},
              [=, codes = *codes](const StepContext& run) {
                const auto zero_point = static_cast<int32_t>(codes.ZeroPointIn(run));
                WithCodes(codes, run, [&](auto from) {
                  kernels::CodesToBfloat16(from, zero_point, run.Of<Bfloat16>(numbers));
                });
                return absl::OkStatus();
              },
              "",
              0,
              "codes in bf16"});
  return Multiples{numbers, codes};
}

absl::StatusOr<FilterMultiples> ReadFilterNumbers(OpPlanner& op, absl::string_view slot) {
  ASSIGN_OR_RETURN(const std::optional<Codes> codes, ReadItsCodes(op, slot, Layout::kRowMajor));
  if (!codes || codes->zero_point || codes->channel_axis.value_or(0) != 0) {
    ASSIGN_OR_RETURN(const Buffer floats, op.ReadFloats(slot));
    return FilterMultiples{floats, std::nullopt};
  }
  const Buffer numbers = op.Scratch(slot, VarType::FP32, codes->codes.size);
  const Buffer factors = op.Scratch("factors", VarType::FP32, op.InputDims(slot)[0]);
  op.AddStep({codes->buffers(),
              {numbers, factors},
              [=, codes = *codes](const StepContext& run) {
                WithCodes(codes, run, [&](auto from) { kernels::Cast(from, run.Floats(numbers)); });
                const absl::Span<const float> ranges = run.Floats(codes.ranges);
                const absl::Span<float> of_filters = run.Floats(factors);
                const size_t taps = numbers.size / of_filters.size();
                for (size_t i = 0; i < of_filters.size(); ++i) {
                  const float step = StepOf(ranges[ranges.size() == 1 ? 0 : i], codes.largest_code);
                  of_filters[i] = FactorOf(step);
                  const float power = step / of_filters[i];
                  for (float& number : run.Floats(numbers).subspan(i * taps, taps)) number *= power;
                }
                return absl::OkStatus();
              },
              "",
              0,
              "codes and factors of filters"});
  return FilterMultiples{numbers, factors};
}

Buffer AddRounding(OpPlanner& op, absl::string_view what, Buffer floats,
                   std::optional<Buffer> factors) {
  const Buffer rounded = op.Scratch(what, VarType::BF16, floats.size);
  std::vector<Buffer> reads = {floats};
  if (factors) reads.push_back(*factors);
  op.AddStep({std::move(reads),
              {rounded},
              [=](const StepContext& run) {
                if (factors) {
                  kernels::RoundToBfloat16(run.Floats(floats), run.Floats(*factors),
                                           run.Of<Bfloat16>(rounded));
                } else {
                  kernels::RoundToBfloat16(run.Floats(floats), run.Of<Bfloat16>(rounded));
                }
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(what, " in bf16")});
  return rounded;
}

absl::StatusOr<Buffer> ReadRounded(OpPlanner& op, absl::string_view slot, Layout layout,
                                   std::optional<Buffer> factors) {
  const Value& value = op.InputValue(slot);
  const UncomputedGradient* const found = FindUncomputedGradient(op.builder(), value);
  if (found == nullptr || found->layout != layout || op.demand().OnlyReader(value) != &op.op()) {
    ASSIGN_OR_RETURN(const Buffer floats, op.ReadFloats(slot, layout));
    return AddRounding(op, slot, floats, factors);
  }
  const UncomputedGradient gradient = *found;
  const Buffer rounded = op.Scratch(slot, VarType::BF16, op.InputType(slot).size());
  std::vector<Buffer> reads = gradient.Reads();
  if (factors) reads.push_back(*factors);
  op.AddStep({std::move(reads),
              {rounded},
              [=](const StepContext& run) {
                absl::Span<const float> of_channels;
                if (factors) of_channels = run.Floats(*factors);
                gradient.y.norm->Backward(run.Floats(gradient.x), run.Floats(gradient.dy),
                                          gradient.y.Statistics(run), gradient.Statistics(run),
                                          of_channels, run.Of<Bfloat16>(rounded));
                return absl::OkStatus();
              },
              gradient.y.norm->implementation(),
              0,
              absl::StrCat(gradient.name, " in bf16")});
  return rounded;
}

}  // namespace fixpoint::executor
