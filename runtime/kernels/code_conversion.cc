#include "runtime/kernels/code_conversion.h"

#include <glog/logging.h>

#include <cstdint>

#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {
namespace {

template <QuantSpec::Rounding kRounding>
inline float Round(float x) {
  return kRounding == QuantSpec::HALF_TO_EVEN ? __builtin_nearbyintf(x) : RoundHalfAway(x);
}

template <QuantSpec::Rounding kRounding, typename Code>
void ConvertTo(absl::Span<const float> x_span, const CodeConversion& conversion,
               absl::Span<Code> codes_span) {
  CHECK_EQ(codes_span.size(), x_span.size());
  // Clipped before it is rounded, which is the same because the bounds are integers.
  ParallelFor(
      static_cast<int64_t>(x_span.size()), sizeof(float) + sizeof(Code),
      [x = x_span.data(), codes = codes_span.data(), multiplier = conversion.multiplier,
       zero_point = conversion.zero_point,
       smallest = conversion.smallest_code - conversion.zero_point,
       largest = conversion.largest_code - conversion.zero_point](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float scaled = x[i] * multiplier;
          const float raised = scaled > smallest ? scaled : smallest;
          const float clipped = raised < largest ? raised : largest;
          const float steps = scaled == scaled ? Round<kRounding>(clipped) : 0.0f;
          codes[i] = static_cast<Code>(static_cast<int32_t>(steps + zero_point));
        }
      });
}

template <typename Code>
void ConvertRounded(absl::Span<const float> x, const CodeConversion& conversion,
                    absl::Span<Code> codes) {
  if (conversion.rounding == QuantSpec::HALF_TO_EVEN) {
    ConvertTo<QuantSpec::HALF_TO_EVEN>(x, conversion, codes);
  } else {
    ConvertTo<QuantSpec::HALF_AWAY_FROM_ZERO>(x, conversion, codes);
  }
}

template <typename Code>
void RevertFrom(const Code* codes, float step, float zero_point, absl::Span<float> x_span) {
  ParallelFor(static_cast<int64_t>(x_span.size()), sizeof(Code) + sizeof(float),
              [=, x = x_span.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  x[i] = (static_cast<float>(codes[i]) - zero_point) * step;
                }
              });
}

}  // namespace

void Convert(absl::Span<const float> x, const CodeConversion& conversion, Output codes) {
  CHECK(codes.type() != OutputType::kFloat);
  if (codes.type() == OutputType::kUint8) {
    ConvertRounded<uint8_t>(x, conversion, codes.As<uint8_t>());
  } else {
    ConvertRounded<int8_t>(x, conversion, codes.As<int8_t>());
  }
}

void Convert(absl::Span<const float> x, const CodeConversion& conversion,
             absl::Span<int16_t> codes) {
  ConvertRounded<int16_t>(x, conversion, codes);
}

void Revert(absl::Span<const uint8_t> codes, CodeType type, float step, float zero_point,
            absl::Span<float> x) {
  CHECK_EQ(codes.size(), x.size());
  if (type == CodeType::kUint8) {
    RevertFrom(codes.data(), step, zero_point, x);
  } else {
    RevertFrom(reinterpret_cast<const int8_t*>(codes.data()), step, zero_point, x);
  }
}

}  // namespace fixpoint::kernels
