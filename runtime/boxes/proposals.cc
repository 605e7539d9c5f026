#include "runtime/boxes/proposals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/boxes/box_coding.h"
#include "runtime/boxes/suppression.h"

namespace fixpoint::boxes {
namespace {

int64_t AtMost(int64_t count, int64_t limit) { return limit < 1 ? count : std::min(count, limit); }

// A strict weak order of any numbers: larger ones first, NaN last.
bool IsBetter(float a, float b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a > b;
}

// Cuts a box to the image.
void Clip(const ImageSize& image, float extra, float* box) {
  for (int i = 0; i < 4; ++i) {
    const float most = (i % 2 == 0 ? image.width : image.height) - extra;
    box[i] = std::max(std::min(box[i], most), 0.0f);
  }
}

bool IsLargeEnough(const Proposing& proposing, const ImageSize& image, const float* box) {
  const float extra = ExtraOf<float>(proposing.corners);
  const float width = box[2] - box[0] + extra;
  const float height = box[3] - box[1] + extra;
  const float smallest = std::max(proposing.smallest, 1.0f);
  const bool fits = proposing.has_scale ? (box[2] - box[0]) / image.scale + 1 >= smallest &&
                                              (box[3] - box[1]) / image.scale + 1 >= smallest
                                        : width >= smallest && height >= smallest;
  if (!fits || proposing.corners == Corners::kPlaces) return fits;
  return box[0] + width / 2 <= image.width && box[1] + height / 2 <= image.height;
}

}  // namespace

absl::StatusOr<Proposing> ProposingOf(const OpAttributes& op, DimsView scores, bool is_v1) {
  Proposing proposing;
  const absl::StatusOr<int64_t> size = ElementCount(scores);
  constexpr int64_t kMost = int64_t{1} << 40;
  const bool is_sane = scores.size() == 4 && size.ok() && *size <= kMost &&
                       std::all_of(scores.begin(), scores.end(),
                                   [](int64_t dim) { return dim >= 0 && dim <= kMost; });
  if (!is_sane) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scores is ", DimsText(scores), "; want [images, anchors, height, width]"));
  }
  proposing.anchors = scores[1];
  proposing.height = scores[2];
  proposing.width = scores[3];
  proposing.most_before = op.Int("pre_nms_topN");
  proposing.most_after = op.Int("post_nms_topN");
  proposing.overlap_threshold = static_cast<float>(op.Float("nms_thresh"));
  proposing.eta = static_cast<float>(op.Float("eta"));
  proposing.smallest = static_cast<float>(op.Float("min_size"));
  const bool has_pixels = is_v1 || op.Bool("pixel_offset");
  proposing.corners = has_pixels ? Corners::kPixels : Corners::kPlaces;
  proposing.has_scale = is_v1;
  proposing.is_never_empty = op.era() == Era::kPaddle2;
  if (proposing.overlap_threshold > 0) return proposing;
  return absl::UnimplementedError(
      absl::StrCat("nms_thresh is ", proposing.overlap_threshold, "; want above 0"));
}

int64_t Proposing::most() const {
  const int64_t all = AtMost(AtMost(count(), most_before), most_after);
  return is_never_empty ? std::max<int64_t>(all, 1) : all;
}

