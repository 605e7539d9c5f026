// The loops of an elementwise op on two tensors. They take long to compile, so several sources
// instantiate some of them each.

#ifndef FIXPOINT_RUNTIME_KERNELS_PLANNED_ELEMENTWISE_H_
#define FIXPOINT_RUNTIME_KERNELS_PLANNED_ELEMENTWISE_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "ops/dims.h"
#include "runtime/kernels/broadcast_loops.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

// `Op` has Value(x, y), its derivatives ByX and ByY, and kIsLinear: whether these do not depend on
// x and y.
template <typename Op>
class PlannedElementwise final : public Elementwise {
 public:
  explicit PlannedElementwise(Broadcast broadcast)
      : out_dims_(std::move(broadcast.out_dims)),
        loops_(std::move(broadcast.loops)),
        sums_(std::max(SumCount(loops_.x_size()), SumCount(loops_.y_size()))) {}

  const Dims& out_dims() const override { return out_dims_; }

  void Run(absl::Span<const float> x, absl::Span<const float> y, absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), loops_.x_size());
    CHECK_EQ(static_cast<int64_t>(y.size()), loops_.y_size());
    CHECK_EQ(static_cast<int64_t>(out.size()), loops_.out_size());
    loops_.ForEachLine([x = x.data(), y = y.data(), out = out.data()](auto line, LineBegin begin) {
#pragma GCC ivdep  // out may be x or y
      for (int64_t i = 0; i < line.size; ++i) {
        out[begin.out + i] = Op::Value(x[begin.x + line.X(i)], y[begin.y + line.Y(i)]);
      }
    });
  }

  void Backward(absl::Span<const float> x, absl::Span<const float> y, absl::Span<const float> dout,
                absl::Span<float> dx, absl::Span<float> dy) override {
    CHECK_EQ(static_cast<int64_t>(dout.size()), loops_.out_size());
    // An op that reads neither x nor y still gets memory of their size.
    if (Op::kIsLinear) x = y = dout;
    const auto to_x = [&] {
      if (dx.empty()) return;
      CHECK_EQ(static_cast<int64_t>(dx.size()), loops_.x_size());
      Differentiate(
          x, y, dout, dx, [](float x, float y) { return Op::ByX(x, y); }, PlaceInX());
    };
    const auto to_y = [&] {
      if (dy.empty()) return;
      CHECK_EQ(static_cast<int64_t>(dy.size()), loops_.y_size());
      Differentiate(
          x, y, dout, dy, [](float x, float y) { return Op::ByY(x, y); }, PlaceInY());
    };
    if (dx.data() == dout.data()) {
      to_y();
      to_x();
    } else {
      to_x();
      to_y();
    }
  }

  std::optional<Repetition> x_repetition() const override {
    return loops_.RepetitionOf(PlaceInX());
  }
  std::optional<Repetition> y_repetition() const override {
    return loops_.RepetitionOf(PlaceInY());
  }
  std::optional<Folding> dx_folding() const override {
    return loops_.FoldingOf(PlaceInX(), Folding::How::kAdd);
  }
  std::optional<Folding> dy_folding() const override {
    return loops_.FoldingOf(PlaceInY(), Folding::How::kAdd);
  }

  void RunBlock(absl::Span<const float> x, absl::Span<const float> y,
                absl::Span<float> out) const override {
    OnBlock(x, y, out, [](float x, float y, int64_t) { return Op::Value(x, y); });
  }
  void TermsOfX(absl::Span<const float> x, absl::Span<const float> y, absl::Span<const float> dout,
                absl::Span<float> dx) const override {
    if (Op::kIsLinear) x = y = dout;
    OnBlock(x, y, dx,
            [dout = dout.data()](float x, float y, int64_t i) { return dout[i] * Op::ByX(x, y); });
  }
  void TermsOfY(absl::Span<const float> x, absl::Span<const float> y, absl::Span<const float> dout,
                absl::Span<float> dy) const override {
    if (Op::kIsLinear) x = y = dout;
    OnBlock(x, y, dy,
            [dout = dout.data()](float x, float y, int64_t i) { return dout[i] * Op::ByY(x, y); });
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  // out[i] = of(x[i], y[i], i), or with one element of x or of y for all i.
  template <typename Of>
  static void OnBlock(absl::Span<const float> x_span, absl::Span<const float> y_span,
                      absl::Span<float> out_span, Of of) {
    const int64_t size = static_cast<int64_t>(out_span.size());
    const bool has_all_x = x_span.size() == out_span.size();
    const bool has_all_y = y_span.size() == out_span.size();
    const float* const x = x_span.data();
    const float* const y = y_span.data();
    float* const out = out_span.data();
    if (has_all_x && has_all_y) {
      Vectorised([=] {
#pragma GCC ivdep  // out may be x, y or dout
        for (int64_t i = 0; i < size; ++i) out[i] = of(x[i], y[i], i);
      });
    } else if (has_all_x) {
      Vectorised([=, y = *y] {
#pragma GCC ivdep
        for (int64_t i = 0; i < size; ++i) out[i] = of(x[i], y, i);
      });
    } else {
      CHECK(has_all_y);
      Vectorised([=, x = *x] {
#pragma GCC ivdep
        for (int64_t i = 0; i < size; ++i) out[i] = of(x, y[i], i);
      });
    }
  }

  int64_t SumCount(int64_t size) const { return size < loops_.out_size() ? size : 0; }

  template <typename Derivative, typename Place>
  void Differentiate(absl::Span<const float> x_span, absl::Span<const float> y_span,
                     absl::Span<const float> dout_span, absl::Span<float> gradient_span,
                     Derivative derivative, Place place) {
    const auto term_of = [=, x = x_span.data(), y = y_span.data(), dout = dout_span.data()](
                             auto line, LineBegin begin) {
      return [=](int64_t i) {
        return dout[begin.out + i] * derivative(x[begin.x + line.X(i)], y[begin.y + line.Y(i)]);
      };
    };
    float* const gradient = gradient_span.data();
    const int64_t size = static_cast<int64_t>(gradient_span.size());
    if (size == loops_.out_size()) {
      loops_.ForEachLine([=](auto line, LineBegin begin) {
        const auto term = term_of(line, begin);
#pragma GCC ivdep  // gradient may be dout
        for (int64_t i = 0; i < line.size; ++i) gradient[begin.out + i] = term(i);
      });
      return;
    }
    double* const sums = sums_.data();
    std::fill_n(sums, size, 0.0);
    loops_.FoldInto</*kReadsPlace=*/!Op::kIsLinear>(sums, place, LaneAdd(), term_of);
    Vectorised([=] {
      for (int64_t i = 0; i < size; ++i) gradient[i] = static_cast<float>(sums[i]);
    });
  }

  const Dims out_dims_;
  const BroadcastLoops loops_;
  std::vector<double> sums_;
};

template <typename Op>
std::unique_ptr<Elementwise> MakeElementwise(Broadcast broadcast) {
  return std::make_unique<PlannedElementwise<Op>>(std::move(broadcast));
}

std::unique_ptr<Elementwise> MakeAdd(Broadcast broadcast);
std::unique_ptr<Elementwise> MakeSub(Broadcast broadcast);
std::unique_ptr<Elementwise> MakeMul(Broadcast broadcast);
std::unique_ptr<Elementwise> MakeDiv(Broadcast broadcast);
std::unique_ptr<Elementwise> MakeMax(Broadcast broadcast);
std::unique_ptr<Elementwise> MakeMin(Broadcast broadcast);
std::unique_ptr<Elementwise> MakePow(Broadcast broadcast);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PLANNED_ELEMENTWISE_H_
