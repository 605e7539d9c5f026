#include "runtime/row_formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/half.h"

namespace fixpoint {
namespace {

constexpr float kLargest8 = 255;
constexpr size_t kBitsOfByte = 8;

// What stands beside the codes of a row.
struct Tail {
  float first = 0;   // the scale; of kPaddleDequant the minimum
  float second = 0;  // the minimum; the maximum
};

size_t BitsOf(RowFormat format) {
  if (format == RowFormat::kFused4Half) return 4;
  return format == RowFormat::kFused2Half ? 2 : 8;
}

bool HasHalves(RowFormat format) {
  return format == RowFormat::kFused8Half || format == RowFormat::kFused4Half ||
         format == RowFormat::kFused2Half;
}

size_t TailBytes(RowFormat format) { return HasHalves(format) ? 4 : 8; }

size_t CodeBytes(RowFormat format, size_t columns) {
  return (columns * BitsOf(format) + kBitsOfByte - 1) / kBitsOfByte;
}

template <typename T>
void Put(T value, uint8_t* bytes) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as the machines that run this");
  std::memcpy(bytes, &value, sizeof(value));
}

template <typename T>
T Get(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void PutTail(RowFormat format, const Tail& tail, uint8_t* bytes) {
  if (HasHalves(format)) {
    Put(HalfOfFloat(tail.first), bytes);
    Put(HalfOfFloat(tail.second), bytes + sizeof(uint16_t));
  } else {
    Put(tail.first, bytes);
    Put(tail.second, bytes + sizeof(float));
  }
}

Tail GetTail(RowFormat format, const uint8_t* bytes) {
  if (!HasHalves(format)) return {Get<float>(bytes), Get<float>(bytes + sizeof(float))};
  return {FloatOfHalf(Get<uint16_t>(bytes)), FloatOfHalf(Get<uint16_t>(bytes + sizeof(uint16_t)))};
}

// The codes of a row stand after the range only where it comes first.
size_t FirstCode(RowFormat format) {
  return format == RowFormat::kPaddleDequant ? TailBytes(format) : 0;
}

size_t TailAt(RowFormat format, size_t columns) {
  return format == RowFormat::kPaddleDequant ? 0 : CodeBytes(format, columns);
}

float HalfScale(float range, float largest) {
  const float scale = FloatOfHalf(HalfOfFloat(range / largest));
  return scale == 0 || !std::isfinite(1 / scale) ? 1 : scale;
}

// The tail of a row, and its codes one by one, not yet clamped.
Tail FindCodes(RowFormat format, absl::Span<const float> row, float min, float max,
               std::vector<float>& codes) {
  const auto each = [&](auto code) { std::transform(row.begin(), row.end(), codes.begin(), code); };
  switch (format) {
    case RowFormat::kFused8: {
      constexpr float kNoDivisionByZero = 1e-8f;
      const float range = max - min;
      const float inverse = kLargest8 / (range + kNoDivisionByZero);
      each([=](float x) { return RoundHalfToEven((x - min) * inverse); });
      return {range / kLargest8, min};
    }
    case RowFormat::kGlowFused8: {
      constexpr float kLeastRange = 1e-10f;
      const float range = max - min;
      const float scale = range < kLeastRange ? 1 : range / kLargest8;
      each([=](float x) { return std::round((x - min) / scale); });
      return {scale, min};
    }
    case RowFormat::kFused8Half:
    case RowFormat::kFused4Half:
    case RowFormat::kFused2Half: {
      const float rounded = FloatOfHalf(HalfOfFloat(min));
      const auto largest = static_cast<float>((1 << BitsOf(format)) - 1);
      const float scale = HalfScale(max - rounded, largest);
      each([=, inverse = 1 / scale](float x) { return RoundHalfToEven((x - rounded) * inverse); });
      return {scale, rounded};
    }
    case RowFormat::kPaddleDequant: {
      // The nearest of 256 codes, of which the last is a step below the maximum.
      const float step = (max - min) / 256;
      each([=](float x) { return step > 0 ? RoundHalfToEven((x - min) / step) : 0; });
      return {min, max};
    }
  }
  return {};
}

}  // namespace

absl::StatusOr<size_t> RowBytes(RowFormat format, size_t columns) {
  constexpr size_t kCodesOfFloat = sizeof(float);
  if (columns == 0) return absl::InvalidArgumentError("rows have no elements");
  if (format == RowFormat::kPaddleDequant && columns % kCodesOfFloat != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows have ", columns, " elements; ", kPaddleRows, " wants a multiple of ", kCodesOfFloat));
  }
  return CodeBytes(format, columns) + TailBytes(format);
}

absl::StatusOr<size_t> MostColumns(RowFormat format, size_t row_bytes) {
  const size_t tail = TailBytes(format);
  const size_t columns = row_bytes > tail ? (row_bytes - tail) * kBitsOfByte / BitsOf(format) : 0;
  const absl::StatusOr<size_t> bytes = RowBytes(format, columns);
  if (bytes.ok()) return columns;
  return absl::InvalidArgumentError(absl::StrCat("rows have ", row_bytes, " bytes, of which ", tail,
                                                 " are their range; want codes beside them"));
}

absl::Status EncodeRow(RowFormat format, absl::Span<const float> row, absl::Span<uint8_t> bytes) {
  RETURN_IF_ERROR(RowBytes(format, row.size()).status());
  for (const float x : row) {
    if (!std::isfinite(x)) {
      return absl::InvalidArgumentError(absl::StrCat("holds ", x, "; want finite numbers"));
    }
  }
  const auto [min, max] = std::minmax_element(row.begin(), row.end());
  std::vector<float> codes(row.size());
  const Tail tail = FindCodes(format, row, *min, *max, codes);
  // FP16 ends at 65504, and a range may exceed the largest FP32.
  if (!std::isfinite(*max - *min) || !std::isfinite(tail.first) || !std::isfinite(tail.second)) {
    return absl::InvalidArgumentError(
        absl::StrCat("holds ", *min, " to ", *max, ", a range that the format does not have"));
  }
  const size_t bits = BitsOf(format);
  const auto largest = static_cast<float>((1 << bits) - 1);
  std::fill(bytes.begin(), bytes.end(), 0);
  for (size_t j = 0; j < row.size(); ++j) {
    const auto code = static_cast<unsigned>(std::clamp(codes[j], 0.0f, largest));
    const size_t bit = j * bits;
    bytes[FirstCode(format) + bit / kBitsOfByte] |=
        static_cast<uint8_t>(code << (bit % kBitsOfByte));
  }
  PutTail(format, tail, bytes.data() + TailAt(format, row.size()));
  return absl::OkStatus();
}

void DecodeRow(RowFormat format, absl::Span<const uint8_t> bytes, absl::Span<float> row) {
  const Tail tail = GetTail(format, bytes.data() + TailAt(format, row.size()));
  const size_t bits = BitsOf(format);
  const unsigned mask = (1U << bits) - 1;
  const bool has_maximum = format == RowFormat::kPaddleDequant;
  const float scale = has_maximum ? (tail.second - tail.first) / 256 : tail.first;
  const float min = has_maximum ? tail.first : tail.second;
  for (size_t j = 0; j < row.size(); ++j) {
    const size_t bit = j * bits;
    const unsigned byte = bytes[FirstCode(format) + bit / kBitsOfByte];
    row[j] = scale * static_cast<float>((byte >> (bit % kBitsOfByte)) & mask) + min;
  }
}

}  // namespace fixpoint
