#include "runtime/boxes/suppression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace fixpoint::boxes {
namespace {

int64_t Product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t AtMost(int64_t count, int64_t limit) { return limit < 0 ? count : std::min(count, limit); }

// Boxes that were kept, each number in a row of its own, so that many are compared at once.
template <typename T>
class KeptBoxes {
 public:
  explicit KeptBoxes(Corners corners) : corners_(corners) {}

  void Add(const T* box) {
    for (int i = 0; i < 4; ++i) places_[i].push_back(box[i]);
    areas_.push_back(Area(box, corners_));
  }

  // Whether a box overlaps each of them by `threshold` at most, as Overlap computes it.
  bool AreApartFrom(const T* box, T threshold) const {
    const T area = Area(box, corners_);
    const auto count = static_cast<int64_t>(areas_.size());
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, count);
      if (CountFar(box, area, threshold, begin, end) < end - begin) return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kBlock = 32;

  int CountFar(const T* box, T area, T threshold, int64_t begin, int64_t end) const {
    const T left = box[0], top = box[1], right = box[2], bottom = box[3];
    const T extra = ExtraOf<T>(corners_);
    const T* const lefts = places_[0].data();
    const T* const tops = places_[1].data();
    const T* const rights = places_[2].data();
    const T* const bottoms = places_[3].data();
    const T* const areas = areas_.data();
    int far = 0;
    for (int64_t i = begin; i < end; ++i) {
      const T width = std::min(rights[i], right) - std::max(lefts[i], left) + extra;
      const T height = std::min(bottoms[i], bottom) - std::max(tops[i], top) + extra;
      const T common = width * height;
      const T overlap = common / (areas[i] + area - common);
      const bool touch =
          !((left > rights[i]) | (right < lefts[i]) | (top > bottoms[i]) | (bottom < tops[i]));
      far += (touch ? overlap : T(0)) <= threshold ? 1 : 0;
    }
    return far;
  }

  const Corners corners_;
  std::vector<T> places_[4];
  std::vector<T> areas_;
};

template <typename T>
T DecayOf(T overlap, T largest, const MatrixSuppression& suppression) {
  if (!suppression.is_gaussian) return (1 - overlap) / (1 - largest);
  return std::exp((largest * largest - overlap * overlap) * static_cast<T>(suppression.sigma));
}

// The candidates of a class with their lowered scores.
template <typename T>
void AddDecayed(const ScoredBoxes<T>& boxes, int64_t label, const MatrixSuppression& suppression,
                std::vector<Decayed<T>>* all) {
  const SuppressionLimits& limits = suppression.limits;
  const std::vector<int64_t> candidates =
      Candidates(boxes, static_cast<T>(limits.score_threshold), limits.of_class);
  std::vector<T> largest(candidates.size(), T(0));  // overlap with a better one
  std::vector<T> overlaps(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    T decay = 1;
    for (size_t j = 0; j < i; ++j) {
      overlaps[j] = Overlap(boxes.Box(candidates[i]), boxes.Box(candidates[j]), limits.corners);
      largest[i] = std::max(largest[i], overlaps[j]);
      decay = std::min(decay, DecayOf(overlaps[j], largest[j], suppression));
    }
    const T score = decay * boxes.Score(candidates[i]);
    if (score > static_cast<T>(suppression.post_threshold)) {
      all->push_back({{label, candidates[i]}, score});
    }
  }
}

// The boxes of a class that are kept, the best first.
template <typename T>
std::vector<int64_t> BestApart(const ScoredBoxes<T>& boxes, const GreedySuppression& suppression) {
  const SuppressionLimits& limits = suppression.limits;
  const std::vector<int64_t> candidates =
      Candidates(boxes, static_cast<T>(limits.score_threshold), limits.of_class);
  return KeepApart(boxes, absl::MakeConstSpan(candidates),
                   static_cast<T>(suppression.overlap_threshold), static_cast<T>(suppression.eta),
                   limits.corners);
}

// Leaves the best boxes of an image, by class.
template <typename T>
void KeepBest(absl::Span<const ScoredBoxes<T>> classes, const SuppressionLimits& limits,
              KeptOrder order, std::vector<Kept>* kept) {
  if (limits.of_image < 0 || limits.of_image >= static_cast<int64_t>(kept->size())) return;
  std::stable_sort(kept->begin(), kept->end(), [&](const Kept& a, const Kept& b) {
    return classes[a.label].Score(a.index) > classes[b.label].Score(b.index);
  });
  kept->resize(limits.of_image);
  std::stable_sort(kept->begin(), kept->end(), [order](const Kept& a, const Kept& b) {
    if (a.label != b.label) return a.label < b.label;
    return order == KeptOrder::kByIndex && a.index < b.index;
  });
}

// The score of a box that was merged with another is no number.
template <typename T>
void Merge(T* boxes, T* scores, int64_t count, const GreedySuppression& suppression) {
  int64_t last = 0;
  for (int64_t i = 1; i < count; ++i) {
    T* const box = boxes + i * 4;
    T* const before = boxes + last * 4;
    if (!(Overlap(box, before, suppression.limits.corners) >
          static_cast<T>(suppression.overlap_threshold))) {
      last = i;
      continue;
    }
    const T sum = scores[i] + scores[last];
    for (int k = 0; k < 4; ++k) before[k] = (box[k] * scores[i] + before[k] * scores[last]) / sum;
    scores[last] = sum;
    scores[i] = std::numeric_limits<T>::quiet_NaN();
  }
}

}  // namespace

