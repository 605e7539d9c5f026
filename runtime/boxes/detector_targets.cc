#include "runtime/boxes/detector_targets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/box.h"

namespace fixpoint::boxes {
namespace {

constexpr double kNear = 1e-5;  // between overlaps that count as equal

template <typename T>
T OverlapInPixels(const T* a, const T* b) {
  const T width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]) + 1, T(0));
  const T height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]) + 1, T(0));
  const T common = width * height;
  if (common == 0) return T(0);
  const T area_a = (a[2] - a[0] + 1) * (a[3] - a[1] + 1);
  const T area_b = (b[2] - b[0] + 1) * (b[3] - b[1] + 1);
  return common / (area_a + area_b - common);
}

// Where `box` is, relative to `from`.
template <typename T>
void AddOffsets(const T* from, const T* box, const std::vector<double>& weights,
                std::vector<T>* offsets) {
  const T width = from[2] - from[0] + 1;
  const T height = from[3] - from[1] + 1;
  const T box_width = box[2] - box[0] + 1;
  const T box_height = box[3] - box[1] + 1;
  const T values[] = {((box[0] + box_width / 2) - (from[0] + width / 2)) / width,
                      ((box[1] + box_height / 2) - (from[1] + height / 2)) / height,
                      std::log(box_width / width), std::log(box_height / height)};
  for (int k = 0; k < 4; ++k) {
    offsets->push_back(weights.empty() ? values[k] : values[k] / static_cast<T>(weights[k]));
  }
}

// The overlap of each of some boxes with each true one.
template <typename T>
struct Overlaps {
  std::vector<T> values;
  int64_t rows;
  int64_t columns;

  Overlaps(absl::Span<const T> boxes, absl::Span<const T> objects)
      : rows(static_cast<int64_t>(boxes.size()) / 4),
        columns(static_cast<int64_t>(objects.size()) / 4) {
    values.reserve(rows * columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        values.push_back(OverlapInPixels(boxes.data() + i * 4, objects.data() + j * 4));
      }
    }
  }
  T At(int64_t row, int64_t column) const { return values[row * columns + column]; }
  // The first of the largest; 0 if there is none.
  int64_t BestOfRow(int64_t row) const {
    const auto begin = values.begin() + row * columns;
    return columns == 0 ? 0 : std::max_element(begin, begin + columns) - begin;
  }
  T LargestOfRow(int64_t row, T of_none) const {
    return columns == 0 ? of_none : At(row, BestOfRow(row));
  }
  T LargestOfColumn(int64_t column) const {
    T largest = std::numeric_limits<T>::lowest();
    for (int64_t i = 0; i < rows; ++i) largest = std::max(largest, At(i, column));
    return largest;
  }
};

// How many of `most` examples show an object, at most. In float, as the reference counts them.
int64_t ObjectsOf(double part, int64_t most) {
  return static_cast<int64_t>(static_cast<float>(part) * static_cast<float>(most));
}

// Leaves at most `most`, some of all.
template <typename T>
void Sample(int64_t most, const DrawUniform& draw, std::vector<T>* all) {
  const auto count = static_cast<int64_t>(all->size());
  if (count <= most) return;
  for (int64_t i = most; draw && i < count; ++i) {
    const auto place = static_cast<int64_t>(draw() * static_cast<double>(i));
    if (place < most) std::swap((*all)[place], (*all)[i]);
  }
  all->resize(most);
}

// The anchors that do not reach too far beyond the image.
template <typename T>
std::vector<int64_t> AnchorsWithin(const AnchorTargeting& targeting, absl::Span<const T> anchors,
                                   const T* info) {
  std::vector<int64_t> within;
  const T reach = static_cast<T>(targeting.straddle);
  for (int64_t i = 0; i < static_cast<int64_t>(anchors.size()) / 4; ++i) {
    const T* const anchor = anchors.data() + i * 4;
    const bool fits = anchor[0] >= -reach && anchor[1] >= -reach && anchor[2] < info[1] + reach &&
                      anchor[3] < info[0] + reach;
    if (fits || !(targeting.straddle >= 0)) within.push_back(i);
  }
  return within;
}

// Boxes at the scale of the image that are no crowds, and their classes.
template <typename T>
struct Objects {
  std::vector<T> boxes;
  std::vector<int64_t> classes;

  explicit Objects(const ImageTruth<T>& truth) {
    for (size_t i = 0; i < truth.is_crowd.size(); ++i) {
      if (truth.is_crowd[i] != 0) continue;
      for (size_t k = 0; k < 4; ++k) boxes.push_back(truth.boxes[i * 4 + k] * truth.info[2]);
      classes.push_back(truth.classes.empty() ? 1 : truth.classes[i]);
    }
  }
};

