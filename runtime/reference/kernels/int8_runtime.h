// The ops between floats and codes of a byte that oneDNN runs in the reference.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_INT8_RUNTIME_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_INT8_RUNTIME_H_

#include "absl/status/status.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// quantize and dequantize, of Input.
absl::Status QuantizeForOneDnn(OpRun& op);
absl::Status DequantizeForOneDnn(OpRun& op);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_INT8_RUNTIME_H_
