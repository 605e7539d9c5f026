#include "runtime/kernels/fake_quantize.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/quant_math.h"
#include "runtime/kernels/fake_quantize_loops.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000;

// The values of one channel.
std::vector<float> ValuesOf(absl::Span<const float> x, const Channels& channels, int64_t channel) {
  std::vector<float> values;
  for (int64_t o = 0; o < channels.outer; ++o) {
    const auto line = x.subspan((o * channels.count + channel) * channels.inner, channels.inner);
    values.insert(values.end(), line.begin(), line.end());
  }
  return values;
}

// The bits of the largest absolute value of each channel; there may be several rows of them, each
// from a part of the elements, and there is one if there are no elements.
std::vector<uint32_t> LargestBits(const float* x, const Channels& channels) {
  const auto [outer, count, inner] = channels;
  std::vector<uint32_t> all_bits;
  if (count == 1 || inner == 1) {
    const int64_t rows = outer * inner;
    const int64_t pieces = PiecesOf(channels.size());
    all_bits.resize(pieces * count);
    ParallelFor(pieces, 4 * channels.size() / pieces,
                [=, count = count, bits = all_bits.data()](int64_t first, int64_t end) {
                  for (int64_t piece = first; piece < end; ++piece) {
                    const int64_t begin = rows * piece / pieces;
                    const int64_t size = rows * (piece + 1) / pieces - begin;
                    if (count == 1) {
                      bits[piece] = AbsMaxBits(x + begin, size);
                    } else {
                      RaiseAbsMaxBits(x + begin * count, size, count, bits + piece * count);
                    }
                  }
                });
    return all_bits;
  }
  all_bits.resize(std::max<int64_t>(outer, 1) * count);
  ParallelFor(outer * count, 4 * inner,
              [=, inner = inner, bits = all_bits.data()](int64_t begin, int64_t end) {
                for (int64_t line = begin; line < end; ++line) {
                  bits[line] = AbsMaxBits(x + line * inner, inner);
                }
              });
  return all_bits;
}

// A line that is rounded to codes.
Line LineTo(const CodeRange& codes) {
  Line line;
  line.largest_code = static_cast<float>(codes.largest);
  line.smallest_code = static_cast<float>(codes.smallest);
  line.rounding = codes.rounding;
  return line;
}

// Calls run(line, start) with each line of memory, or with parts of it; adjacent lines count as
// one. `line` says what their codes are, and an element takes `bytes_of_each` bytes.
template <typename Run>
void ForEachLine(absl::Span<const float> ranges, Channels channels, Line line,
                 int64_t bytes_of_each, Run run) {
  CHECK_EQ(static_cast<int64_t>(ranges.size()), channels.count);
  std::vector<float> multipliers(ranges.size());
  std::transform(
      ranges.begin(), ranges.end(), multipliers.begin(),
      [largest = line.largest_code](float range) { return largest * InverseRange(range); });
  line.ranges = ranges.data();
  line.multipliers = multipliers.data();
  if (channels.count == 1) {
    return ParallelFor(channels.size(), bytes_of_each, [=](int64_t begin, int64_t end) {
      Line part = line;
      part.size = end - begin;
      run(part, begin);
    });
  }
  if (channels.inner == 1) {
    return ParallelFor(channels.outer, bytes_of_each * channels.count,
                       [=](int64_t begin, int64_t end) {
                         Line part = line;
                         part.range_for_each = true;
                         part.size = channels.count;
                         part.count = end - begin;
                         run(part, begin * channels.count);
                       });
  }
  ParallelFor(channels.outer * channels.count, bytes_of_each * channels.inner,
              [=](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  Line part = line;
                  part.size = channels.inner;
                  part.ranges += i % channels.count;
                  part.multipliers += i % channels.count;
                  run(part, i * channels.inner);
                }
              });
}

template <typename Code>
void QuantizeTo(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
                const CodeRange& rule, absl::Span<Code> codes) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(codes.size(), x.size());
  ForEachLine(ranges, channels, LineTo(rule), sizeof(float) + sizeof(Code),
              [x = x.data(), codes = codes.data()](const Line& line, int64_t start) {
                QuantizeLine<Code, None>(line, x + start, codes + start, nullptr);
              });
}

