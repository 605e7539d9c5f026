// What a gradient multiplies in bfloat16 (docs/numerics.md). Where an operand of the forward op is
// codes, the gradient multiplies the codes, which are exact. The step of the inputs' codes is a
// factor of the result. The step of a filter is a power of two, by which its codes are multiplied,
// times a factor from 1 up to 2, by which the gradient is, and only the gradient is rounded.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_BFLOAT16_OPERANDS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_BFLOAT16_OPERANDS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// What an input's elements are multiples of: numbers times the step of the codes.
struct Multiples {
  Buffer numbers;
  std::optional<Codes> codes;  // nothing: the step is 1

  std::vector<Buffer> StepBuffers() const;
  float StepIn(const StepContext& run) const;
};

// Adds the step that makes them, BF16 and exact if the input is held as codes with one range, and
// rounded floats if not. Error: that of OpPlanner::ReadFloats.
absl::StatusOr<Multiples> ReadInBfloat16(OpPlanner& op, absl::string_view slot, Layout layout);

// The same of filters, [filters, ...], as floats that bfloat16 holds if they are held as codes, but
// for those below 2^-126.
struct FilterMultiples {
  Buffer numbers;
  std::optional<Buffer> factors;  // of each filter, from 1 up to 2; nothing: all are 1
};
absl::StatusOr<FilterMultiples> ReadFilterNumbers(OpPlanner& op, absl::string_view slot);

// Adds the step that rounds floats to BF16: each times the factor of its place in a line, if there
// are factors.
Buffer AddRounding(OpPlanner& op, absl::string_view what, Buffer floats,
                   std::optional<Buffer> factors = std::nullopt);

// The same of an input's floats, which are not computed if the step that does can round them and
// nothing else reads them.
// Error: that of OpPlanner::ReadFloats.
absl::StatusOr<Buffer> ReadRounded(OpPlanner& op, absl::string_view slot, Layout layout,
                                   std::optional<Buffer> factors);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_BFLOAT16_OPERANDS_H_
