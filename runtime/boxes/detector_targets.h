// What a detector has to learn from the true boxes of an image: about anchors, and about proposals.

#ifndef FIXPOINT_RUNTIME_BOXES_DETECTOR_TARGETS_H_
#define FIXPOINT_RUNTIME_BOXES_DETECTOR_TARGETS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/op_form.h"

namespace fixpoint::boxes {

// Draws a number from [0, 1). Where there is no function, the first examples are taken.
using DrawUniform = std::function<double()>;

// The true boxes of an image, in pixels before it was scaled. A box around a crowd shows no object.
template <typename T>
struct ImageTruth {
  absl::Span<const T> boxes;  // [objects, 4]
  absl::Span<const int64_t> is_crowd;
  absl::Span<const int64_t> classes;  // none if they do not matter
  const T* info;                      // height, width and scale of the image
};

struct AnchorTargeting {
  int64_t most = -1;       // examples of an image; -1: all
  double object_part = 1;  // of these show an object, at most
  double straddle = -1;    // how far anchors may reach beyond the image; below 0: any
  double positive_overlap = 0;
  double negative_overlap = 0;

  // The most examples of an image with so many anchors.
  int64_t MostOf(int64_t anchors) const;
};

// Of rpn_target_assign and retinanet_target_assign. Error (kInvalidArgument): an attribute that
// makes no sense.
absl::StatusOr<AnchorTargeting> AnchorTargetingOf(const OpAttributes& op);

// Of all images; anchors are counted on from image to image.
template <typename T>
struct AnchorTargets {
  std::vector<int64_t> locations;  // anchors that learn where an object is
  std::vector<T> offsets;          // [locations, 4], of its box
  std::vector<T> weights;          // [locations, 4]
  std::vector<int64_t> location_offsets = {0};
  std::vector<int64_t> scores;  // anchors that learn what they show
  std::vector<int32_t> labels;  // [scores]: 0 for no object; without classes 1 for any
  std::vector<int64_t> score_offsets = {0};
  std::vector<int64_t> objects;  // 1 more than the locations of each image
};

template <typename T>
void AddAnchorTargets(const AnchorTargeting& targeting, absl::Span<const T> anchors,
                      const ImageTruth<T>& truth, const DrawUniform& draw,
                      AnchorTargets<T>* targets);

struct ProposalLabelling {
  int64_t most = 0;        // examples of an image
  double object_part = 0;  // of these show an object, at most
  double object_overlap = 0;
  double background_high = 0;
  double background_low = 0;
  std::vector<double> weights;  // that offsets are divided by
  int64_t classes = 0;
  // All are taken, but for proposals that are true boxes.
  bool is_cascade = false;
  bool is_class_agnostic = false;

  // The most examples of images with so many proposals and true boxes in all.
  int64_t MostOf(int64_t images, int64_t proposals, int64_t objects) const;
};

// Errors: kInvalidArgument: an attribute that makes no sense; kUnimplemented: a cascade of a
// release before 2.0.
absl::StatusOr<ProposalLabelling> ProposalLabellingOf(const OpAttributes& op);

// Of all images.
template <typename T>
struct ProposalLabels {
  std::vector<T> boxes;         // [rows, 4]
  std::vector<int32_t> labels;  // [rows]: 0 for the background
  std::vector<T> offsets;       // [rows, classes * 4]: those of its class
  std::vector<T> weights;       // [rows, classes * 4]: 1 for these
  std::vector<T> overlaps;      // [rows]: the largest with a true box
  std::vector<int64_t> row_offsets = {0};
};

// `overlaps`: for a cascade, those that proposals had before. Error (kInvalidArgument): a class is
// not below the number of them.
template <typename T>
absl::Status AddProposalLabels(const ProposalLabelling& labelling, absl::Span<const T> proposals,
                               absl::Span<const T> overlaps, const ImageTruth<T>& truth,
                               const DrawUniform& draw, ProposalLabels<T>* labels);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_DETECTOR_TARGETS_H_
