// Images that change a little from epoch to epoch, so that a network learns what stays.

#ifndef FIXPOINT_RUNTIME_DATA_AUGMENTATION_H_
#define FIXPOINT_RUNTIME_DATA_AUGMENTATION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct Augmentation {
  // An image is moved by up to so many pixels in each direction; where it leaves, values are 0.
  // This is the same as to pad it with zeros on all sides and to cut out an image at random.
  int64_t padding = 0;
  // Whether half of the images are mirrored, left to right.
  bool flip = false;

  bool is_none() const { return padding == 0 && !flip; }
};

// Whether a field holds images that can be augmented: FP32 [C,H,W] of the name "images".
bool CanBeAugmented(const SampleField& field);

// Augments the images of these samples, `images` of a batch, in place. What happens to an image
// depends on the seed, the epoch and the number of its sample alone. kFailedPrecondition where the
// system has no memory. REQUIRES: CanBeAugmented(field), and padding is 0 or more.
absl::Status Augment(const Augmentation& augmentation, uint64_t seed, int64_t epoch,
                     const SampleField& field, absl::Span<const int64_t> samples, Tensor* images);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_AUGMENTATION_H_
