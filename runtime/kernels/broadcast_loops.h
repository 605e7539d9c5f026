// Loops over two tensors that repeat along dimensions of 1, and the sums of what was repeated.

#ifndef FIXPOINT_RUNTIME_KERNELS_BROADCAST_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_BROADCAST_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

// Where a line of the result begins in it, and what it is made of in x and y.
struct LineBegin {
  int64_t x;
  int64_t y;
  int64_t out;
};

// The form of all lines: x and y go on along them, or one repeats an element.
struct LineOfBoth {
  int64_t size;
  static int64_t X(int64_t i) { return i; }
  static int64_t Y(int64_t i) { return i; }
};
struct LineOfX {
  int64_t size;
  static int64_t X(int64_t i) { return i; }
  static int64_t Y(int64_t) { return 0; }
};
struct LineOfY {
  int64_t size;
  static int64_t X(int64_t) { return 0; }
  static int64_t Y(int64_t i) { return i; }
};

// The tensor of which each element is the sum of what belongs to it.
struct PlaceInX {
  static int64_t Begin(LineBegin begin) { return begin.x; }
  template <typename Level>
  static int64_t Stride(const Level& level) {
    return level.x_stride;
  }
  template <typename Line>
  static constexpr bool GoesOn(const Line& line) {
    return line.X(1) == 1;
  }
};
struct PlaceInY {
  static int64_t Begin(LineBegin begin) { return begin.y; }
  template <typename Level>
  static int64_t Stride(const Level& level) {
    return level.y_stride;
  }
  template <typename Line>
  static constexpr bool GoesOn(const Line& line) {
    return line.Y(1) == 1;
  }
};

class BroadcastLoops {
 public:
  // REQUIRES: one rank, with dimensions that are equal or 1.
  BroadcastLoops(DimsView x, DimsView y);

  int64_t x_size() const { return x_size_; }
  int64_t y_size() const { return y_size_; }
  int64_t out_size() const { return out_size_; }

  // Calls f(line, begin) with each line of the result, in order.
  template <typename F>
  void ForEachLine(F f) const {
    WithLine([this, f](auto line) {
      Vectorised([line, f, levels = levels_] {
        Walk walk(levels);
        do {
          f(line, walk.begin());
        } while (walk.Next());
      });
    });
  }

  // Combines into each element of `folded`, which has the size of the tensor that Place names, what
  // belongs to it: term_of(line, begin)(i) is the term of element i of a line.
  // kReadsPlace: terms are made of that tensor too; else those of neighbouring lines go on.
  template <bool kReadsPlace, typename Place, typename How, typename TermOf>
  void FoldInto(double* folded, Place, How, TermOf term_of) const {
    if constexpr (!kReadsPlace) {
      if (HasShortLines<Place>()) return FoldShortLines<How>(folded, term_of);
    }
    WithLine([=](auto line) {
      Vectorised([=, levels = levels_] {
        Walk walk(levels);
        for (bool has_more = true; has_more;) {
          // Lines for one place, up to four of which are folded in one pass over it.
          LineBegin begins[4];
          int count = 0;
          do {
            begins[count++] = walk.begin();
            has_more = walk.Next();
          } while (has_more && count < 4 && Place::Begin(walk.begin()) == Place::Begin(begins[0]));
          double* const to = folded + Place::Begin(begins[0]);
          if (count == 4) {
            const auto a = term_of(line, begins[0]);
            const auto b = term_of(line, begins[1]);
            const auto c = term_of(line, begins[2]);
            const auto d = term_of(line, begins[3]);
            Fold<Place, How>(line, to, [=](int64_t i) {
              return How::Combine(How::Combine(a(i), b(i)), How::Combine(c(i), d(i)));
            });
          } else {
            for (int i = 0; i < count; ++i) {
              Fold<Place, How>(line, to, term_of(line, begins[i]));
            }
          }
        }
      });
    });
  }

 private:
  // Neighbouring dimensions along which both tensors go on, or one repeats. Strides are 0 where it
  // does.
  struct Level {
    int64_t size;
    int64_t x_stride;
    int64_t y_stride;
  };
  // No tensor of the reference has more dimensions; as many are copied without an allocation.
  using Levels = absl::InlinedVector<Level, 9>;

  // Goes over the lines, each of which is the innermost level.
  class Walk {
   public:
    explicit Walk(const Levels& levels)
        : levels_(levels),
          line_size_(levels.back().size),
          next_(levels.size() > 1 ? levels[levels.size() - 2] : Level{1, 0, 0}),
          lines_left_(next_.size),
          index_(levels.size(), 0) {}

    LineBegin begin() const { return begin_; }

    // False behind the last line.
    bool Next() {
      begin_.out += line_size_;
      begin_.x += next_.x_stride;
      begin_.y += next_.y_stride;
      return --lines_left_ > 0 || NextOfOuterLevels();
    }

