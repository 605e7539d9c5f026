// The best boxes of each class of an image, without those that overlap a better one. A score that
// is not a number is above no threshold.

#ifndef FIXPOINT_RUNTIME_BOXES_SUPPRESSION_H_
#define FIXPOINT_RUNTIME_BOXES_SUPPRESSION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/boxes/box.h"

namespace fixpoint::boxes {

// Boxes of 4 numbers and their scores, each a constant distance from the next.
template <typename T>
struct ScoredBoxes {
  const T* boxes;
  int64_t box_stride;
  const T* scores;
  int64_t score_stride;
  int64_t count;

  const T* Box(int64_t i) const { return boxes + i * box_stride; }
  T Score(int64_t i) const { return scores[i * score_stride]; }
};

struct Kept {
  int64_t label;
  int64_t index;  // of the box in its class
};

struct SuppressionLimits {
  int64_t background = 0;  // the class that is left out; -1: none
  double score_threshold = 0;
  int64_t of_class = -1;  // how many candidates a class has at most; -1: all
  int64_t of_image = -1;  // how many boxes are kept at most; -1: all
  Corners corners = Corners::kPlaces;

  // The most boxes that are kept of images with so many boxes of each of so many classes, with no
  // overflow.
  int64_t MostOf(int64_t images, int64_t classes, int64_t boxes) const;
};

struct GreedySuppression {
  SuppressionLimits limits;
  double overlap_threshold = 0.3;
  double eta = 1;  // lowers the threshold, while it is above 0.5, with each box that is kept
};

// The indices of the boxes whose scores are above the threshold, the largest first, at most `most`
// (-1: all). Equal ones stay in order.
template <typename T>
std::vector<int64_t> Candidates(const ScoredBoxes<T>& boxes, T threshold, int64_t most);

// The boxes of `candidates`, best first, that overlap none of the better ones by more than
// `threshold`.
template <typename T>
std::vector<int64_t> KeepApart(const ScoredBoxes<T>& boxes, absl::Span<const int64_t> candidates,
                               T threshold, T eta, Corners corners);

enum class KeptOrder { kByScore, kByIndex };  // within a class

// What is kept of an image's classes: by class, in that order.
template <typename T>
std::vector<Kept> Suppress(absl::Span<const ScoredBoxes<T>> classes,
                           const GreedySuppression& suppression, KeptOrder order);

// Boxes with scores of classes, which suppression may change. Box i is that of all classes.
template <typename T>
struct MutableBoxes {
  absl::Span<T> boxes;   // [count, 4]
  absl::Span<T> scores;  // [classes, count]
  int64_t classes;
  int64_t count;
};

// The same after each box that overlaps the one before it was merged with that, class after class:
// their mean by scores takes the place of the one before, with the sum of the scores, and is
// compared with the next.
template <typename T>
std::vector<Kept> MergeAndSuppress(const MutableBoxes<T>& boxes,
                                   const GreedySuppression& suppression);

// Scores are lowered by what overlaps the box, and none is suppressed by one box alone.
struct MatrixSuppression {
  SuppressionLimits limits;
  double post_threshold = 0;
  bool is_gaussian = false;
  double sigma = 2;
};

template <typename T>
struct Decayed {
  Kept kept;
  T score;
};

// What is kept of an image's classes: the best first.
template <typename T>
std::vector<Decayed<T>> SuppressByMatrix(absl::Span<const ScoredBoxes<T>> classes,
                                         const MatrixSuppression& suppression);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_SUPPRESSION_H_
