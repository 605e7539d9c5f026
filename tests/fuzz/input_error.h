// The errors that the fuzz targets accept.

#ifndef FIXPOINT_TESTS_FUZZ_INPUT_ERROR_H_
#define FIXPOINT_TESTS_FUZZ_INPUT_ERROR_H_

#include "absl/status/status.h"

namespace fixpoint {

// An error of the input is of these kinds; anything else is a defect.
void CheckIsInputError(const absl::Status& status);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_FUZZ_INPUT_ERROR_H_
