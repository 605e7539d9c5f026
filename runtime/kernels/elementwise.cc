#include "runtime/kernels/elementwise.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// `dims` among 1s, so that they have `rank` dimensions.
absl::StatusOr<Dims> Placed(DimsView dims, int rank, int64_t axis) {
  Dims placed(rank, 1);
  const int given = static_cast<int>(dims.size());
  if (axis == -1 || given == rank) {
    std::copy(dims.begin(), dims.end(), placed.end() - given);
    return placed;
  }
  while (dims.size() > 1 && dims.back() == 1) dims.remove_suffix(1);
  if (axis < 0 || axis + static_cast<int64_t>(dims.size()) > rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axis ", axis, " does not place ", DimsText(dims), " inside ", rank, " dimensions"));
  }
  std::copy(dims.begin(), dims.end(), placed.begin() + axis);
  return placed;
}

// Neighbouring dimensions of the result along which both tensors go on, or one repeats.
struct Level {
  int64_t size;
  bool has_x;
  bool has_y;
};

struct Broadcast {
  Dims out_dims;
  std::vector<Level> levels;  // outermost first, one or more

  int64_t x_size() const {
    return SizeOf([](const Level& level) { return level.has_x; });
  }
  int64_t y_size() const {
    return SizeOf([](const Level& level) { return level.has_y; });
  }
  int64_t out_size() const {
    return SizeOf([](const Level&) { return true; });
  }

 private:
  template <typename Has>
  int64_t SizeOf(Has has) const {
    int64_t size = 1;
    for (const Level& level : levels) size *= has(level) ? level.size : 1;
    return size;
  }
};

absl::StatusOr<Broadcast> BroadcastOf(const ElementwiseShape& shape) {
  RETURN_IF_ERROR(CheckExtents("X", shape.x));
  RETURN_IF_ERROR(CheckExtents("Y", shape.y));
  const int rank = static_cast<int>(std::max(shape.x.size(), shape.y.size()));
  ASSIGN_OR_RETURN(const Dims x, Placed(shape.x, rank, shape.axis));
  ASSIGN_OR_RETURN(const Dims y, Placed(shape.y, rank, shape.axis));
  Broadcast broadcast;
  for (int i = 0; i < rank; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("X ", DimsText(shape.x), " and Y ", DimsText(shape.y),
                       " do not broadcast: want equal dimensions or 1, got ", x[i], " and ", y[i]));
    }
    const Level level = {std::max(x[i], y[i]), x[i] >= y[i], y[i] >= x[i]};
    broadcast.out_dims.push_back(level.size);
    if (level.size == 1) continue;
    if (!broadcast.levels.empty() && broadcast.levels.back().has_x == level.has_x &&
        broadcast.levels.back().has_y == level.has_y) {
      broadcast.levels.back().size *= level.size;
    } else {
      broadcast.levels.push_back(level);
    }
  }
  if (broadcast.levels.empty()) broadcast.levels.push_back({1, true, true});
  RETURN_IF_ERROR(ElementCount(broadcast.out_dims).status());
  return broadcast;
}

// No tensor of the reference has more dimensions, so that a walk is copied without an allocation.
constexpr int kInlineLevels = 9;

// Goes over the lines of the innermost level.
class LineWalk {
 public:
  explicit LineWalk(const std::vector<Level>& levels)
      : levels_(levels.data()), outer_(static_cast<int>(levels.size()) - 1), index_(outer_, 0) {
    int64_t x_stride = 1;
    int64_t y_stride = 1;
    strides_.resize(levels.size());
    for (int i = outer_; i >= 0; --i) {
      strides_[i] = {levels[i].has_x ? x_stride : 0, levels[i].has_y ? y_stride : 0};
      if (levels[i].has_x) x_stride *= levels[i].size;
      if (levels[i].has_y) y_stride *= levels[i].size;
    }
  }

  int64_t x() const { return x_; }
  int64_t y() const { return y_; }

  // False behind the last line.
  bool Next() {
    for (int i = outer_ - 1; i >= 0; --i) {
      x_ += strides_[i].x;
      y_ += strides_[i].y;
      if (++index_[i] < levels_[i].size) return true;
      index_[i] = 0;
      x_ -= strides_[i].x * levels_[i].size;
      y_ -= strides_[i].y * levels_[i].size;
    }
    return false;
  }

 private:
  struct Stride {
    int64_t x;
    int64_t y;
  };

  const Level* levels_;
  int outer_;
  absl::InlinedVector<int64_t, kInlineLevels> index_;
  absl::InlinedVector<Stride, kInlineLevels> strides_;
  int64_t x_ = 0;
  int64_t y_ = 0;
};

