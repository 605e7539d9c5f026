#include "runtime/kernels/code_conversion.h"

#include <glog/logging.h>

#include <cstdint>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

template <typename Code>
void ConvertTo(absl::Span<const float> x_span, const CodeConversion& conversion,
               absl::Span<Code> codes_span) {
  CHECK_EQ(codes_span.size(), x_span.size());
  Vectorised([x = x_span.data(), codes = codes_span.data(),
              size = static_cast<int64_t>(x_span.size()), c = conversion] {
    constexpr float kNoFraction = 12582912.0f;  // 1.5 * 2^23: the last bit of such a number is 1
    for (int64_t i = 0; i < size; ++i) {
      const float scaled = x[i] * c.multiplier;
      const float raised = scaled > c.smallest_code ? scaled : c.smallest_code;
      const float clipped = raised < c.largest_code ? raised : c.largest_code;
      const float code = scaled == scaled ? (clipped + kNoFraction) - kNoFraction : 0.0f;
      codes[i] = static_cast<Code>(static_cast<int32_t>(code));
    }
  });
}

}  // namespace

void Convert(absl::Span<const float> x, const CodeConversion& conversion, Output codes) {
  CHECK(codes.type() != OutputType::kFloat);
  if (codes.type() == OutputType::kUint8) {
    ConvertTo<uint8_t>(x, conversion, codes.As<uint8_t>());
  } else {
    ConvertTo<int8_t>(x, conversion, codes.As<int8_t>());
  }
}

}  // namespace fixpoint::kernels
