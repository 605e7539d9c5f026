#include "runtime/boxes/yolo_loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/boxes/yolo_boxes.h"

namespace fixpoint::boxes {
namespace {

// Centre and size, as parts of the image.
template <typename T>
struct CentredBox {
  T x;
  T y;
  T width;
  T height;
};

template <typename T>
CentredBox<T> TrueBox(const YoloTruth<T>& truth, int64_t i) {
  const T* const box = truth.boxes.data() + i * 4;
  return {box[0], box[1], box[2], box[3]};
}

template <typename T>
bool IsObject(const CentredBox<T>& box) {
  return !(box.width < 1e-6) && !(box.height < 1e-6);
}

template <typename T>
T CommonLength(T centre_a, T length_a, T centre_b, T length_b) {
  return std::min(centre_a + length_a / 2, centre_b + length_b / 2) -
         std::max(centre_a - length_a / 2, centre_b - length_b / 2);
}

template <typename T>
T OverlapOf(const CentredBox<T>& a, const CentredBox<T>& b) {
  const T width = CommonLength(a.x, a.width, b.x, b.width);
  const T height = CommonLength(a.y, a.height, b.y, b.height);
  const T common = width < 0 || height < 0 ? T(0) : width * height;
  return common / (a.width * a.height + b.width * b.height - common);
}

template <typename T>
CentredBox<T> AnchorBox(const YoloLoss& yolo, int64_t anchor) {
  const T size = static_cast<T>(yolo.downsample_ratio * static_cast<double>(yolo.side));
  return {0, 0, static_cast<T>(yolo.anchors[2 * anchor]) / size,
          static_cast<T>(yolo.anchors[2 * anchor + 1]) / size};
}

template <typename T>
CentredBox<T> SeenBox(const YoloLoss& yolo, absl::Span<const T> x, int64_t image,
                      int64_t layer_anchor, int64_t cell) {
  const CentredBox<T> anchor = AnchorBox<T>(yolo, yolo.layer_anchors[layer_anchor]);
  const T scale = static_cast<T>(yolo.scale);
  const T bias = T(-0.5) * (scale - 1);
  const T side = static_cast<T>(yolo.side);
  const auto value = [&](int64_t i) { return x[yolo.Place(image, layer_anchor, i, cell)]; };
  return {(static_cast<T>(cell % yolo.side) + Logistic(value(0)) * scale + bias) / side,
          (static_cast<T>(cell / yolo.side) + Logistic(value(1)) * scale + bias) / side,
          std::exp(value(2)) * anchor.width, std::exp(value(3)) * anchor.height};
}

// The cells of an image that see a true box well enough.
template <typename T>
void MarkSeen(const YoloLoss& yolo, absl::Span<const T> x, const YoloTruth<T>& truth, int64_t image,
              absl::Span<T> objects) {
  for (int64_t a = 0; a < yolo.layer_anchor_count(); ++a) {
    for (int64_t cell = 0; cell < yolo.plane(); ++cell) {
      const CentredBox<T> seen = SeenBox(yolo, x, image, a, cell);
      T best = 0;
      for (int64_t i = image * yolo.boxes; i < (image + 1) * yolo.boxes; ++i) {
        const CentredBox<T> box = TrueBox(truth, i);
        if (!IsObject(box)) continue;
        const T overlap = OverlapOf(seen, box);
        if (overlap > best) best = overlap;
      }
      const bool is_seen = best > static_cast<T>(yolo.ignore_threshold);
      objects[yolo.MaskPlace(image, a, cell)] = is_seen ? T(-1) : T(0);
    }
  }
}

// The anchor of the layer that is most like a box; -1: it is one of another layer.
template <typename T>
int32_t MatchOf(const YoloLoss& yolo, CentredBox<T> box) {
  box.x = 0;
  box.y = 0;
  T best = 0;
  int64_t match = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(yolo.anchors.size()) / 2; ++i) {
    const T overlap = OverlapOf(AnchorBox<T>(yolo, i), box);
    if (!(overlap > best)) continue;
    best = overlap;
    match = i;
  }
  const auto found = std::find(yolo.layer_anchors.begin(), yolo.layer_anchors.end(), match);
  return found == yolo.layer_anchors.end()
             ? -1
             : static_cast<int32_t>(found - yolo.layer_anchors.begin());
}

template <typename T>
absl::StatusOr<int64_t> CellOf(const YoloLoss& yolo, const CentredBox<T>& box) {
  const T column = box.x * static_cast<T>(yolo.side);
  const T row = box.y * static_cast<T>(yolo.side);
  const T side = static_cast<T>(yolo.side);
  if (!(column >= 0 && column < side && row >= 0 && row < side)) {
    return absl::InvalidArgumentError(
        absl::StrCat("GTBox has a box around (", box.x, ", ", box.y,
                     "); want its centre in the image, at 0 or more and below 1"));
  }
  return static_cast<int64_t>(row) * yolo.side + static_cast<int64_t>(column);
}

// A part of a loss: what an element of X should be, and how much that counts.
struct Term {
  int64_t place;
  double target;
  double weight;
  bool is_distance;  // or the cross entropy of its logistic function