Proposals Propose(const Proposing& proposing, const ImageSize& image,
                  absl::Span<const float> scores, absl::Span<const float> offsets,
                  absl::Span<const float> anchors, absl::Span<const float> variances) {
  const int64_t plane = proposing.height * proposing.width;
  const float extra = ExtraOf<float>(proposing.corners);
  // By place, and then by anchor.
  std::vector<int64_t> order(proposing.count());
  std::iota(order.begin(), order.end(), 0);
  const auto score_of = [&](int64_t i) {
    return scores[i % proposing.anchors * plane + i / proposing.anchors];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return IsBetter(score_of(a), score_of(b)); });
  order.resize(AtMost(proposing.count(), proposing.most_before));

  Proposals all;
  for (const int64_t i : order) {
    const int64_t anchor = i % proposing.anchors;
    const int64_t place = i / proposing.anchors;
    static const float kMostLogarithm = std::log(1000.0f / 16.0f);
    float code[4];
    for (int k = 0; k < 4; ++k) {
      code[k] = variances[i * 4 + k] * offsets[(anchor * 4 + k) * plane + place];
      if (k >= 2) code[k] = std::min(code[k], kMostLogarithm);
    }
    float box[4];
    DecodeBox(code, anchors.data() + i * 4, extra, box);
    Clip(image, extra, box);
    if (!IsLargeEnough(proposing, image, box)) continue;
    all.boxes.insert(all.boxes.end(), box, box + 4);
    all.scores.push_back(score_of(i));
  }
  if (all.scores.empty()) {
    if (proposing.is_never_empty) {
      all.boxes.assign(4, 0);
      all.scores.assign(1, 0);
    }
    return all;
  }

  std::vector<int64_t> candidates(all.scores.size());
  std::iota(candidates.begin(), candidates.end(), 0);
  const ScoredBoxes<float> boxes{all.boxes.data(), 4, all.scores.data(), 1, all.size()};
  std::vector<int64_t> kept = KeepApart<float>(boxes, candidates, proposing.overlap_threshold,
                                               proposing.eta, proposing.corners);
  kept.resize(AtMost(static_cast<int64_t>(kept.size()), proposing.most_after));
  Proposals best;
  for (const int64_t i : kept) {
    best.boxes.insert(best.boxes.end(), all.boxes.begin() + i * 4, all.boxes.begin() + i * 4 + 4);
    best.scores.push_back(all.scores[i]);
  }
  return best;
}

int64_t Levels::Of(const float* box) const {
  const float side = std::sqrt(Area(box, corners));
  const float level = std::floor(std::log2(side / static_cast<float>(refer_scale) + 1e-6f) +
                                 static_cast<float>(refer_level));
  // What is no number is of the first level.
  if (!(level > static_cast<float>(least))) return 0;
  if (level >= static_cast<float>(most)) return count() - 1;
  return static_cast<int64_t>(level) - least;
}

absl::StatusOr<Levels> LevelsOf(const OpAttributes& op) {
  Levels levels{op.Int("min_level"), op.Int("max_level"), op.Int("refer_level"),
                op.Int("refer_scale")};
  // Releases before 2.0 count pixels.
  const bool has_pixels = op.era() == Era::kFluid || op.Bool("pixel_offset");
  levels.corners = has_pixels ? Corners::kPixels : Corners::kPlaces;
  constexpr int64_t kMostLevels = 64;
  if (levels.least < 0 || levels.most < levels.least || levels.most - levels.least >= kMostLevels ||
      levels.refer_scale < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_level is ", levels.least, ", max_level ", levels.most, " and refer_scale ",
        levels.refer_scale, "; want up to ", kMostLevels, " levels and a positive scale"));
  }
  return levels;
}

SpreadRegions Spread(const Levels& levels, absl::Span<const float> boxes,
                     absl::Span<const int64_t> images, int64_t image_count) {
  SpreadRegions spread;
  spread.rows.resize(levels.count());
  spread.counts.assign(levels.count(), std::vector<int64_t>(image_count, 0));
  spread.places.resize(images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const int64_t level = levels.Of(boxes.data() + i * 4);
    spread.rows[level].push_back(static_cast<int64_t>(i));
    ++spread.counts[level][images[i]];
  }
  int64_t place = 0;
  for (const std::vector<int64_t>& rows : spread.rows) {
    for (const int64_t row : rows) spread.places[row] = place++;
  }
  return spread;
}

std::vector<int64_t> BestOfAll(absl::Span<const float> scores, absl::Span<const int64_t> images,
                               int64_t most) {
  std::vector<int64_t> places(scores.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(),
                   [&](int64_t a, int64_t b) { return IsBetter(scores[a], scores[b]); });
  if (most < static_cast<int64_t>(places.size())) places.resize(most);
  std::stable_sort(places.begin(), places.end(),
                   [&](int64_t a, int64_t b) { return images[a] < images[b]; });
  return places;
}

}  // namespace fixpoint::boxes
