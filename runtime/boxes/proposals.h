// Regions that may hold an object: proposed from anchors, and spread over the levels of a pyramid
// of features.

#ifndef FIXPOINT_RUNTIME_BOXES_PROPOSALS_H_
#define FIXPOINT_RUNTIME_BOXES_PROPOSALS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "runtime/boxes/box.h"

namespace fixpoint::boxes {

// Of maps [anchors, height, width] of scores and [4 * anchors, height, width] of offsets, with
// anchors and variances [height, width, anchors, 4].
struct Proposing {
  int64_t height;
  int64_t width;
  int64_t anchors;
  int64_t most_before = 0;  // that are looked at; below 1: all
  int64_t most_after = 0;   // that are kept; below 1: all
  float overlap_threshold;
  float eta;
  float smallest;  // side
  Corners corners = Corners::kPixels;
  // Sides count in the image before it was scaled.
  bool has_scale = false;
  // An image without proposals has one of zeros.
  bool is_never_empty = true;

  int64_t count() const { return height * width * anchors; }
  // The most proposals of an image.
  int64_t most() const;
};

// What generate_proposals or, since 2.0, its version 2 does with scores [images, anchors, height,
// width]. Errors: kInvalidArgument: the shape does not fit; kUnimplemented: nothing is suppressed.
absl::StatusOr<Proposing> ProposingOf(const OpAttributes& op, DimsView scores, bool is_v1);

struct ImageSize {
  float height;
  float width;
  float scale = 1;
};

struct Proposals {
  std::vector<float> boxes;  // 4 each
  std::vector<float> scores;

  int64_t size() const { return static_cast<int64_t>(scores.size()); }
};

// The proposals of one image, the best first; a score that is not a number is the worst. REQUIRES:
// the spans are of those extents.
Proposals Propose(const Proposing& proposing, const ImageSize& image,
                  absl::Span<const float> scores, absl::Span<const float> offsets,
                  absl::Span<const float> anchors, absl::Span<const float> variances);

struct Levels {
  int64_t least;
  int64_t most;
  int64_t refer_level;
  int64_t refer_scale;
  Corners corners = Corners::kPixels;

  int64_t count() const { return most - least + 1; }
  // The place of a box's level among them.
  int64_t Of(const float* box) const;
};

// What distribute_fpn_proposals is told. Error (kInvalidArgument): no level, or too many.
absl::StatusOr<Levels> LevelsOf(const OpAttributes& op);

// Boxes by their levels.
struct SpreadRegions {
  std::vector<std::vector<int64_t>> rows;    // of each level, by image and then as given
  std::vector<std::vector<int64_t>> counts;  // of each level and image
  std::vector<int64_t> places;               // of each box among the rows of all levels
};

// REQUIRES: an image below `image_count` for each box, in ascending order.
SpreadRegions Spread(const Levels& levels, absl::Span<const float> boxes,
                     absl::Span<const int64_t> images, int64_t image_count);

// Places of the scores, at most `most` of them, the largest, in order of their images; in an image
// by descending score. Equal ones stay in order; a score that is not a number is the smallest.
std::vector<int64_t> BestOfAll(absl::Span<const float> scores, absl::Span<const int64_t> images,
                               int64_t most);

}  // namespace fixpoint::boxes

#endif  // FIXPOINT_RUNTIME_BOXES_PROPOSALS_H_
