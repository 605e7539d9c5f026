#include "runtime/tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/types/span.h"

namespace fixpoint {
namespace {

// IEEE 754 binary16: 1 bit of sign, 5 of exponent with bias 15, 10 of fraction.
struct Half {
  uint16_t bits;
  explicit operator double() const {
    const int exponent = (bits >> 10) & 31;
    const double fraction = bits & 1023;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31) {
      return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    return sign *
           (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
  }
};

// The upper half of a float.
struct Bfloat16 {
  uint16_t bits;
  explicit operator double() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
};

template <typename T>
TensorSummary SummarizeElements(absl::Span<const T> elements, int64_t first) {
  TensorSummary summary;
  int64_t finite = 0;
  double sum = 0;
  for (const T& element : elements) {
    const auto value = static_cast<double>(element);
    if (static_cast<int64_t>(summary.first.size()) < first) summary.first.push_back(value);
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    if (!summary.range) summary.range = {value, value, 0};
    summary.range->smallest = std::min(summary.range->smallest, value);
    summary.range->largest = std::max(summary.range->largest, value);
    sum += value;
    ++finite;
  }
  if (summary.range) summary.range->mean = sum / static_cast<double>(finite);
  return summary;
}

// REQUIRES: T is as large as an element.
template <typename T>
absl::Span<const T> ElementsOf(const Tensor& tensor) {
  return {reinterpret_cast<const T*>(tensor.bytes().data()), static_cast<size_t>(tensor.size())};
}

}  // namespace

TensorSummary Summarize(const Tensor& tensor, int64_t first) {
  switch (tensor.dtype()) {
    case VarType::BOOL:
    case VarType::UINT8:
      return SummarizeElements(ElementsOf<uint8_t>(tensor), first);
    case VarType::INT8:
      return SummarizeElements(tensor.data<int8_t>(), first);
    case VarType::INT16:
      return SummarizeElements(tensor.data<int16_t>(), first);
    case VarType::INT32:
      return SummarizeElements(tensor.data<int32_t>(), first);
    case VarType::INT64:
      return SummarizeElements(tensor.data<int64_t>(), first);
    case VarType::SIZE_T:
      return SummarizeElements(tensor.data<uint64_t>(), first);
    case VarType::FP16:
      return SummarizeElements(ElementsOf<Half>(tensor), first);
    case VarType::BF16:
      return SummarizeElements(ElementsOf<Bfloat16>(tensor), first);
    case VarType::FP32:
      return SummarizeElements(tensor.data<float>(), first);
    case VarType::FP64:
      return SummarizeElements(tensor.data<double>(), first);
    default:
      return {};
  }
}

}  // namespace fixpoint
