// The codes that ops of lowered programs read and write.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_LOWERED_CODES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_LOWERED_CODES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/epilogue.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::executor {

// Error (kUnimplemented): the input is not codes of a byte.
absl::StatusOr<kernels::CodeType> CodeTypeOf(const OpPlanner& op, absl::string_view slot);
// Whether the input is wide codes (ops/code_dtype.h). Error (kUnimplemented): it is not codes.
absl::StatusOr<bool> IsWide(const OpPlanner& op, absl::string_view slot);

// The code of 0 that an attribute declares. Error (kInvalidArgument): it is not a code.
absl::StatusOr<int32_t> ZeroPointOf(const OpPlanner& op, absl::string_view attribute,
                                    VarType::Type dtype);

// How and where an output of that type is stored.
kernels::OutputType OutputTypeOf(VarType::Type dtype);
kernels::Output OutputOf(const StepContext& run, Buffer buffer, kernels::OutputType type);

// out = x and what a stage adds to it; `codes` are those of the stage, as bytes.
void AddCodes(const EpilogueStage& stage, absl::Span<const uint8_t> codes,
              absl::Span<const float> x, absl::Span<float> out);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_LOWERED_CODES_H_
