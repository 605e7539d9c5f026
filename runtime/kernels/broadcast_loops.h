// Loops over two tensors that repeat along dimensions of 1, and sums over what was repeated.

#ifndef FIXPOINT_RUNTIME_KERNELS_BROADCAST_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_BROADCAST_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "runtime/kernels/element_loop.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

// Where a line of the result begins, and the elements of x and y that it is computed from.
struct LineBegin {
  int64_t x;
  int64_t y;
  int64_t out;
};

// The form of all lines: x and y advance along them, or one repeats an element.
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

// Names the tensor whose elements are sums over the elements of the result that they were repeated
// for.
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

  // How the tensor that Place names repeats in the result; nothing: in no such way.
  template <typename Place>
  std::optional<Repetition> RepetitionOf(Place) const {
    Repetition repetition;
    size_t i = levels_.size();
    for (; i > 0 && Place::Stride(levels_[i - 1]) == 0; --i) {
      repetition.inner *= levels_[i - 1].size;
    }
    for (; i > 0 && Place::Stride(levels_[i - 1]) != 0; --i) {
      repetition.count *= levels_[i - 1].size;
    }
    for (; i > 0; --i) {
      if (Place::Stride(levels_[i - 1]) != 0) return std::nullopt;
    }
    return repetition;
  }

  // How FoldInto combines terms into that tensor; nothing: not as any Folding does, or it is as
  // large as the result.
  template <typename Place>
  std::optional<Folding> FoldingOf(Place place, Folding::How how, double factor = 1) const {
    const std::optional<Repetition> repetition = RepetitionOf(place);
    if (!repetition || repetition->inner == 1) return std::nullopt;
    if (repetition->count * repetition->inner != out_size_) return std::nullopt;
    return Folding{how, repetition->count, factor};
  }

  // Calls f(line, begin) with each line of the result, or with parts of it, as ParallelFor.
  template <typename F>
  void ForEachLine(F f) const {
    const auto is_any = [](const Level&) { return true; };
    ForEachPart(is_any, [f](auto line, Walk* walk) {
      do {
        f(line, walk->begin());
      } while (walk->Next());
    });
  }

  // Combines into each element of `folded`, which has the size of the tensor that Place names, the
  // terms that belong to it: term_of(line, begin)(i) is the term of element i of a line.
  // kReadsPlace: terms read that tensor too; if not, the terms of neighbouring lines form one
  // longer line.
  template <bool kReadsPlace, typename Place, typename How, typename TermOf>
  void FoldInto(double* folded, Place, How, TermOf term_of) const {
    if constexpr (!kReadsPlace) {
      if (HasShortLines<Place>()) return FoldShortLines<How>(folded, term_of);
    }
    const auto is_kept = [](const Level& level) { return Place::Stride(level) != 0; };
    if (std::none_of(levels_.begin(), levels_.end(), is_kept)) {
      // Neighbouring levels along which x, or y, advances were merged, so this is one line.
      return WithLine([=](auto line) {
        const auto term = term_of(line, LineBegin{0, 0, 0});
        *folded = How::Combine(*folded, ParallelFold<How>(line.size, kBytesOfElement, term));
      });
    }
    // Threads write different places.
    ForEachPart(is_kept, [=, lines_of_place = LinesOfPlace<Place>()](auto line, Walk* walk) {
      int64_t left = lines_of_place;
      for (bool has_more = true; has_more;) {
        // Up to four lines are folded in one pass over their place.
        LineBegin begins[4];
        const int count = static_cast<int>(std::min<int64_t>(4, left));
        for (int i = 0; i < count; ++i) {
          begins[i] = walk->begin();
          has_more = walk->Next();
        }
        left = left > count ? left - count : lines_of_place;
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
  }

 private:
  // Neighbouring dimensions along which both tensors advance, or one repeats; its stride is then 0.
  struct Level {
    int64_t size;
    int64_t x_stride;
    int64_t y_stride;
    int64_t out_stride;
  };
  // No tensor of the reference has more dimensions, so copying these allocates nothing.
  using Levels = absl::InlinedVector<Level, 9>;

  // Walks over the lines, each of which is the innermost level.
  class Walk {
   public:
    Walk(const Levels& levels, LineBegin begin)
        : levels_(levels),
          next_(levels.size() > 1 ? levels[levels.size() - 2] : Level{1, 0, 0, 0}),
          lines_left_(next_.size),
          index_(levels.size(), 0),
          begin_(begin) {}

    LineBegin begin() const { return begin_; }

    // False after the last line.
    bool Next() {
      Move(next_, 1);
      return --lines_left_ > 0 || NextOfOuterLevels();
    }

   private:
    bool NextOfOuterLevels() {
      lines_left_ = next_.size;
      Move(next_, -next_.size);
      for (int i = static_cast<int>(levels_.size()) - 3; i >= 0; --i) {
        const Level& level = levels_[i];
        Move(level, 1);
        if (++index_[i] < level.size) return true;
        index_[i] = 0;
        Move(level, -level.size);
      }
      return false;
    }

    void Move(const Level& level, int64_t places) {
      begin_.x += level.x_stride * places;
      begin_.y += level.y_stride * places;
      begin_.out += level.out_stride * places;
    }

    const Levels& levels_;
    const Level next_;  // the level around the lines
    int64_t lines_left_;
    absl::InlinedVector<int64_t, 9> index_;
    LineBegin begin_;
  };

  // The bytes of x, y and the result.
  static constexpr int64_t kBytesOfElement = 12;

  // Calls run(line, walk) with parts of all lines, as ParallelFor. The parts split one of the
  // levels that `may_share` holds for: the outermost long one, or else the longest.
  template <typename MayShare, typename Run>
  void ForEachPart(MayShare may_share, Run run) const {
    constexpr int64_t kLongLevel = 16;
    int shared = -1;
    for (int i = 0; i < static_cast<int>(levels_.size()); ++i) {
      if (!may_share(levels_[i])) continue;
      if (shared < 0 || levels_[i].size > levels_[shared].size) shared = i;
      if (levels_[shared].size >= kLongLevel) break;
    }
    const int64_t size = levels_[shared].size;
    WithLine([=](auto line_of_all) {
      ParallelFor(size, kBytesOfElement * out_size_ / size, [=](int64_t begin, int64_t end) {
        const Part part = PartOf(shared, begin, end);
        const decltype(line_of_all) line = {part.levels.back().size};
        Walk walk(part.levels, part.begin);
        run(line, &walk);
      });
    });
  }

  // The places of one level from `begin` to `end`, with all places of the other levels.
  struct Part {
    Levels levels;
    LineBegin begin;
  };
  Part PartOf(int level, int64_t begin, int64_t end) const;

  // How many consecutive lines belong to one place. Each part folds them in groups of this size,
  // even where a part has so few places that more lines follow each other, so that the order of
  // folding does not change.
  template <typename Place>
  int64_t LinesOfPlace() const {
    int64_t lines = 1;
    for (int i = static_cast<int>(levels_.size()) - 2; i >= 0 && Place::Stride(levels_[i]) == 0;
         --i) {
      lines *= levels_[i].size;
    }
    return lines;
  }

  static constexpr int64_t kShortLine = 32;
  static constexpr int64_t kLinesInOne = 16;

  // Whether all lines are folded into one that is too short for a pass of its own.
  template <typename Place>
  bool HasShortLines() const {
    return levels_.size() == 2 && Place::Stride(levels_[0]) == 0 &&
           Place::Stride(levels_[1]) != 0 && levels_[1].size < kShortLine;
  }

  template <typename How, typename TermOf>
  void FoldShortLines(double* folded, TermOf term_of) const {
    WithLine([=, lines = levels_.front().size](auto line) {
      const int64_t pieces = PiecesOf(out_size_);
      double of_pieces[kMostPieces * kShortLine];
      ParallelFor(pieces, kBytesOfElement * out_size_ / pieces,
                  [=, of_pieces = &of_pieces[0]](int64_t first, int64_t end) {
                    const auto term = term_of(line, LineBegin{0, 0, 0});
                    for (int64_t piece = first; piece < end; ++piece) {
                      FoldPiece<How>(lines * piece / pieces, lines * (piece + 1) / pieces,
                                     line.size, term, of_pieces + piece * line.size);
                    }
                  });
      for (int64_t i = 0; i < pieces * line.size; ++i) {
        folded[i % line.size] = How::Combine(folded[i % line.size], of_pieces[i]);
      }
    });
  }

  // Folds the lines from `begin` to `end`: first several lines as one wide line, then the parts of
  // that.
  template <typename How, typename Term>
  static void FoldPiece(int64_t begin, int64_t end, int64_t size, Term term, double* folded) {
    const int64_t wide = kLinesInOne * size;
    const int64_t wide_lines = (end - begin) / kLinesInOne;
    double parts[kLinesInOne * kShortLine];
    for (int64_t i = 0; i < wide; ++i) parts[i] = How::kNothing;
    // Blocks of this many wide lines stay in the first-level cache while their columns are summed.
    constexpr int64_t kBlock = 16;
    for (int64_t first = 0; first < wide_lines; first += kBlock) {
      const int64_t block_begin = begin * size + first * wide;
      const int64_t block_end = begin * size + std::min(wide_lines, first + kBlock) * wide;
      for (int64_t i = 0; i < wide; i += kLinesInOne) {
        double lanes[kLinesInOne];
        for (int lane = 0; lane < kLinesInOne; ++lane) lanes[lane] = parts[i + lane];
        for (int64_t at = block_begin + i; at < block_end; at += wide) {
          for (int lane = 0; lane < kLinesInOne; ++lane) {
            lanes[lane] = How::Combine(lanes[lane], static_cast<double>(term(at + lane)));
          }
        }
        for (int lane = 0; lane < kLinesInOne; ++lane) parts[i + lane] = lanes[lane];
      }
    }
    for (int64_t at = begin * size + wide_lines * wide; at < end * size; at += size) {
      for (int64_t i = 0; i < size; ++i) {
        parts[i] = How::Combine(parts[i], static_cast<double>(term(at + i)));
      }
    }
    for (int64_t half = wide / 2; half >= size; half /= 2) {
      for (int64_t i = 0; i < half; ++i) parts[i] = How::Combine(parts[i], parts[i + half]);
    }
    for (int64_t i = 0; i < size; ++i) folded[i] = parts[i];
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
