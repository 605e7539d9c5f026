// Values that are held as wide codes (ops/code_dtype.h), which products alone read as integers.
// Their floats are computed where something else reads them.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_WIDE_CODES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_WIDE_CODES_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/code_ops.h"
#include "ops/dims.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

struct WideCodes {
  Buffer codes;   // INT16
  Buffer ranges;  // FP32, one for all elements or for each channel; none: not known yet
  int32_t largest_code = 0;
  std::optional<int> channel_axis;  // nothing: one range
  Layout layout = Layout::kRowMajor;
};

// What the floats of an input stand for; null if it is not held so.
const WideCodes* FindWideCodes(const OpPlanner& op, absl::string_view slot);
// The codes that an input's elements are, as floats, likewise.
const WideCodes* FindWideNumbers(const OpPlanner& op, absl::string_view slot);

// Declares what an output is held as: its elements are what the codes stand for, or the codes
// themselves. Error (kInvalidArgument): the input X, whose dimensions the output has, lacks the
// axis of channels; and that of InLayout.
absl::Status WriteWideCodes(OpPlanner& op, absl::string_view slot, WideCodes codes);
void WriteWideNumbers(OpPlanner& op, absl::string_view slot, const WideCodes& codes);

// Adds the step that quantizes X by `ranges` to wide codes. Error: that of WriteWideCodes.
absl::Status AddWideQuantize(OpPlanner& op, const CodeOp& quantize, Buffer ranges);

// Codes of a tensor of those dims, as they lie in another layout. Error: that of
// kernels::LayoutConversion::Plan.
absl::StatusOr<WideCodes> InLayout(OpPlanner& op, WideCodes codes, const Dims& dims, Layout layout);

// INT16, with the elements of codes of a byte or of INT16, which are in `codes`.
Buffer Widened(OpPlanner& op, Buffer codes, VarType::Type dtype);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_WIDE_CODES_H_
