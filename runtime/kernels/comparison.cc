#include "runtime/kernels/comparison.h"

#include <glog/logging.h>

#include <functional>
#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/kernels/broadcast_loops.h"

namespace fixpoint::kernels {
namespace {

// Calls use(holds), where holds(a, b) is whether the elements are in the relation.
template <typename T, typename Use>
void WithRelation(Relation relation, Use use) {
  switch (relation) {
    case Relation::kEqual:
      return use(std::equal_to<T>());
    case Relation::kNotEqual:
      return use(std::not_equal_to<T>());
    case Relation::kLess:
      return use(std::less<T>());
    case Relation::kLessEqual:
      return use(std::less_equal<T>());
    case Relation::kGreater:
      return use(std::greater<T>());
    case Relation::kGreaterEqual:
      return use(std::greater_equal<T>());
    case Relation::kAnd:
      return use([](T a, T b) { return (a != T()) & (b != T()); });
    case Relation::kOr:
      return use([](T a, T b) { return (a != T()) | (b != T()); });
    case Relation::kXor:
      return use([](T a, T b) { return (a != T()) != (b != T()); });
  }
}

template <typename Holds, typename T, typename Line>
void CompareLine(Holds holds, const T* x, const T* y, Line line, bool* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < line.size; ++i) out[i] = holds(x[line.X(i)], y[line.Y(i)]);
}

}  // namespace

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

std::optional<Repetition> Comparison::x_repetition() const {
  return broadcasting_->broadcast.loops.RepetitionOf(PlaceInX());
}

std::optional<Repetition> Comparison::y_repetition() const {
  return broadcasting_->broadcast.loops.RepetitionOf(PlaceInY());
}

template <typename T>
void Comparison::Run(absl::Span<const T> x, absl::Span<const T> y, absl::Span<bool> out) const {
  const BroadcastLoops& loops = broadcasting_->broadcast.loops;
  CHECK_EQ(static_cast<int64_t>(x.size()), loops.x_size());
  CHECK_EQ(static_cast<int64_t>(y.size()), loops.y_size());
  CHECK_EQ(static_cast<int64_t>(out.size()), loops.out_size());
  WithRelation<T>(relation_, [&](auto holds) {
    loops.ForEachLine(
        [holds, x = x.data(), y = y.data(), out = out.data()](auto line, LineBegin begin) {
          CompareLine(holds, x + begin.x, y + begin.y, line, out + begin.out);
        });
  });
}

template <typename T>
void Comparison::RunBlock(absl::Span<const T> x, absl::Span<const T> y,
                          absl::Span<bool> out) const {
  const int64_t size = static_cast<int64_t>(out.size());
  WithRelation<T>(relation_, [=](auto holds) {
    const auto run = [=, x = x.data(), y = y.data(), out = out.data()](auto line) {
      Vectorised([=] { CompareLine(holds, x, y, line, out); });
    };
    if (y.size() < out.size()) {
      run(LineOfX{size});
    } else if (x.size() < out.size()) {
      run(LineOfY{size});
    } else {
      run(LineOfBoth{size});
    }
  });
}

#define FIXPOINT_COMPARISON_OF(T, Run)                                        \
  template void Comparison::Run(absl::Span<const T> x, absl::Span<const T> y, \
                                absl::Span<bool> out) const;
FIXPOINT_COMPARISON_OF(float, Run)
FIXPOINT_COMPARISON_OF(int32_t, Run)
FIXPOINT_COMPARISON_OF(int64_t, Run)
FIXPOINT_COMPARISON_OF(bool, Run)
FIXPOINT_COMPARISON_OF(float, RunBlock)
FIXPOINT_COMPARISON_OF(bool, RunBlock)
#undef FIXPOINT_COMPARISON_OF

template <typename T>
void Select(absl::Span<const bool> condition, absl::Span<const T> x, absl::Span<const T> y,
            absl::Span<T> out) {
  CHECK_EQ(condition.size(), out.size());
  CHECK_EQ(x.size(), out.size());
  CHECK_EQ(y.size(), out.size());
  ParallelFor(out.size(), 1 + 3 * sizeof(T),
              [holds = condition.data(), x = x.data(), y = y.data(), out = out.data()](
                  int64_t begin, int64_t end) {
#pragma GCC ivdep  // out may be x or y
                for (int64_t i = begin; i < end; ++i) out[i] = holds[i] ? x[i] : y[i];
              });
}

#define FIXPOINT_SELECT_OF(T)                                                   \
  template void Select(absl::Span<const bool> condition, absl::Span<const T> x, \
                       absl::Span<const T> y, absl::Span<T> out);
FIXPOINT_SELECT_OF(uint8_t)
FIXPOINT_SELECT_OF(int32_t)
FIXPOINT_SELECT_OF(int64_t)
#undef FIXPOINT_SELECT_OF

}  // namespace fixpoint::kernels