template <typename Code>
void QuantizeDequantizeTo(absl::Span<const float> x, absl::Span<const float> ranges,
                          const Channels& channels, const CodeRange& rule, absl::Span<float> values,
                          absl::Span<Code> codes) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(values.size(), x.size());
  CHECK_EQ(codes.size(), x.size());
  ForEachLine(ranges, channels, LineTo(rule), 2 * sizeof(float) + sizeof(Code),
              [x = x.data(), codes = codes.data(), values = values.data()](const Line& line,
                                                                           int64_t start) {
                QuantizeLine<Code, float>(line, x + start, codes + start, values + start);
              });
}

template <typename Code>
void DequantizeFrom(absl::Span<const Code> codes, absl::Span<const float> ranges,
                    const Channels& channels, int32_t largest_code, absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(codes.size()), channels.size());
  CHECK_EQ(values.size(), codes.size());
  Line from;
  from.largest_code = static_cast<float>(largest_code);
  ForEachLine(ranges, channels, from, sizeof(Code) + sizeof(float),
              [codes = codes.data(), values = values.data()](const Line& line, int64_t start) {
                DequantizeLine<Code>(line, codes + start, values + start);
              });
}

}  // namespace

void FindRanges(absl::Span<const float> x, const Channels& channels, absl::Span<float> ranges) {
  const int64_t count = channels.count;
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(static_cast<int64_t>(ranges.size()), count);
  std::vector<uint32_t> bits = LargestBits(x.data(), channels);
  for (size_t i = count; i < bits.size(); ++i) bits[i % count] = std::max(bits[i % count], bits[i]);
  for (int64_t c = 0; c < count; ++c) {
    if (bits[c] > kInfinityBits) {
      ranges[c] = AbsMax(ValuesOf(x, channels, c));
    } else {
      std::memcpy(&ranges[c], &bits[c], sizeof(float));
    }
  }
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<float> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<int8_t> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<uint8_t> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRange& rule, absl::Span<int16_t> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRange& rule, absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(values.size(), x.size());
  ForEachLine(ranges, channels, LineTo(rule), 2 * sizeof(float),
              [x = x.data(), values = values.data()](const Line& line, int64_t start) {
                QuantizeLine<None, float>(line, x + start, nullptr, values + start);
              });
}

void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRange& rule, absl::Span<float> values,
                        absl::Span<int8_t> codes) {
  QuantizeDequantizeTo(x, ranges, channels, rule, values, codes);
}

void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRange& rule, absl::Span<float> values,
                        absl::Span<uint8_t> codes) {
  QuantizeDequantizeTo(x, ranges, channels, rule, values, codes);
}

void Dequantize(absl::Span<const float> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values) {
  DequantizeFrom(codes, ranges, channels, largest_code, values);
}

void Dequantize(absl::Span<const int8_t> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values) {
  DequantizeFrom(codes, ranges, channels, largest_code, values);
}

void Dequantize(absl::Span<const uint8_t> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values) {
  DequantizeFrom(codes, ranges, channels, largest_code, values);
}

void Dequantize(absl::Span<const int16_t> codes, absl::Span<const float> ranges,
                const Channels& channels, int32_t largest_code, absl::Span<float> values) {
  DequantizeFrom(codes, ranges, channels, largest_code, values);
}

void DequantizeProduct(absl::Span<const float> sums, absl::Span<const float> ranges,
                       const Channels& channels, float input_range, float largest_product,
                       absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(sums.size()), channels.size());
  CHECK_EQ(values.size(), sums.size());
  CHECK_EQ(static_cast<int64_t>(ranges.size()), channels.count);
  const auto value = [=, sums = sums.data()](int64_t i, float range) {
    return sums[i] * range * input_range / largest_product;
  };
  const int64_t count = channels.count;
  const int64_t inner = channels.inner;
  if (inner == 1) {
    return ParallelFor(
        channels.outer, 8 * count,
        [=, ranges = ranges.data(), values = values.data()](int64_t begin, int64_t end) {
          for (int64_t first = begin * count; first < end * count; first += count) {
#pragma GCC ivdep  // values may be sums
            for (int64_t c = 0; c < count; ++c) {
              values[first + c] = value(first + c, ranges[c]);
            }
          }
        });
  }
  ParallelFor(channels.outer * count, 8 * inner,
              [=, ranges = ranges.data(), values = values.data()](int64_t begin, int64_t end) {
                for (int64_t line = begin; line < end; ++line) {
#pragma GCC ivdep
                  for (int64_t i = line * inner; i < (line + 1) * inner; ++i) {
                    values[i] = value(i, ranges[line % count]);
                  }
                }
              });
}

}  // namespace fixpoint::kernels
