// Which ops carry a hidden state that they can round to codes (state_codes.h), and to how many
// bits.

#ifndef FIXPOINT_OPS_RECURRENT_STATE_H_
#define FIXPOINT_OPS_RECURRENT_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/op_form.h"
#include "ops/state_codes.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Error (kInvalidArgument): the bits are not of a code.
absl::Status CheckStateBits(int64_t bits);
// What an op says, which has the attribute or means 0. Error: that of CheckStateBits.
absl::StatusOr<int> StateBitsOf(const OpAttributes& attributes);

// Whether ops of the type have the attribute.
bool HasStateBits(const Op& op);
// Why the state may leave its range whatever it begins with; nothing: it stays in it.
// REQUIRES: HasStateBits(op).
std::optional<std::string> WhyStateLeavesRange(const OpAttributes& attributes);

// Whether integers hold the sum of so many products of a code of the state and one of a weight,
// which has 8 bits.
bool StateSumsFit(int state_bits, int64_t products);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_RECURRENT_STATE_H_