int64_t SuppressionLimits::MostOf(int64_t images, int64_t classes, int64_t boxes) const {
  const bool leaves_one_out = background >= 0 && background < classes;
  const int64_t of_one =
      AtMost(Product(leaves_one_out ? classes - 1 : classes, AtMost(boxes, of_class)), of_image);
  return Product(images, of_one);
}

template <typename T>
std::vector<int64_t> Candidates(const ScoredBoxes<T>& boxes, T threshold, int64_t most) {
  std::vector<std::pair<T, int64_t>> scores;
  for (int64_t i = 0; i < boxes.count; ++i) {
    if (boxes.Score(i) > threshold) scores.push_back({boxes.Score(i), i});
  }
  const auto is_better = [](const std::pair<T, int64_t>& a, const std::pair<T, int64_t>& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  };
  const int64_t count = AtMost(static_cast<int64_t>(scores.size()), most);
  std::nth_element(scores.begin(), scores.begin() + count, scores.end(), is_better);
  std::sort(scores.begin(), scores.begin() + count, is_better);
  std::vector<int64_t> candidates(count);
  for (int64_t i = 0; i < count; ++i) candidates[i] = scores[i].second;
  return candidates;
}

template <typename T>
std::vector<int64_t> KeepApart(const ScoredBoxes<T>& boxes, absl::Span<const int64_t> candidates,
                               T threshold, T eta, Corners corners) {
  std::vector<int64_t> kept;
  KeptBoxes<T> better(corners);
  for (const int64_t i : candidates) {
    if (!better.AreApartFrom(boxes.Box(i), threshold)) continue;
    kept.push_back(i);
    better.Add(boxes.Box(i));
    if (eta < 1 && threshold > T(0.5)) threshold *= eta;
  }
  return kept;
}

template <typename T>
std::vector<Kept> Suppress(absl::Span<const ScoredBoxes<T>> classes,
                           const GreedySuppression& suppression, KeptOrder order) {
  const SuppressionLimits& limits = suppression.limits;
  std::vector<Kept> kept;
  for (int64_t label = 0; label < static_cast<int64_t>(classes.size()); ++label) {
    if (label == limits.background) continue;
    std::vector<int64_t> indices = BestApart(classes[label], suppression);
    if (order == KeptOrder::kByIndex) std::sort(indices.begin(), indices.end());
    for (const int64_t index : indices) kept.push_back({label, index});
  }
  KeepBest(classes, limits, order, &kept);
  return kept;
}

template <typename T>
std::vector<Kept> MergeAndSuppress(const MutableBoxes<T>& boxes,
                                   const GreedySuppression& suppression) {
  const SuppressionLimits& limits = suppression.limits;
  std::vector<ScoredBoxes<T>> classes;
  std::vector<Kept> kept;
  for (int64_t label = 0; label < boxes.classes; ++label) {
    T* const scores = boxes.scores.data() + label * boxes.count;
    classes.push_back({boxes.boxes.data(), 4, scores, 1, boxes.count});
    if (label == limits.background) continue;
    Merge(boxes.boxes.data(), scores, boxes.count, suppression);
    for (const int64_t index : BestApart(classes[label], suppression)) {
      kept.push_back({label, index});
    }
  }
  KeepBest<T>(classes, limits, KeptOrder::kByScore, &kept);
  return kept;
}

template <typename T>
std::vector<Decayed<T>> SuppressByMatrix(absl::Span<const ScoredBoxes<T>> classes,
                                         const MatrixSuppression& suppression) {
  std::vector<Decayed<T>> all;
  for (int64_t label = 0; label < static_cast<int64_t>(classes.size()); ++label) {
    if (label == suppression.limits.background) continue;
    AddDecayed(classes[label], label, suppression, &all);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Decayed<T>& a, const Decayed<T>& b) { return a.score > b.score; });
  const int64_t most = suppression.limits.of_image;
  if (most >= 0 && most < static_cast<int64_t>(all.size())) all.resize(most);
  return all;
}

#define FIXPOINT_INSTANTIATE(T)                                                                   \
  template std::vector<int64_t> Candidates(const ScoredBoxes<T>&, T, int64_t);                    \
  template std::vector<int64_t> KeepApart(const ScoredBoxes<T>&, absl::Span<const int64_t>, T, T, \
                                          Corners);                                               \
  template std::vector<Kept> Suppress(absl::Span<const ScoredBoxes<T>>, const GreedySuppression&, \
                                      KeptOrder);                                                 \
  template std::vector<Kept> MergeAndSuppress(const MutableBoxes<T>&, const GreedySuppression&);  \
  template std::vector<Decayed<T>> SuppressByMatrix(absl::Span<const ScoredBoxes<T>>,             \
                                                    const MatrixSuppression&);
FIXPOINT_INSTANTIATE(float)
FIXPOINT_INSTANTIATE(double)
#undef FIXPOINT_INSTANTIATE

}  // namespace fixpoint::boxes
