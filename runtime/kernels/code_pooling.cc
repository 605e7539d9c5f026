#include "runtime/kernels/code_pooling.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>

#include "proto/status_macros.h"
#include "runtime/kernels/pooling_axes.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

class PlannedCodePooling final : public CodePooling {
 public:
  explicit PlannedCodePooling(const PoolingShape& shape) : shape_(shape), axes_(AxesOf(shape)) {}

  void Run(absl::Span<const uint8_t> x, absl::Span<uint8_t> y) const override { Pool(x, y); }
  void Run(absl::Span<const int8_t> x, absl::Span<int8_t> y) const override { Pool(x, y); }

  std::string implementation() const override { return LoopsName(); }

 private:
  template <typename Code>
  void Pool(absl::Span<const Code> input, absl::Span<Code> output) const {
    CHECK_EQ(static_cast<int64_t>(input.size()), shape_.input_size());
    CHECK_EQ(static_cast<int64_t>(output.size()), shape_.output_size());
    Vectorised([shape = shape_, axes = &axes_, x = input.data(), y = output.data()]() mutable {
      for (int64_t n = 0; n < shape.batch; ++n) {
        for (const PoolingPart rows : (*axes)[0].parts) {
          for (const PoolingPart columns : (*axes)[1].parts) {
            std::fill(y, y + shape.channels, std::numeric_limits<Code>::min());
            for (int64_t row = rows.begin; row < rows.end; ++row) {
              for (int64_t column = columns.begin; column < columns.end; ++column) {
                const Code* const pixel =
                    x + ((n * shape.height + row) * shape.width + column) * shape.channels;
#pragma GCC ivdep
                for (int64_t c = 0; c < shape.channels; ++c) {
                  y[c] = pixel[c] > y[c] ? pixel[c] : y[c];
                }
              }
            }
            y += shape.channels;
          }
        }
      }
    });
  }

  const PoolingShape shape_;
  const PoolingAxes axes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CodePooling>> CodePooling::Plan(PoolingShape shape) {
  CHECK(shape.type == PoolingType::kMax);
  RETURN_IF_ERROR(CompleteShape(&shape));
  return std::make_unique<PlannedCodePooling>(shape);
}

}  // namespace fixpoint::kernels
