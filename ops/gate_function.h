// What is done with the sums of the gates of recurrent networks.

#ifndef FIXPOINT_OPS_GATE_FUNCTION_H_
#define FIXPOINT_OPS_GATE_FUNCTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// In the order of the numbers that gate functions have as attributes.
enum class GateFunction { kIdentity, kSigmoid, kTanh, kRelu };

// Error (kInvalidArgument): the attribute, a name or a number, is none of them.
inline absl::StatusOr<GateFunction> GateFunctionOf(absl::string_view attribute,
                                                   absl::string_view name) {
  if (name == "identity" || name == "linear" || name.empty()) return GateFunction::kIdentity;
  if (name == "sigmoid") return GateFunction::kSigmoid;
  if (name == "tanh") return GateFunction::kTanh;
  if (name == "relu") return GateFunction::kRelu;
  return absl::InvalidArgumentError(
      absl::StrCat(attribute, " is \"", name, "\"; want sigmoid, tanh, relu or identity"));
}

inline absl::StatusOr<GateFunction> GateFunctionOf(absl::string_view attribute, int64_t number) {
  if (number >= 0 && number <= 3) return static_cast<GateFunction>(number);
  return absl::InvalidArgumentError(absl::StrCat(
      attribute, " is ", number, "; want 0 (identity), 1 (sigmoid), 2 (tanh) or 3 (relu)"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_GATE_FUNCTION_H_