// Each op, and its derivatives by x and y.
struct Add {
  static float Value(float x, float y) { return x + y; }
  static float ByX(float, float) { return 1.0f; }
  static float ByY(float, float) { return 1.0f; }
};
struct Sub {
  static float Value(float x, float y) { return x - y; }
  static float ByX(float, float) { return 1.0f; }
  static float ByY(float, float) { return -1.0f; }
};
struct Mul {
  static float Value(float x, float y) { return x * y; }
  static float ByX(float, float y) { return y; }
  static float ByY(float x, float) { return x; }
};
struct Div {
  static float Value(float x, float y) { return x / y; }
  static float ByX(float, float y) { return 1.0f / y; }
  static float ByY(float x, float y) { return -(x / y) / y; }
};
struct Max {
  static float Value(float x, float y) { return (x != x) | (x > y) ? x : y; }
  static float ByX(float x, float y) { return x > y ? 1.0f : 0.0f; }
  static float ByY(float x, float y) { return x > y ? 0.0f : 1.0f; }
};
struct Min {
  static float Value(float x, float y) { return (x != x) | (x < y) ? x : y; }
  static float ByX(float x, float y) { return x < y ? 1.0f : 0.0f; }
  static float ByY(float x, float y) { return x < y ? 0.0f : 1.0f; }
};
struct Pow {
  static float Value(float x, float y) { return std::pow(x, y); }
  static float ByX(float x, float y) { return y * std::pow(x, y - 1.0f); }
  static float ByY(float x, float y) { return std::pow(x, y) * std::log(x); }
};

template <typename Op>
class PlannedElementwise final : public Elementwise {
 public:
  explicit PlannedElementwise(Broadcast broadcast)
      : broadcast_(std::move(broadcast)),
        walk_(broadcast_.levels),
        sums_(std::max(SumCount(broadcast_.x_size()), SumCount(broadcast_.y_size()))) {}

  const Dims& out_dims() const override { return broadcast_.out_dims; }

