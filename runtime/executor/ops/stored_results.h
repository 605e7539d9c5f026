// What an op of a lowered program stores: the results of a kernel with an epilogue, as floats or as
// codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_STORED_RESULTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_STORED_RESULTS_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/lowered_codes.h"
#include "runtime/kernels/epilogue.h"

namespace fixpoint::executor {

// What the stages of an epilogue read.
struct StageOperands {
  std::vector<std::optional<Buffer>> numbers;  // for each stage
  std::optional<Buffer> codes;                 // that a stage adds

  // The operands of all stages.
  absl::InlinedVector<absl::Span<const float>, 8> Numbers(const StepContext& run) const {
    absl::InlinedVector<absl::Span<const float>, 8> spans;
    for (const std::optional<Buffer>& operand : numbers) {
      spans.push_back(operand ? run.Floats(*operand) : absl::Span<float>());
    }
    return spans;
  }
  std::vector<Buffer> WithOperands(std::vector<Buffer> reads) const;
};

// What the kernel does with its results, and what loops after it do: they add codes to results that
// are stored as floats.
struct SplitEpilogue {
  kernels::Epilogue fused;
  std::optional<kernels::EpilogueStage> sum_with_codes;
  kernels::Epilogue after;
};

// The output of an op with an epilogue.
struct StoredOutput {
  absl::string_view slot;
  TensorType type;
  Layout layout;
  int64_t channels;
  kernels::Epilogue epilogue;
  absl::string_view operands = "Operands";  // the slot of what the stages read

  kernels::OutputType output_type() const { return OutputTypeOf(type.dtype); }
  SplitEpilogue split() const;
  // Of the step: the op's type, and the stages.
  std::string NameOf(const OpPlanner& op) const;
};
// Error (kInvalidArgument): that of EpilogueOf; those of OpPlanner::OutputType.
absl::StatusOr<StoredOutput> StoredOutputOf(OpPlanner& op, absl::string_view slot, Layout layout,
                                            int64_t channels);

// Where results go, and what is done around the kernel.
struct StoredResults {
  SplitEpilogue split;
  StageOperands operands;
  kernels::OutputType type;
  Buffer output;

  // The kernel adds codes that lie in its output.
  bool starts_with_codes() const { return operands.codes && !split.sum_with_codes; }

  // `kernel` is run on the operands of the fused stages, and the output.
  template <typename Kernel>
  void Run(const StepContext& run, const Kernel& kernel) const {
    if (starts_with_codes()) {
      const absl::Span<uint8_t> added = run.Of<uint8_t>(*operands.codes);
      uint8_t* const out = run.Of<uint8_t>(output).data();
      if (out != added.data()) std::memcpy(out, added.data(), added.size());
    }
    const auto numbers = operands.Numbers(run);
    const kernels::EpilogueOperands spans = numbers;
    kernel(spans.first(split.fused.size()), OutputOf(run, output, type));
    if (split.sum_with_codes) {
      const absl::Span<float> out = run.Floats(output);
      AddCodes(*split.sum_with_codes, run.Of<uint8_t>(*operands.codes), out, out);
      kernels::Apply(split.after, spans.last(split.after.size()), out);
    }
  }
};
// Reads the operands, and gives the output memory, which is that of no input. Errors
// (kInvalidArgument): an operand does not fit; kUnimplemented: codes are added twice.
absl::StatusOr<StoredResults> PlanStore(OpPlanner& op, const StoredOutput& stored,
                                        absl::Span<const Buffer> inputs);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_STORED_RESULTS_H_
