// What must hold for a data set that a reader returns, whatever it read.

#ifndef FIXPOINT_TESTS_FUZZ_IMAGE_SET_CHECK_H_
#define FIXPOINT_TESTS_FUZZ_IMAGE_SET_CHECK_H_

#include "absl/status/statusor.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

// The set has an image for each label and gives a batch, or is an error of the input.
void CheckImageSet(absl::StatusOr<ImageSet> set);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_FUZZ_IMAGE_SET_CHECK_H_
