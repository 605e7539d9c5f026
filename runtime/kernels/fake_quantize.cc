#include "runtime/kernels/fake_quantize.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/quant_math.h"
#include "runtime/kernels/fake_quantize_loops.h"

namespace fixpoint::kernels {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000;

// The same with what one channel has in one line.
Channels InOneLine(const Channels& channels) {
  return channels.count == 1 ? Channels{1, 1, channels.size()} : channels;
}

// The values of one channel.
std::vector<float> ValuesOf(absl::Span<const float> x, const Channels& channels, int64_t channel) {
  std::vector<float> values;
  for (int64_t o = 0; o < channels.outer; ++o) {
    const auto line = x.subspan((o * channels.count + channel) * channels.inner, channels.inner);
    values.insert(values.end(), line.begin(), line.end());
  }
  return values;
}

// Calls run(line, start) with each line of memory; those that follow each other as one.
template <typename Run>
void ForEachLine(absl::Span<const float> ranges, Channels channels, const CodeRule& rule, Run run) {
  channels = InOneLine(channels);
  CHECK_EQ(static_cast<int64_t>(ranges.size()), channels.count);
  std::vector<float> multipliers(ranges.size());
  const float largest = static_cast<float>(rule.largest_code);
  std::transform(ranges.begin(), ranges.end(), multipliers.begin(),
                 [largest](float range) { return largest * InverseRange(range); });
  Line line;
  line.largest_code = largest;
  line.rounding = rule.rounding;
  line.ranges = ranges.data();
  line.multipliers = multipliers.data();
  if (channels.inner == 1) {
    line.range_for_each = true;
    line.size = channels.count;
    line.count = channels.outer;
    run(line, 0);
    return;
  }
  line.size = channels.inner;
  for (int64_t o = 0; o < channels.outer; ++o) {
    for (int64_t c = 0; c < channels.count; ++c) {
      line.ranges = &ranges[c];
      line.multipliers = &multipliers[c];
      run(line, (o * channels.count + c) * line.size);
    }
  }
}

template <typename Code>
void QuantizeTo(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
                const CodeRule& rule, absl::Span<Code> codes) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(codes.size(), x.size());
  ForEachLine(ranges, channels, rule, [&](const Line& line, int64_t start) {
    QuantizeLine<Code, None>(line, x.data() + start, codes.data() + start, nullptr);
  });
}

template <typename Code>
void QuantizeDequantizeTo(absl::Span<const float> x, absl::Span<const float> ranges,
                          const Channels& channels, const CodeRule& rule, absl::Span<float> values,
                          absl::Span<Code> codes) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(values.size(), x.size());
  CHECK_EQ(codes.size(), x.size());
  ForEachLine(ranges, channels, rule, [&](const Line& line, int64_t start) {
    QuantizeLine<Code, float>(line, x.data() + start, codes.data() + start, values.data() + start);
  });
}

template <typename Code>
void DequantizeFrom(absl::Span<const Code> codes, absl::Span<const float> ranges,
                    const Channels& channels, int32_t largest_code, absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(codes.size()), channels.size());
  CHECK_EQ(values.size(), codes.size());
  CodeRule rule;
  rule.largest_code = largest_code;
  ForEachLine(ranges, channels, rule, [&](const Line& line, int64_t start) {
    DequantizeLine<Code>(line, codes.data() + start, values.data() + start);
  });
}

}  // namespace

void FindRanges(absl::Span<const float> x, const Channels& all, absl::Span<float> ranges) {
  const Channels channels = InOneLine(all);
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(static_cast<int64_t>(ranges.size()), channels.count);
  std::vector<uint32_t> bits(ranges.size(), 0);
  if (channels.inner == 1) {
    RaiseAbsMaxBits(x.data(), channels.outer, channels.count, bits.data());
  } else {
    for (int64_t line = 0; line < channels.outer * channels.count; ++line) {
      uint32_t& largest = bits[line % channels.count];
      largest = std::max(largest, AbsMaxBits(x.data() + line * channels.inner, channels.inner));
    }
  }
  for (int64_t c = 0; c < channels.count; ++c) {
    if (bits[c] > kInfinityBits) {
      ranges[c] = AbsMax(ValuesOf(x, channels, c));
    } else {
      std::memcpy(&ranges[c], &bits[c], sizeof(float));
    }
  }
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRule& rule, absl::Span<float> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRule& rule, absl::Span<int8_t> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void Quantize(absl::Span<const float> x, absl::Span<const float> ranges, const Channels& channels,
              const CodeRule& rule, absl::Span<uint8_t> codes) {
  QuantizeTo(x, ranges, channels, rule, codes);
}

void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRule& rule, absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(values.size(), x.size());
  ForEachLine(ranges, channels, rule, [&](const Line& line, int64_t start) {
    QuantizeLine<None, float>(line, x.data() + start, nullptr, values.data() + start);
  });
}

void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRule& rule, absl::Span<float> values,
                        absl::Span<int8_t> codes) {
  QuantizeDequantizeTo(x, ranges, channels, rule, values, codes);
}

void QuantizeDequantize(absl::Span<const float> x, absl::Span<const float> ranges,
                        const Channels& channels, const CodeRule& rule, absl::Span<float> values,
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

void DequantizeProduct(absl::Span<const float> sums, absl::Span<const float> ranges,
                       const Channels& channels, float input_range, float largest_product,
                       absl::Span<float> values) {
  CHECK_EQ(static_cast<int64_t>(sums.size()), channels.size());
  CHECK_EQ(values.size(), sums.size());
  CHECK_EQ(static_cast<int64_t>(ranges.size()), channels.count);
  Vectorised([=, sums = sums.data(), ranges = ranges.data(), values = values.data()] {
    const auto value = [=](int64_t i, float range) {
      return sums[i] * range * input_range / largest_product;
    };
    const auto& [outer, count, inner] = channels;
    if (inner == 1) {
      for (int64_t first = 0; first < outer * count; first += count) {
#pragma GCC ivdep  // values may be sums
        for (int64_t c = 0; c < count; ++c) values[first + c] = value(first + c, ranges[c]);
      }
      return;
    }
    for (int64_t line = 0; line < outer * count; ++line) {
#pragma GCC ivdep
      for (int64_t i = line * inner; i < (line + 1) * inner; ++i) {
        values[i] = value(i, ranges[line % count]);
      }
    }
  });
}

}  // namespace fixpoint::kernels
