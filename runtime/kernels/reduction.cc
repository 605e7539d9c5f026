#include "runtime/kernels/reduction.h"

#include <glog/logging.h>

#include <algorithm>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/kernels/broadcast_loops.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// In the loops, X is the result, which repeats along the reduced axes, and Y is the tensor that is
// reduced.
template <typename How, Folding::How kHow>
class PlannedReduction final : public Reduction {
 public:
  PlannedReduction(const ReductionShape& shape, DimsView kept)
      : loops_(kept, shape.dims),
        factor_(shape.type == ReductionType::kMean
                    ? static_cast<double>(loops_.x_size()) / static_cast<double>(loops_.y_size())
                    : 1.0),
        is_differentiable_(shape.type == ReductionType::kSum || shape.type == ReductionType::kMean),
        folded_(loops_.x_size()) {}

  int64_t out_size() const override { return loops_.x_size(); }

  void Run(absl::Span<const float> x, absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), loops_.y_size());
    CHECK_EQ(static_cast<int64_t>(out.size()), loops_.x_size());
    std::fill(folded_.begin(), folded_.end(), How::kNothing);
    loops_.FoldInto</*kReadsPlace=*/false>(
        folded_.data(), PlaceInX(), How(), [x = x.data()](auto, LineBegin begin) {
          return [line = x + begin.y](int64_t i) { return line[i]; };
        });
    Vectorised(
        [out = out.data(), folded = folded_.data(), size = loops_.x_size(), factor = factor_] {
#pragma GCC ivdep
          for (int64_t i = 0; i < size; ++i) out[i] = static_cast<float>(folded[i] * factor);
        });
  }

  void Backward(absl::Span<const float> dout, absl::Span<float> dx) const override {
    CHECK(is_differentiable_);
    CHECK_EQ(static_cast<int64_t>(dout.size()), loops_.x_size());
    CHECK_EQ(static_cast<int64_t>(dx.size()), loops_.y_size());
    loops_.ForEachLine([dout = dout.data(), dx = dx.data(), factor = static_cast<float>(factor_)](
                           auto line, LineBegin begin) {
#pragma GCC ivdep
      for (int64_t i = 0; i < line.size; ++i) {
        dx[begin.y + i] = dout[begin.x + line.X(i)] * factor;
      }
    });
  }

  std::optional<Folding> folding() const override {
    return loops_.FoldingOf(PlaceInX(), kHow, factor_);
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  const BroadcastLoops loops_;
  const double factor_;
  const bool is_differentiable_;
  std::vector<double> folded_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Reduction>> Reduction::Plan(const ReductionShape& shape) {
  RETURN_IF_ERROR(CheckExtents("X", shape.dims));
  Dims kept = shape.dims;
  for (const int64_t axis : shape.axes) {
    ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, static_cast<int>(kept.size())));
    kept[i] = 1;
  }
  switch (shape.type) {
    case ReductionType::kSum:
    case ReductionType::kMean:
      return std::make_unique<PlannedReduction<LaneAdd, Folding::How::kAdd>>(shape, kept);
    case ReductionType::kMax:
      return std::make_unique<PlannedReduction<LaneMax, Folding::How::kMax>>(shape, kept);
    case ReductionType::kMin:
      return std::make_unique<PlannedReduction<LaneMin, Folding::How::kMin>>(shape, kept);
    case ReductionType::kProduct:
      return std::make_unique<PlannedReduction<LaneMultiply, Folding::How::kMultiply>>(shape, kept);
  }
  LOG(FATAL) << "an unknown reduction";
}

}  // namespace fixpoint::kernels
