// A BOOL is a byte that is 0 or 1: reading any other byte as a bool is undefined behaviour.

#ifndef FIXPOINT_RUNTIME_BOOL_BYTES_H_
#define FIXPOINT_RUNTIME_BOOL_BYTES_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor.h"

namespace fixpoint {

// Error (kInvalidArgument): the tensor is BOOL and has another byte; names the element, not the
// variable.
inline absl::Status CheckBoolBytes(const Tensor& tensor) {
  if (tensor.dtype() != VarType::BOOL) return absl::OkStatus();
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  const auto* const found =
      std::find_if(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte > 1; });
  if (found == bytes.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("element ", found - bytes.begin(), " is ", *found, "; want a BOOL, 0 or 1"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_BOOL_BYTES_H_
