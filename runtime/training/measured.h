// A number that was measured on samples.

#ifndef FIXPOINT_RUNTIME_TRAINING_MEASURED_H_
#define FIXPOINT_RUNTIME_TRAINING_MEASURED_H_

#include <optional>

namespace fixpoint {

struct Measured {
  double value = 0;
  // By how much it would differ on other samples of the kind, as a standard deviation; none where
  // that is not known.
  std::optional<double> standard_error = std::nullopt;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_MEASURED_H_
