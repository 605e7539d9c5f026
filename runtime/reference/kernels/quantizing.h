// What the ops that simulate quantization share.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_QUANTIZING_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_QUANTIZING_H_

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/code_range.h"
#include "proto/base/status_macros.h"
#include "proto/config/quant_spec.pb.h"
#include "runtime/reference/array.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// A state of a quantizer: FP32 [1].
inline Array OneNumber(float value) {
  Array array(VarType::FP32, Dims{1});
  array[0] = value;
  return array;
}

// An input of one element. Error: the slot is absent, which only inference allows, or holds more.
inline absl::StatusOr<float> NumberIn(const OpRun& op, absl::string_view slot) {
  const Array* input = op.FindInput(slot);
  if (input == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", slot, " is absent, and is_test is false; want one number"));
  }
  RETURN_IF_ERROR(op.CheckSize(slot, 1));
  return static_cast<float>((*input)[0]);
}

// The attribute bit_length. Error: that of CheckBits, with kLeastBitsOfOps.
inline absl::StatusOr<int> BitsOf(const OpRun& op) {
  const int64_t bits = op.Int("bit_length");
  RETURN_IF_ERROR(CheckBits("bit_length", bits, kLeastBitsOfOps));
  return static_cast<int>(bits);
}

// The attribute round_type. Error: that of RoundingOfType.
inline absl::StatusOr<QuantSpec::Rounding> RoundingOf(const OpRun& op) {
  return RoundingOfType(static_cast<int32_t>(op.Int("round_type")));
}

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_QUANTIZING_H_
