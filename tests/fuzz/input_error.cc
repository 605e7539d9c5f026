#include "tests/fuzz/input_error.h"

#include <glog/logging.h>

namespace fixpoint {

void CheckIsInputError(const absl::Status& status) {
  CHECK(status.code() == absl::StatusCode::kInvalidArgument ||
        status.code() == absl::StatusCode::kNotFound ||
        status.code() == absl::StatusCode::kDataLoss ||
        status.code() == absl::StatusCode::kUnimplemented ||
        status.code() == absl::StatusCode::kFailedPrecondition)
      << status;
  CHECK(!status.message().empty());
}

}  // namespace fixpoint