// The anchors that overlap an object enough, or more than other anchors overlap it.
template <typename T>
std::vector<int64_t> PositiveAnchors(const Overlaps<T>& overlaps, double least) {
  std::vector<T> largest;
  for (int64_t j = 0; j < overlaps.columns; ++j) largest.push_back(overlaps.LargestOfColumn(j));
  std::vector<int64_t> positive;
  for (int64_t i = 0; i < overlaps.rows; ++i) {
    bool is_largest = false;
    for (int64_t j = 0; j < overlaps.columns && !is_largest; ++j) {
      is_largest = std::abs(overlaps.At(i, j) - largest[j]) < static_cast<T>(kNear);
    }
    const T of_row = overlaps.LargestOfRow(i, std::numeric_limits<T>::lowest());
    const bool is_enough = overlaps.columns > 0 && of_row >= static_cast<T>(least);
    if (is_largest || is_enough) positive.push_back(i);
  }
  return positive;
}

// Anchors of an image that are looked at.
struct SampledAnchors {
  std::vector<int64_t> shown;  // an object, in order
  std::vector<int64_t> empty;
  int64_t doubtful = 0;  // were both, and count as empty
  int64_t first = 0;     // the anchor that stands for these where a place is learnt
};

template <typename T>
SampledAnchors SampleAnchors(const AnchorTargeting& targeting, const Overlaps<T>& overlaps,
                             const DrawUniform& draw) {
  std::vector<int64_t> positive = PositiveAnchors(overlaps, targeting.positive_overlap);
  const bool is_limited = targeting.most >= 0;
  if (is_limited) {
    Sample(ObjectsOf(targeting.object_part, targeting.most), draw, &positive);
  }
  std::vector<int64_t> negative;
  for (int64_t i = 0; i < overlaps.rows; ++i) {
    if (overlaps.LargestOfRow(i, std::numeric_limits<T>::lowest()) <
        static_cast<T>(targeting.negative_overlap)) {
      negative.push_back(i);
    }
  }
  if (is_limited) {
    Sample(targeting.most - static_cast<int64_t>(positive.size()), draw, &negative);
  }
  enum : char { kIgnored, kShown, kEmpty };
  std::vector<char> kinds(overlaps.rows, kIgnored);
  for (const int64_t i : positive) kinds[i] = kShown;
  SampledAnchors sampled;
  for (const int64_t i : negative) {
    if (kinds[i] == kShown) ++sampled.doubtful;
    kinds[i] = kEmpty;
  }
  if (!positive.empty()) sampled.first = positive[0];
  for (int64_t i = 0; i < overlaps.rows; ++i) {
    if (kinds[i] == kShown) sampled.shown.push_back(i);
    if (kinds[i] == kEmpty) sampled.empty.push_back(i);
  }
  return sampled;
}

absl::Status CheckPart(absl::string_view name, double part) {
  if (part <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", part, "; want at most 1"));
}

// A box to train on, and the true box that it shows.
struct Example {
  int64_t box;
  int64_t object;
};

struct Examples {
  std::vector<Example> shown;
  std::vector<Example> background;
};

// Of true boxes, which come first, and proposals.
template <typename T>
Examples ExamplesOf(const ProposalLabelling& labelling, const Overlaps<T>& overlaps,
                    absl::Span<const int64_t> is_crowd) {
  Examples examples;
  for (int64_t i = 0; i < overlaps.rows; ++i) {
    T largest = overlaps.LargestOfRow(i, T(0));
    if (i < static_cast<int64_t>(is_crowd.size()) && is_crowd[i] != 0) largest = -1;
    if (largest >= static_cast<T>(labelling.object_overlap)) {
      for (int64_t j = 0; j < overlaps.columns; ++j) {
        if (!(std::abs(largest - overlaps.At(i, j)) < static_cast<T>(kNear))) continue;
        examples.shown.push_back({i, j});
        break;
      }
    } else if (largest >= static_cast<T>(labelling.background_low) &&
               largest < static_cast<T>(labelling.background_high)) {
      examples.background.push_back({i, -1});
    }
  }
  return examples;
}

// Proposals of a cascade's stage before that have an extent and are no true boxes; a box of zeros
// if there are none.
template <typename T>
std::vector<T> OfCascade(const std::vector<T>& proposals, absl::Span<const T> overlaps) {
  std::vector<T> kept;
  for (size_t i = 0; i < overlaps.size(); ++i) {
    const T* const box = proposals.data() + i * 4;
    if (box[2] - box[0] + 1 > 0 && box[3] - box[1] + 1 > 0 && overlaps[i] < 1) {
      kept.insert(kept.end(), box, box + 4);
    }
  }
  if (kept.empty()) kept.assign(4, T(0));
  return kept;
}

}  // namespace

