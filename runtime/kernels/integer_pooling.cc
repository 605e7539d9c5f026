#include "runtime/kernels/integer_pooling.h"

#include <glog/logging.h>

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/sums_of_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/pooling_axes.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// The number of channels that are summed at once.
constexpr int64_t kBlock = 256;

// A row of the output, computed from the windows over these parts of an image.
template <typename Code>
struct Row {
  const Code* image;
  const PoolingAxes* axes;
  int64_t row;
  int64_t width;  // of the image
  int64_t channels;
  int32_t zero_point;
  float step;
  float* averages;

  void operator()() const {
    float* to = averages;
    for (const PoolingPart columns : (*axes)[1].parts) {
      for (int64_t c = 0; c < channels; c += kBlock) {
        Average((*axes)[0].parts[row], columns, c, std::min(kBlock, channels - c), to + c);
      }
      to += channels;
    }
  }

  void Average(PoolingPart rows, PoolingPart columns, int64_t channel, int64_t count,
               float* to) const {
    int32_t sums[kBlock];
    const int64_t codes = (rows.end - rows.begin) * (columns.end - columns.begin);
    std::fill_n(sums, count, -zero_point * static_cast<int32_t>(codes));
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const Code* const codes = image + (y * width + x) * channels + channel;
        for (int64_t i = 0; i < count; ++i) sums[i] += codes[i];
      }
    }
    const int64_t divisor = std::max<int64_t>(rows.count * columns.count, 1);
    const float factor = step / static_cast<float>(divisor);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(sums[i]) * factor;
  }
};

class PlannedIntegerPooling final : public IntegerPooling {
 public:
  PlannedIntegerPooling(const PoolingShape& shape, CodeType codes, const Epilogue& epilogue,
                        OutputType output)
      : shape_(shape),
        axes_(AxesOf(shape)),
        codes_(codes),
        epilogue_(epilogue),
        output_(output),
        row_(shape.out_width * shape.channels),
        threads_(ThreadsFor(
            shape.batch * shape.out_height,
            shape.input_size() / std::max<int64_t>(1, shape.batch * shape.out_height) + 4 * row_)),
        rooms_(threads_, Room{std::vector<float>(row_),
                              std::vector<absl::Span<const float>>(epilogue.size())}) {}

  void Run(absl::Span<const uint8_t> x, int32_t zero_point, float step, EpilogueOperands operands,
           Output out) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), shape_.input_size());
    CHECK_EQ(static_cast<int64_t>(out.size()), shape_.output_size());
    CHECK_EQ(operands.size(), epilogue_.size());
    CHECK(out.type() == output_);
    if (codes_ == CodeType::kUint8) {
      Pool(x.data(), zero_point, step, operands, out);
    } else {
      Pool(reinterpret_cast<const int8_t*>(x.data()), zero_point, step, operands, out);
    }
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  template <typename Code>
  void Pool(const Code* x, int32_t zero_point, float step, EpilogueOperands operands, Output out) {
    const int64_t image = shape_.height * shape_.width * shape_.channels;
    RunOnThreads(
        threads_, shape_.batch * shape_.out_height, [&](int thread, int64_t begin, int64_t end) {
          auto& [averages, of_row] = rooms_[thread];
          for (int64_t i = begin; i < end; ++i) {
            Vectorised(Row<Code>{x + i / shape_.out_height * image, &axes_, i % shape_.out_height,
                                 shape_.width, shape_.channels, zero_point, step, averages.data()});
            for (size_t s = 0; s < operands.size(); ++s) {
              const bool is_of_elements = epilogue_[s].kind == EpilogueStage::Kind::kAddElement;
              of_row[s] = is_of_elements ? operands[s].subspan(i * row_, row_) : operands[s];
            }
            Store(epilogue_, of_row, absl::MakeSpan(averages), out.Part(i * row_, row_));
          }
        });
  }

  // What a thread needs for a row.
  struct Room {
    std::vector<float> averages;
    std::vector<absl::Span<const float>> operands;
  };

  const PoolingShape shape_;
  const PoolingAxes axes_;
  const CodeType codes_;
  const Epilogue epilogue_;
  const OutputType output_;
  const int64_t row_;  // elements of the output
  const int threads_;
  std::vector<Room> rooms_;  // of each thread
};

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerPooling>> IntegerPooling::Plan(PoolingShape shape,
                                                                     CodeType codes,
                                                                     const Epilogue& epilogue,
                                                                     OutputType output) {
  CHECK(shape.type == PoolingType::kAverage);
  RETURN_IF_ERROR(CompleteShape(&shape));
  const PoolingAxes axes = AxesOf(shape);
  const int64_t terms = LargestPart(axes[0]) * LargestPart(axes[1]);
  if (!SumsFit(terms, kLargestUnsigned)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an average of ", terms, " codes; want fewer, so that a sum fits in 32 bits"));
  }
  return std::make_unique<PlannedIntegerPooling>(shape, codes, epilogue, output);
}

}  // namespace fixpoint::kernels