  void Run(absl::Span<const float> x, absl::Span<const float> y, absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), broadcast_.x_size());
    CHECK_EQ(static_cast<int64_t>(y.size()), broadcast_.y_size());
    CHECK_EQ(static_cast<int64_t>(out.size()), broadcast_.out_size());
    ForEachLine([x = x.data(), y = y.data(), out = out.data()](auto line, int64_t x_at,
                                                               int64_t y_at, int64_t at) {
#pragma GCC ivdep  // out may be x or y
      for (int64_t i = 0; i < line.size; ++i) {
        out[at + i] = Op::Value(x[x_at + line.X(i)], y[y_at + line.Y(i)]);
      }
    });
  }

  void Backward(absl::Span<const float> x, absl::Span<const float> y, absl::Span<const float> dout,
                absl::Span<float> dx, absl::Span<float> dy) override {
    CHECK_EQ(static_cast<int64_t>(dout.size()), broadcast_.out_size());
    // Whoever reads no x and y still gets memory that is as large.
    if (x.empty()) x = dout;
    if (y.empty()) y = dout;
    const auto to_x = [&] {
      if (dx.empty()) return;
      CHECK_EQ(static_cast<int64_t>(dx.size()), broadcast_.x_size());
      Differentiate(
          x, y, dout, dx, [](float x, float y) { return Op::ByX(x, y); }, PlaceOfX());
    };
    const auto to_y = [&] {
      if (dy.empty()) return;
      CHECK_EQ(static_cast<int64_t>(dy.size()), broadcast_.y_size());
      Differentiate(
          x, y, dout, dy, [](float x, float y) { return Op::ByY(x, y); }, PlaceOfY());
    };
    if (dx.data() == dout.data()) {
      to_y();
      to_x();
    } else {
      to_x();
      to_y();
    }
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  // Lines along which both go on, or one of them repeats an element.
  struct Both {
    int64_t size;
    int64_t X(int64_t i) const { return i; }
    int64_t Y(int64_t i) const { return i; }
  };
  struct OneY {
    int64_t size;
    int64_t X(int64_t i) const { return i; }
    int64_t Y(int64_t) const { return 0; }
  };
  struct OneX {
    int64_t size;
    int64_t X(int64_t) const { return 0; }
    int64_t Y(int64_t i) const { return i; }
  };

  // Where a line begins in x and y.
  struct Begin {
    int64_t x;
    int64_t y;
  };

  // Where an element of a line is in the gradient that is made.
  struct PlaceOfX {
    int64_t Start(int64_t x_at, int64_t) const { return x_at; }
    template <typename Line>
    int64_t operator()(const Line& line, int64_t i) const {
      return line.X(i);
    }
  };
  struct PlaceOfY {
    int64_t Start(int64_t, int64_t y_at) const { return y_at; }
    template <typename Line>
    int64_t operator()(const Line& line, int64_t i) const {
      return line.Y(i);
    }
  };

  int64_t SumCount(int64_t size) const { return size < broadcast_.out_size() ? size : 0; }

  // Calls f(line) with the form of all lines.
  template <typename F>
  void WithLine(F f) const {
    const Level& inner = broadcast_.levels.back();
    if (inner.has_x && inner.has_y) {
      f(Both{inner.size});
    } else if (inner.has_x) {
      f(OneY{inner.size});
    } else {
      f(OneX{inner.size});
    }
  }

  // Calls f(line, x_at, y_at, at) with each line of the result and where it begins in each tensor.
  template <typename F>
  void ForEachLine(F f) const {
    WithLine([this, f](auto line) {
      Vectorised([line, f, start = &walk_] {
        LineWalk walk = *start;
        int64_t at = 0;
        do {
          f(line, walk.x(), walk.y(), at);
          at += line.size;
        } while (walk.Next());
      });
    });
  }

  // Calls one(line, place, at) with each line whose elements go to one place of the gradient, which
  // is where they begin in x and y; or four(line, places, at) with four that go to the same.
  template <typename Place, typename One, typename Four>
  void ForEachFewLines(Place place, One one, Four four) const {
    WithLine([=](auto line) {
      Vectorised([=, start = &walk_] {
        LineWalk walk = *start;
        int64_t at = 0;
        for (bool has_more = true; has_more;) {
          Begin lines[4];
          int count = 0;
          do {
            lines[count++] = {walk.x(), walk.y()};
            has_more = walk.Next();
          } while (has_more && count < 4 &&
                   place.Start(walk.x(), walk.y()) == place.Start(lines[0].x, lines[0].y));
          if (count == 4) {
            four(line, lines, at);
          } else {
            for (int i = 0; i < count; ++i) one(line, lines[i], at + i * line.size);
          }
          at += count * line.size;
        }
      });
    });
  }

  template <typename Derivative, typename Place>
  void Differentiate(absl::Span<const float> x_span, absl::Span<const float> y_span,
                     absl::Span<const float> dout_span, absl::Span<float> gradient_span,
                     Derivative derivative, Place place) {
    const float* const x = x_span.data();
    const float* const y = y_span.data();
    const float* const dout = dout_span.data();
    float* const gradient = gradient_span.data();
    const int64_t size = static_cast<int64_t>(gradient_span.size());
    if (size == broadcast_.out_size()) {
      ForEachLine([=](auto line, int64_t x_at, int64_t y_at, int64_t at) {
#pragma GCC ivdep  // gradient may be dout
        for (int64_t i = 0; i < line.size; ++i) {
          gradient[at + i] = dout[at + i] * derivative(x[x_at + line.X(i)], y[y_at + line.Y(i)]);
        }
      });
      return;
    }
    double* const sums = sums_.data();
    std::fill_n(sums, size, 0.0);
    const auto term_of = [=](auto line, Begin begin, int64_t at) {
      return [=](int64_t i) {
        return static_cast<double>(dout[at + i] *
                                   derivative(x[begin.x + line.X(i)], y[begin.y + line.Y(i)]));
      };
    };
    ForEachFewLines(
        place,
        [=](auto line, Begin begin, int64_t at) {
          double* const here = sums + place.Start(begin.x, begin.y);
          const auto term = term_of(line, begin, at);
          if (place(line, 1) == 0) {
            *here += LaneSum(line.size, term);
            return;
          }
#pragma GCC ivdep
          for (int64_t i = 0; i < line.size; ++i) here[i] += term(i);
        },
        [=](auto line, const Begin* begins, int64_t at) {
          double* const here = sums + place.Start(begins[0].x, begins[0].y);
          const auto a = term_of(line, begins[0], at);
          const auto b = term_of(line, begins[1], at + line.size);
          const auto c = term_of(line, begins[2], at + 2 * line.size);
          const auto d = term_of(line, begins[3], at + 3 * line.size);
          if (place(line, 1) == 0) {
            *here += LaneSum(line.size, [=](int64_t i) { return (a(i) + b(i)) + (c(i) + d(i)); });
            return;
          }
#pragma GCC ivdep
          for (int64_t i = 0; i < line.size; ++i) here[i] += (a(i) + b(i)) + (c(i) + d(i));
        });
    Vectorised([=] {
      for (int64_t i = 0; i < size; ++i) gradient[i] = static_cast<float>(sums[i]);
    });
  }

  const Broadcast broadcast_;
  const LineWalk walk_;
  std::vector<double> sums_;
};

template <typename Op>
std::unique_ptr<Elementwise> Make(Broadcast broadcast) {
  return std::make_unique<PlannedElementwise<Op>>(std::move(broadcast));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Elementwise>> Elementwise::Plan(Arithmetic op,
                                                               const ElementwiseShape& shape) {
  ASSIGN_OR_RETURN(Broadcast broadcast, BroadcastOf(shape));
  switch (op) {
    case Arithmetic::kAdd:
      return Make<Add>(std::move(broadcast));
    case Arithmetic::kSub:
      return Make<Sub>(std::move(broadcast));
    case Arithmetic::kMul:
      return Make<Mul>(std::move(broadcast));
    case Arithmetic::kDiv:
      return Make<Div>(std::move(broadcast));
    case Arithmetic::kMax:
      return Make<Max>(std::move(broadcast));
    case Arithmetic::kMin:
      return Make<Min>(std::move(broadcast));
    case Arithmetic::kPow:
      return Make<Pow>(std::move(broadcast));
  }
  LOG(FATAL) << "an op that is none";
}

}  // namespace fixpoint::kernels