int64_t AnchorTargeting::MostOf(int64_t anchors) const {
  return most < 0 ? anchors : std::min(most, anchors);
}

absl::StatusOr<AnchorTargeting> AnchorTargetingOf(const OpAttributes& op) {
  AnchorTargeting targeting;
  if (op.op().type() == "retinanet_target_assign") {
    targeting.positive_overlap = op.Float("positive_overlap");
    targeting.negative_overlap = op.Float("negative_overlap");
    return targeting;
  }
  targeting.object_part = op.Float("rpn_fg_fraction");
  RETURN_IF_ERROR(CheckPart("rpn_fg_fraction", targeting.object_part));
  if (targeting.object_part > 0 && op.Int("rpn_batch_size_per_im") > 0) {
    targeting.most = op.Int("rpn_batch_size_per_im");
  }
  targeting.straddle = op.Float("rpn_straddle_thresh");
  targeting.positive_overlap = op.Float("rpn_positive_overlap");
  targeting.negative_overlap = op.Float("rpn_negative_overlap");
  return targeting;
}

template <typename T>
void AddAnchorTargets(const AnchorTargeting& targeting, absl::Span<const T> anchors,
                      const ImageTruth<T>& truth, const DrawUniform& draw,
                      AnchorTargets<T>* targets) {
  const Objects<T> objects(truth);
  const std::vector<int64_t> within = AnchorsWithin(targeting, anchors, truth.info);
  std::vector<T> looked_at;
  for (const int64_t i : within) {
    looked_at.insert(looked_at.end(), anchors.begin() + i * 4, anchors.begin() + i * 4 + 4);
  }
  const Overlaps<T> overlaps(looked_at, objects.boxes);
  const SampledAnchors sampled = SampleAnchors(targeting, overlaps, draw);
  const int64_t images = static_cast<int64_t>(targets->objects.size());
  const int64_t begin = images * static_cast<int64_t>(anchors.size()) / 4;

  const auto add_location = [&](int64_t i, T weight) {
    targets->locations.push_back(begin + within[i]);
    AddOffsets(looked_at.data() + i * 4, objects.boxes.data() + overlaps.BestOfRow(i) * 4, {},
               &targets->offsets);
    targets->weights.insert(targets->weights.end(), 4, weight);
  };
  for (int64_t i = 0; i < sampled.doubtful; ++i) add_location(sampled.first, 0);
  for (const int64_t i : sampled.shown) add_location(i, 1);
  for (const int64_t i : sampled.shown) {
    targets->scores.push_back(begin + within[i]);
    targets->labels.push_back(static_cast<int32_t>(objects.classes[overlaps.BestOfRow(i)]));
  }
  for (const int64_t i : sampled.empty) {
    targets->scores.push_back(begin + within[i]);
    targets->labels.push_back(0);
  }
  targets->objects.push_back(static_cast<int64_t>(targets->locations.size()) -
                             targets->location_offsets.back() + 1);
  targets->location_offsets.push_back(static_cast<int64_t>(targets->locations.size()));
  targets->score_offsets.push_back(static_cast<int64_t>(targets->scores.size()));
}

int64_t ProposalLabelling::MostOf(int64_t images, int64_t proposals, int64_t objects) const {
  // A cascade's image may have a box of zeros.
  const int64_t boxes = objects + proposals + images;
  if (is_cascade) return boxes;
  int64_t most_of_images;
  return __builtin_mul_overflow(images, most, &most_of_images) ? boxes
                                                               : std::min(boxes, most_of_images);
}

