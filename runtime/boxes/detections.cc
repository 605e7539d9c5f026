#include "runtime/boxes/detections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/boxes/box_coding.h"

namespace fixpoint::boxes {
namespace {

// Boxes of a class in an image, with their scores.
template <typename T>
struct Decoded {
  std::vector<T> boxes;
  std::vector<T> scores;

  ScoredBoxes<T> Scored() const {
    return {boxes.data(), 4, scores.data(), 1, static_cast<int64_t>(scores.size())};
  }
};

template <typename T>
void Decode(const DetectionLevel<T>& level, int64_t i, const T* info, T* box) {
  const T scale = info[2];
  DecodeBox(level.offsets.data() + i * 4, level.anchors.data() + i * 4,
            ExtraOf<T>(Corners::kPixels), box);
  for (int k = 0; k < 4; ++k) {
    const T size = std::round(info[k % 2 == 0 ? 1 : 0] / scale);
    box[k] = std::max(std::min(box[k] / scale, size - 1), T(0));
  }
}

}  // namespace

GreedySuppression DetectionLimitsOf(const OpAttributes& op) {
  SuppressionLimits limits;
  limits.background = -1;
  limits.score_threshold = op.Float("score_threshold");
  limits.of_class = op.Int("nms_top_k");
  limits.of_image = op.Int("keep_top_k");
  limits.corners = Corners::kPixels;
  return {limits, op.Float("nms_threshold"), op.Float("nms_eta")};
}

template <typename T>
void AddDetections(const GreedySuppression& suppression, int64_t classes,
                   absl::Span<const DetectionLevel<T>> levels, const T* info, KeptRows<T>* all) {
  const SuppressionLimits& limits = suppression.limits;
  std::vector<Decoded<T>> decoded(classes);
  for (size_t i = 0; i < levels.size(); ++i) {
    const DetectionLevel<T>& level = levels[i];
    const ScoredBoxes<T> scores{nullptr, 0, level.scores.data(), 1,
                                static_cast<int64_t>(level.scores.size())};
    const T threshold = i + 1 < levels.size() ? static_cast<T>(limits.score_threshold) : T(0);
    for (const int64_t candidate : Candidates(scores, threshold, limits.of_class)) {
      T box[4];
      Decode(level, candidate / classes, info, box);
      Decoded<T>& of_class = decoded[candidate % classes];
      of_class.boxes.insert(of_class.boxes.end(), box, box + 4);
      of_class.scores.push_back(level.scores[candidate]);
    }
  }
  std::vector<Kept> kept;
  for (int64_t label = 0; label < classes; ++label) {
    const ScoredBoxes<T> boxes = decoded[label].Scored();
    const std::vector<int64_t> candidates =
        Candidates(boxes, -std::numeric_limits<T>::infinity(), /*most=*/-1);
    for (const int64_t index :
         KeepApart<T>(boxes, candidates, static_cast<T>(suppression.overlap_threshold),
                      static_cast<T>(suppression.eta), limits.corners)) {
      kept.push_back({label, index});
    }
  }
  const auto score_of = [&](const Kept& one) { return decoded[one.label].scores[one.index]; };
  std::stable_sort(kept.begin(), kept.end(),
                   [&](const Kept& a, const Kept& b) { return score_of(a) > score_of(b); });
  if (limits.of_image >= 0 && limits.of_image < static_cast<int64_t>(kept.size())) {
    kept.resize(limits.of_image);
  }
  for (const Kept& one : kept) {
    all->Add({one.label + 1, one.index}, score_of(one),
             decoded[one.label].boxes.data() + one.index * 4, one.index);
  }
  all->EndImage();
}

template void AddDetections(const GreedySuppression&, int64_t,
                            absl::Span<const DetectionLevel<float>>, const float*,
                            KeptRows<float>*);
template void AddDetections(const GreedySuppression&, int64_t,
                            absl::Span<const DetectionLevel<double>>, const double*,
                            KeptRows<double>*);

}  // namespace fixpoint::boxes
