// Sums of tensors that may be arrays of tensors.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_ARRAY_SUM_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_ARRAY_SUM_H_

#include "absl/status/status.h"
#include "runtime/reference/array.h"

namespace fixpoint::reference {

// Adds a tensor to another one, and an array of tensors tensor by tensor: one that only one of them
// has is as it is. Error (kInvalidArgument): other extents, or a tensor and an array.
absl::Status AddTo(const Array& part, Array* sum);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_ARRAY_SUM_H_