absl::StatusOr<ProposalLabelling> ProposalLabellingOf(const OpAttributes& op) {
  ProposalLabelling labelling;
  labelling.most = op.Int("batch_size_per_im");
  labelling.object_part = op.Float("fg_fraction");
  labelling.object_overlap = op.Float("fg_thresh");
  labelling.background_high = op.Float("bg_thresh_hi");
  labelling.background_low = op.Float("bg_thresh_lo");
  labelling.weights = op.Floats("bbox_reg_weights");
  labelling.classes = op.Int("class_nums");
  labelling.is_cascade = op.Bool("is_cascade_rcnn");
  labelling.is_class_agnostic = op.Bool("is_cls_agnostic");
  RETURN_IF_ERROR(CheckPart("fg_fraction", labelling.object_part));
  constexpr int64_t kMostClasses = 1 << 24;
  if (labelling.weights.size() != 4 || labelling.most < 0 || !(labelling.object_part >= 0) ||
      labelling.classes < 1 || labelling.classes > kMostClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bbox_reg_weights has ", labelling.weights.size(), " numbers, batch_size_per_im is ",
        labelling.most, ", fg_fraction ", labelling.object_part, " and class_nums ",
        labelling.classes, "; want 4, 0 or more, and 1 to ", kMostClasses, " classes"));
  }
  if (labelling.is_cascade && op.era() == Era::kFluid) {
    return absl::UnimplementedError(
        "is_cascade_rcnn is set; want a program of 2.0 or later, where proposals have overlaps");
  }
  return labelling;
}

template <typename T>
absl::Status AddProposalLabels(const ProposalLabelling& labelling, absl::Span<const T> proposals,
                               absl::Span<const T> overlaps, const ImageTruth<T>& truth,
                               const DrawUniform& draw, ProposalLabels<T>* labels) {
  if (proposals.empty()) {
    labels->row_offsets.push_back(labels->row_offsets.back());
    return absl::OkStatus();
  }
  const T scale = truth.info[2];
  std::vector<T> unscaled(proposals.begin(), proposals.end());
  for (T& value : unscaled) value /= scale;
  if (labelling.is_cascade) unscaled = OfCascade(unscaled, overlaps);
  std::vector<T> boxes(truth.boxes.begin(), truth.boxes.end());
  boxes.insert(boxes.end(), unscaled.begin(), unscaled.end());
  const Overlaps<T> found(boxes, truth.boxes);
  Examples examples = ExamplesOf(labelling, found, truth.is_crowd);
  if (!labelling.is_cascade) {
    Sample(ObjectsOf(labelling.object_part, labelling.most), draw, &examples.shown);
    Sample(labelling.most - static_cast<int64_t>(examples.shown.size()), draw,
           &examples.background);
  }
  const int64_t width = labelling.classes * 4;
  const auto add = [&](const Example& example) -> absl::Status {
    const T* const box = boxes.data() + example.box * 4;
    const int64_t label = example.object < 0 ? 0 : truth.classes[example.object];
    for (int k = 0; k < 4; ++k) labels->boxes.push_back(box[k] * scale);
    labels->labels.push_back(static_cast<int32_t>(label));
    labels->overlaps.push_back(found.LargestOfRow(example.box, T(0)));
    const auto row = static_cast<int64_t>(labels->offsets.size());
    labels->offsets.resize(row + width, T(0));
    labels->weights.resize(row + width, T(0));
    if (label <= 0) return absl::OkStatus();
    const int64_t column = labelling.is_class_agnostic ? 1 : label;
    if (column >= labelling.classes) {
      return absl::InvalidArgumentError(absl::StrCat("there are targets of class ", column,
                                                     " and class_nums is ", labelling.classes,
                                                     "; want more"));
    }
    std::vector<T> offsets;
    AddOffsets(box, truth.boxes.data() + example.object * 4, labelling.weights, &offsets);
    std::copy(offsets.begin(), offsets.end(), labels->offsets.begin() + row + column * 4);
    std::fill_n(labels->weights.begin() + row + column * 4, 4, T(1));
    return absl::OkStatus();
  };
  for (const Example& example : examples.shown) RETURN_IF_ERROR(add(example));
  for (const Example& example : examples.background) RETURN_IF_ERROR(add(example));
  labels->row_offsets.push_back(static_cast<int64_t>(labels->labels.size()));
  return absl::OkStatus();
}

#define FIXPOINT_INSTANTIATE(T)                                                                \
  template void AddAnchorTargets(const AnchorTargeting&, absl::Span<const T>,                  \
                                 const ImageTruth<T>&, const DrawUniform&, AnchorTargets<T>*); \
  template absl::Status AddProposalLabels(const ProposalLabelling&, absl::Span<const T>,       \
                                          absl::Span<const T>, const ImageTruth<T>&,           \
                                          const DrawUniform&, ProposalLabels<T>*);
FIXPOINT_INSTANTIATE(float)
FIXPOINT_INSTANTIATE(double)
#undef FIXPOINT_INSTANTIATE

}  // namespace fixpoint::boxes
