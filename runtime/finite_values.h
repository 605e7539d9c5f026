// Whether the elements of a tensor are finite.

#ifndef FIXPOINT_RUNTIME_FINITE_VALUES_H_
#define FIXPOINT_RUNTIME_FINITE_VALUES_H_

#include "absl/status/status.h"
#include "runtime/tensor.h"

namespace fixpoint {

// Error (NotFiniteError, backend.h): an element of an FP32 or FP64 tensor is not finite; names the
// element, not the variable.
absl::Status CheckFinite(const Tensor& tensor);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_FINITE_VALUES_H_