  double LossOf(double x) const {
    if (is_distance) return weight * std::abs(target - x);
    return weight * (std::max(x, 0.0) - x * target + std::log1p(std::exp(-std::abs(x))));
  }
  double SlopeAt(double x) const {
    return weight * (is_distance ? (x > target ? 1.0 : -1.0) : Logistic(x) - target);
  }
};

// Calls f with each term of a true box that an anchor of the layer matches.
template <typename T, typename F>
absl::Status ForEachTermOfBox(const YoloLoss& yolo, const YoloTruth<T>& truth, int64_t i,
                              int32_t match, F f) {
  const CentredBox<T> box = TrueBox(truth, i);
  ASSIGN_OR_RETURN(const int64_t cell, CellOf(yolo, box));
  const int64_t image = i / yolo.boxes;
  const CentredBox<T> anchor = AnchorBox<T>(yolo, yolo.layer_anchors[match]);
  const double score = truth.ScoreOf(i);
  const double weight = (2.0 - box.width * box.height) * score;
  const double targets[] = {box.x * static_cast<T>(yolo.side) - static_cast<T>(cell % yolo.side),
                            box.y * static_cast<T>(yolo.side) - static_cast<T>(cell / yolo.side),
                            std::log(box.width / anchor.width),
                            std::log(box.height / anchor.height)};
  for (int64_t k = 0; k < 4; ++k) {
    f(Term{yolo.Place(image, match, k, cell), targets[k], weight, /*is_distance=*/k >= 2});
  }
  const double smoothing =
      yolo.smooths_labels ? std::min(1.0 / static_cast<double>(yolo.classes), 1.0 / 40) : 0.0;
  for (int64_t c = 0; c < yolo.classes; ++c) {
    f(Term{yolo.Place(image, match, 5 + c, cell), c == truth.labels[i] ? 1 - smoothing : smoothing,
           score, /*is_distance=*/false});
  }
  return absl::OkStatus();
}

// Calls f with the term of each cell of an image that counts for whether there is an object.
template <typename T, typename F>
void ForEachTermOfCells(const YoloLoss& yolo, absl::Span<const T> objects, int64_t image, F f) {
  for (int64_t a = 0; a < yolo.layer_anchor_count(); ++a) {
    for (int64_t cell = 0; cell < yolo.plane(); ++cell) {
      const double object = objects[yolo.MaskPlace(image, a, cell)];
      const bool is_object = object > 1e-5;
      if (!is_object && !(object > -0.5)) continue;
      f(Term{yolo.Place(image, a, 4, cell), is_object ? 1.0 : 0.0, is_object ? object : 1.0,
             /*is_distance=*/false});
    }
  }
}

absl::Status CheckAnchors(const YoloLoss& yolo) {
  const auto count = static_cast<int64_t>(yolo.anchors.size());
  for (const int64_t size : yolo.anchors) {
    if (size >= 1 && count % 2 == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("anchors has ", size, " among ", count,
                                                   " numbers; want pairs of positive ones"));
  }
  for (const int64_t anchor : yolo.layer_anchors) {
    if (anchor >= 0 && anchor < count / 2) continue;
    return absl::InvalidArgumentError(absl::StrCat("anchor_mask has ", anchor, " and there are ",
                                                   count / 2, " anchors; want indices of them"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<YoloLoss> YoloLossOf(const OpAttributes& op, DimsView x, DimsView boxes) {
  YoloLoss yolo;
  yolo.classes = op.Int("class_num");
  yolo.anchors = op.Ints("anchors");
  yolo.layer_anchors = op.Ints("anchor_mask");
  yolo.ignore_threshold = op.Float("ignore_thresh");
  yolo.downsample_ratio = static_cast<double>(op.Int("downsample_ratio"));
  yolo.smooths_labels = op.Bool("use_label_smooth");
  yolo.scale = op.Float("scale_x_y");
  RETURN_IF_ERROR(CheckAnchors(yolo));
  if (yolo.classes < 1 || yolo.downsample_ratio < 1) {
    return absl::InvalidArgumentError(absl::StrCat("class_num is ", yolo.classes,
                                                   " and downsample_ratio ", yolo.downsample_ratio,
                                                   "; want 1 or more"));
  }
  ASSIGN_OR_RETURN(const int64_t channels,
                   ElementCount({yolo.layer_anchor_count(), 5 + yolo.classes}));
  if (x.size() != 4 || x[1] != channels || x[2] != x[3]) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want 5 + ", yolo.classes, " channels for each of ",
                     yolo.layer_anchor_count(), " anchors, and squares"));
  }
  if (boxes.size() != 3 || boxes[0] != x[0] || boxes[2] != 4) {
    return absl::InvalidArgumentError(absl::StrCat("GTBox is ", DimsText(boxes), " and X ",
                                                   DimsText(x), "; want [", x[0], ", boxes, 4]"));
  }
  yolo.images = x[0];
  yolo.side = x[2];
  yolo.boxes = boxes[1];
  return yolo;
}

template <typename T>
absl::Status FindYoloLoss(const YoloLoss& yolo, absl::Span<const T> x, const YoloTruth<T>& truth,
                          absl::Span<T> loss, absl::Span<T> objects, absl::Span<int32_t> matches) {
  for (int64_t image = 0; image < yolo.images; ++image) {
    MarkSeen(yolo, x, truth, image, objects);
    double sum = 0;
    const auto add = [&](const Term& term) { sum += term.LossOf(x[term.place]); };
    for (int64_t i = image * yolo.boxes; i < (image + 1) * yolo.boxes; ++i) {
      const CentredBox<T> box = TrueBox(truth, i);
      matches[i] = IsObject(box) ? MatchOf(yolo, box) : -1;
      if (matches[i] < 0) continue;
      RETURN_IF_ERROR(ForEachTermOfBox(yolo, truth, i, matches[i], add));
      ASSIGN_OR_RETURN(const int64_t cell, CellOf(yolo, box));
      objects[yolo.MaskPlace(image, matches[i], cell)] = truth.ScoreOf(i);
    }
    ForEachTermOfCells<T>(yolo, objects, image, add);
    loss[image] = static_cast<T>(sum);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status FindYoloLossGradient(const YoloLoss& yolo, absl::Span<const T> x,
                                  const YoloTruth<T>& truth, absl::Span<const T> objects,
                                  absl::Span<const int32_t> matches, absl::Span<const T> dloss,
                                  absl::Span<T> dx) {
  std::fill(dx.begin(), dx.end(), T(0));
  for (int64_t image = 0; image < yolo.images; ++image) {
    const auto set = [&](const Term& term) {
      dx[term.place] = static_cast<T>(term.SlopeAt(x[term.place]) * dloss[image]);
    };
    for (int64_t i = image * yolo.boxes; i < (image + 1) * yolo.boxes; ++i) {
      if (matches[i] >= yolo.layer_anchor_count()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "GTMatchMask has ", matches[i], "; want -1 to ", yolo.layer_anchor_count() - 1));
      }
      if (matches[i] >= 0) RETURN_IF_ERROR(ForEachTermOfBox(yolo, truth, i, matches[i], set));
    }
    ForEachTermOfCells(yolo, objects, image, set);
  }
  return absl::OkStatus();
}

#define FIXPOINT_INSTANTIATE(T)                                                                 \
  template absl::Status FindYoloLoss(const YoloLoss&, absl::Span<const T>, const YoloTruth<T>&, \
                                     absl::Span<T>, absl::Span<T>, absl::Span<int32_t>);        \
  template absl::Status FindYoloLossGradient(                                                   \
      const YoloLoss&, absl::Span<const T>, const YoloTruth<T>&, absl::Span<const T>,           \
      absl::Span<const int32_t>, absl::Span<const T>, absl::Span<T>);
FIXPOINT_INSTANTIATE(float)
FIXPOINT_INSTANTIATE(double)
#undef FIXPOINT_INSTANTIATE

}  // namespace fixpoint::boxes
