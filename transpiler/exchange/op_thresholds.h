// Ranges that PaddlePaddle keeps as attributes of the ops of a program.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_OP_THRESHOLDS_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_OP_THRESHOLDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The largest magnitude of the last float output; what releases before July 2020 have alone.
inline constexpr char kOutThreshold[] = "out_threshold";
// "Output0_threshold": that of an argument of a slot.
std::string ThresholdAttr(absl::string_view slot, int index);

// The last output of the op that is declared as FP32; null if there is none.
const Argument* LastFloatOutput(const Op& op);

struct OpThreshold {
  const Argument* argument = nullptr;
  float range = 0;
};

// What an op's attributes say of its outputs and inputs, each argument once. Errors
// (kInvalidArgument), which name file and op: a range that is no finite number from 0; an argument
// that the op does not have, or of which two ranges are given.
absl::StatusOr<std::vector<OpThreshold>> ThresholdsOf(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_OP_THRESHOLDS_H_
