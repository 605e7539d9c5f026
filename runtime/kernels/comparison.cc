#include "runtime/kernels/comparison.h"

#include <glog/logging.h>

#include <functional>
#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/kernels/broadcast_loops.h"

namespace fixpoint::kernels {

struct Comparison::Broadcasting {
  Broadcast broadcast;
};

Comparison::Comparison(Relation relation, std::unique_ptr<Broadcasting> broadcasting)
    : relation_(relation), broadcasting_(std::move(broadcasting)) {}

Comparison::~Comparison() = default;

absl::StatusOr<std::unique_ptr<Comparison>> Comparison::Plan(Relation relation,
                                                             const ElementwiseShape& shape) {
  ASSIGN_OR_RETURN(Broadcast broadcast, BroadcastOf(shape.x, shape.y, shape.axis));
  auto broadcasting = std::make_unique<Broadcasting>(Broadcasting{std::move(broadcast)});
  return std::unique_ptr<Comparison>(new Comparison(relation, std::move(broadcasting)));
}

const Dims& Comparison::out_dims() const { return broadcasting_->broadcast.out_dims; }

template <typename T>
void Comparison::Run(absl::Span<const T> x, absl::Span<const T> y, absl::Span<bool> out) const {
  const BroadcastLoops& loops = broadcasting_->broadcast.loops;
  CHECK_EQ(static_cast<int64_t>(x.size()), loops.x_size());
  CHECK_EQ(static_cast<int64_t>(y.size()), loops.y_size());
  CHECK_EQ(static_cast<int64_t>(out.size()), loops.out_size());
  const auto run = [&](auto holds) {
    loops.ForEachLine(
        [holds, x = x.data(), y = y.data(), out = out.data()](auto line, LineBegin begin) {
          const T* const from_x = x + begin.x;
          const T* const from_y = y + begin.y;
          bool* const to = out + begin.out;
#pragma GCC ivdep
          for (int64_t i = 0; i < line.size; ++i) {
            to[i] = holds(from_x[line.X(i)], from_y[line.Y(i)]);
          }
        });
  };
  switch (relation_) {
    case Relation::kEqual:
      return run(std::equal_to<T>());
    case Relation::kNotEqual:
      return run(std::not_equal_to<T>());
    case Relation::kLess:
      return run(std::less<T>());
    case Relation::kLessEqual:
      return run(std::less_equal<T>());
    case Relation::kGreater:
      return run(std::greater<T>());
    case Relation::kGreaterEqual:
      return run(std::greater_equal<T>());
    case Relation::kAnd:
      return run([](T a, T b) { return (a != T()) & (b != T()); });
    case Relation::kOr:
      return run([](T a, T b) { return (a != T()) | (b != T()); });
    case Relation::kXor:
      return run([](T a, T b) { return (a != T()) != (b != T()); });
  }
}

#define FIXPOINT_COMPARISON_OF(T)                                             \
  template void Comparison::Run(absl::Span<const T> x, absl::Span<const T> y, \
                                absl::Span<bool> out) const;
FIXPOINT_COMPARISON_OF(float)
FIXPOINT_COMPARISON_OF(int32_t)
FIXPOINT_COMPARISON_OF(int64_t)
FIXPOINT_COMPARISON_OF(bool)
#undef FIXPOINT_COMPARISON_OF

}  // namespace fixpoint::kernels
