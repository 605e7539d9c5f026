#include "runtime/kernels/exact_sums.h"

#include <algorithm>
#include <cstdlib>

namespace fixpoint::kernels {

int ShareOut(absl::Span<const int8_t> codes, int64_t begin, int64_t stride, int64_t size,
             CodeType other, absl::Span<int> parts) {
  constexpr int64_t kExact = int64_t{1} << 24;
  int64_t sum = 0;
  int part = 0;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t place = begin + i * stride;
    const int64_t most = int64_t{std::abs(int{codes[place]})} * LargestMagnitude(other);
    if (sum + most > kExact) {
      sum = 0;
      ++part;
    }
    sum += most;
    parts[place] = part;
  }
  return part + 1;
}

void CodesAsFloats(absl::Span<const uint8_t> codes, CodeType type, float* values) {
  if (type == CodeType::kUint8) {
    std::copy(codes.begin(), codes.end(), values);
  } else {
    std::transform(codes.begin(), codes.end(), values,
                   [](uint8_t code) { return static_cast<float>(static_cast<int8_t>(code)); });
  }
}

void AddPart(int part, int part_count, absl::Span<float> values, absl::Span<int32_t> sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = (part == 0 ? 0 : sums[i]) + static_cast<int32_t>(values[i]);
  }
  if (part + 1 == part_count) std::copy(sums.begin(), sums.end(), values.begin());
}

void ScaleColumns(absl::Span<const float> scales, absl::Span<float> values) {
  for (size_t row = 0; row < values.size(); row += scales.size()) {
    for (size_t column = 0; column < scales.size(); ++column) {
      values[row + column] *= scales[column];
    }
  }
}

}  // namespace fixpoint::kernels
