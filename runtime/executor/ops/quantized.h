// What the plans of quantize ops share: from a value and its ranges to codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::executor {

// What a quantize op does. Errors (kInvalidArgument): those of ReadCodeRange; X or the result is
// absent.
absl::StatusOr<CodeOp> CodeOpOf(const OpPlanner& op);

// The type of codes that are held in 8 bits (ops/codes/held_codes.h).
kernels::CodeType TypeOf(const CodeRange& held);

// How the elements of X are divided in channels, in the layout that it is best read in.
struct ChannelView {
  kernels::Channels channels;
  Layout layout;
};
absl::StatusOr<ChannelView> ViewChannels(const OpPlanner& op, std::optional<int> channel_axis);

const TensorType kOneNumber{VarType::FP32, {1}};

// An input of one FP32. Errors: those of OpPlanner::CheckSize and Read.
absl::StatusOr<Buffer> ReadNumber(OpPlanner& op, absl::string_view slot);

// What a run decides of X, where a plan reads no more of it than there is; nothing if it is what
// its type says.
std::optional<RunShape> RunShapeOfX(OpPlanner& op);

// Adds the step that quantizes X by `ranges`. Codes that are held (ops/codes/held_codes.h) are
// integers, with the ranges.
absl::Status AddQuantize(OpPlanner& op, const CodeOp& quantize, Buffer ranges);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_H_
