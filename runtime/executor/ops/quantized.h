// What the plans of quantize ops share: from a value and its ranges to codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/code_range.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::executor {

// The settings of a quantize op, and which of its outputs takes the result.
struct Quantization {
  CodeRange codes;
  std::optional<int> channel_axis;  // nothing: one range
  bool dequantizes = false;         // the result is the floats that the codes stand for
  // Whether the op is one that the reference has, which multiplies by the step in 1.x.
  bool is_of_reference = true;
  absl::string_view output = "Out";
};

// From the attributes bit_length and round_type. Error (kInvalidArgument): not 1 to 16, not 0 or 1.
absl::StatusOr<CodeRange> CodeRangeOf(const OpPlanner& op);

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

// Adds the step that quantizes X by `ranges`. Codes of up to 8 bits are held as integers, with the
// ranges.
absl::Status AddQuantize(OpPlanner& op, const Quantization& quantization, Buffer ranges);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_QUANTIZED_H_