   private:
    bool NextOfOuterLevels() {
      lines_left_ = next_.size;
      begin_.x -= next_.x_stride * next_.size;
      begin_.y -= next_.y_stride * next_.size;
      for (int i = static_cast<int>(levels_.size()) - 3; i >= 0; --i) {
        const Level& level = levels_[i];
        begin_.x += level.x_stride;
        begin_.y += level.y_stride;
        if (++index_[i] < level.size) return true;
        index_[i] = 0;
        begin_.x -= level.x_stride * level.size;
        begin_.y -= level.y_stride * level.size;
      }
      return false;
    }

    const Levels& levels_;
    const int64_t line_size_;
    const Level next_;  // the level around the lines
    int64_t lines_left_;
    absl::InlinedVector<int64_t, 9> index_;
    LineBegin begin_ = {0, 0, 0};
  };

  static constexpr int64_t kShortLine = 32;
  static constexpr int64_t kLinesInOne = 16;

  // Whether all lines are folded into one that is shorter than what is worth a pass.
  template <typename Place>
  bool HasShortLines() const {
    return levels_.size() == 2 && Place::Stride(levels_[0]) == 0 &&
           Place::Stride(levels_[1]) != 0 && levels_[1].size < kShortLine;
  }

  // Folds several lines as one, and then the parts of that.
  template <typename How, typename TermOf>
  void FoldShortLines(double* folded, TermOf term_of) const {
    WithLine([=](auto line) {
      Vectorised([=, lines = levels_.front().size] {
        const int64_t size = line.size;
        const int64_t wide = kLinesInOne * size;
        const int64_t wide_lines = lines / kLinesInOne;
        const auto term = term_of(line, LineBegin{0, 0, 0});
        double parts[kLinesInOne * kShortLine];
        for (int64_t i = 0; i < wide; ++i) parts[i] = How::kNothing;
        // Pieces that stay in the first cache while their columns are added up one by one.
        constexpr int64_t kPiece = 16;
        for (int64_t first = 0; first < wide_lines; first += kPiece) {
          const int64_t end = std::min(wide_lines, first + kPiece);
          for (int64_t i = 0; i < wide; i += kLinesInOne) {
            double lanes[kLinesInOne];
            for (int lane = 0; lane < kLinesInOne; ++lane) lanes[lane] = parts[i + lane];
            for (int64_t at = first * wide + i; at < end * wide; at += wide) {
              for (int lane = 0; lane < kLinesInOne; ++lane) {
                lanes[lane] = How::Combine(lanes[lane], static_cast<double>(term(at + lane)));
              }
            }
            for (int lane = 0; lane < kLinesInOne; ++lane) parts[i + lane] = lanes[lane];
          }
        }
        for (int64_t at = wide_lines * wide; at < lines * size; at += size) {
          for (int64_t i = 0; i < size; ++i) {
            parts[i] = How::Combine(parts[i], static_cast<double>(term(at + i)));
          }
        }
        for (int64_t half = wide / 2; half >= size; half /= 2) {
          for (int64_t i = 0; i < half; ++i) parts[i] = How::Combine(parts[i], parts[i + half]);
        }
        for (int64_t i = 0; i < size; ++i) folded[i] = How::Combine(folded[i], parts[i]);
      });
    });
  }

  template <typename Place, typename How, typename Line, typename Term>
  static void Fold(Line line, double* to, Term term) {
    if (Place::GoesOn(line)) {
#pragma GCC ivdep
      for (int64_t i = 0; i < line.size; ++i) {
        to[i] = How::Combine(to[i], static_cast<double>(term(i)));
      }
    } else {
      *to = How::Combine(*to, LaneFold<How>(line.size, term));
    }
  }

  // Calls f(line) with the form of all lines.
  template <typename F>
  void WithLine(F f) const {
    const Level& inner = levels_.back();
    if (inner.x_stride != 0 && inner.y_stride != 0) {
      f(LineOfBoth{inner.size});
    } else if (inner.x_stride != 0) {
      f(LineOfX{inner.size});
    } else {
      f(LineOfY{inner.size});
    }
  }

  Levels levels_;  // outermost first, one or more
  int64_t x_size_ = 1;
  int64_t y_size_ = 1;
  int64_t out_size_ = 1;
};

// Two tensors by the rule of ElementwiseShape (elementwise.h). Errors (kInvalidArgument): the dims
// do not broadcast; those of CheckExtents (extents.h).
struct Broadcast {
  Dims out_dims;
  BroadcastLoops loops;
};
absl::StatusOr<Broadcast> BroadcastOf(DimsView x, DimsView y, int64_t axis);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BROADCAST_LOOPS_H_
