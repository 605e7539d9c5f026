#include "runtime/kernels/code_pooling.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/kernels/pooling_axes.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// Channels are often few, but the next pixel's lie right after them: this many codes are compared
// at once, and what is written beyond a pixel is overwritten by the next one.
constexpr int64_t kBlock = 16;

template <typename Code>
struct BlockOf {
  typedef Code Type __attribute__((vector_size(kBlock)));
};

// The elementwise maximum of some lines; the lowest code where there is no line.
template <typename Code>
void MaximaOfLines(const Code* lines, int64_t count, int64_t size, Code* maxima) {
  std::fill(maxima, maxima + size, std::numeric_limits<Code>::min());
  for (int64_t line = 0; line < count; ++line, lines += size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) maxima[i] = lines[i] > maxima[i] ? lines[i] : maxima[i];
  }
}

// Likewise for `count` pixels. A block may reach beyond the last channel: `room` codes can be
// written.
template <typename Code>
void MaximaOfPixels(const Code* pixels, int64_t count, int64_t channels, int64_t room, Code* y) {
  using Block = typename BlockOf<Code>::Type;
  for (int64_t c = 0; c < channels; c += kBlock) {
    Block largest = Block{} + std::numeric_limits<Code>::min();
    for (int64_t pixel = 0; pixel < count; ++pixel) {
      Block codes;
      std::memcpy(&codes, pixels + pixel * channels + c, sizeof(codes));
      largest = codes > largest ? codes : largest;
    }
    std::memcpy(y + c, &largest, std::min(kBlock, room - c));
  }
}

class PlannedCodePooling final : public CodePooling {
 public:
  explicit PlannedCodePooling(const PoolingShape& shape)
      : shape_(shape),
        axes_(AxesOf(shape)),
        threads_(ThreadsFor(shape.batch * shape.out_height, BytesOfRow(shape))),
        lines_(threads_, std::vector<uint8_t>(shape.width * shape.channels + kBlock)) {}

  void Run(absl::Span<const uint8_t> x, absl::Span<uint8_t> y) override { Pool(x, y); }
  void Run(absl::Span<const int8_t> x, absl::Span<int8_t> y) override { Pool(x, y); }

  std::string implementation() const override { return LoopsName(); }

 private:
  static int64_t BytesOfRow(const PoolingShape& shape) {
    return (shape.input_size() + shape.output_size()) /
           std::max<int64_t>(1, shape.batch * shape.out_height);
  }

  template <typename Code>
  void Pool(absl::Span<const Code> input, absl::Span<Code> output) {
    CHECK_EQ(static_cast<int64_t>(input.size()), shape_.input_size());
    CHECK_EQ(static_cast<int64_t>(output.size()), shape_.output_size());
    RunOnThreads(threads_, shape_.batch * shape_.out_height,
                 [&](int thread, int64_t begin, int64_t end) {
                   PoolRows(input.data(), begin, end,
                            reinterpret_cast<Code*>(lines_[thread].data()), output.data());
                 });
  }

  // For each row of the output, finds first the largest of the rows of its windows.
  template <typename Code>
  void PoolRows(const Code* input, int64_t begin, int64_t end, Code* line, Code* output) const {
    Vectorised([=, shape = shape_, axes = &axes_] {
      const int64_t size = shape.width * shape.channels;
      Code* y = output + begin * shape.out_width * shape.channels;
      const Code* const y_end = output + end * shape.out_width * shape.channels;
      for (int64_t row = begin; row < end; ++row) {
        const Code* const image = input + row / shape.out_height * shape.height * size;
        const PoolingPart rows = (*axes)[0].parts[row % shape.out_height];
        MaximaOfLines(image + rows.begin * size, rows.end - rows.begin, size, line);
        for (const PoolingPart columns : (*axes)[1].parts) {
          MaximaOfPixels(line + columns.begin * shape.channels, columns.end - columns.begin,
                         shape.channels, y_end - y, y);
          y += shape.channels;
        }
      }
    });
  }

  const PoolingShape shape_;
  const PoolingAxes axes_;
  const int threads_;
  std::vector<std::vector<uint8_t>> lines_;  // of each thread
};

}  // namespace

absl::StatusOr<std::unique_ptr<CodePooling>> CodePooling::Plan(PoolingShape shape) {
  CHECK(shape.type == PoolingType::kMax);
  RETURN_IF_ERROR(CompleteShape(&shape));
  return std::make_unique<PlannedCodePooling>(shape);
}

}  // namespace fixpoint::kernels
