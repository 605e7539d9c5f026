// The ops after a convolution or a product whose work its kernel does before it stores an element
// (ops/codes/folded_ops.h): the steps that make what their stages read, and where the result goes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_EPILOGUE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_EPILOGUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/activation.h"
#include "ops/codes/folded_ops.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/planned_facts.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/kernels/epilogue.h"

namespace fixpoint::executor {

// What a kernel writes before its epilogue: images channels last, or matrices.
struct EpilogueInput {
  absl::string_view slot;  // of the op's output
  TensorType type;
  int channel_axis;
  Layout layout;
};

// Ops that may be absorbed, from the first one on (ops/codes/folded_ops.h). Nothing is planned yet.
struct OpsAfter {
  std::vector<FoldedOp> ops;
  // What the first of the ops adds to the sums.
  std::optional<BiasCodes> bias;
  // Whether the kernel adds the elements of the residual to the output, which lies where they are.
  bool adds_to_output = false;

  kernels::Epilogue epilogue() const;
};
// What the op itself does with its sums (OwnWork), before the ops after it do theirs.
struct OwnStages {
  kernels::Epilogue epilogue;
  std::vector<std::optional<Buffer>> operands;  // one for each stage
  std::optional<Activation> function;           // in the end, of what the kernel wrote

  void Add(kernels::EpilogueStage stage, std::optional<Buffer> operand = std::nullopt) {
    epilogue.push_back(stage);
    operands.push_back(operand);
  }
  kernels::Epilogue Before(const kernels::Epilogue& after) const;
};
// Where `adds_bias` is false, the op's bias is no stage: it is added to sums of codes. Errors:
// those of OwnWorkOf; kInvalidArgument: an input does not fit the output.
absl::StatusOr<OwnStages> ReadOwnStages(OpPlanner& op, const EpilogueInput& output, bool adds_bias);

// The ops that may be absorbed after an op with stages of its own: none after a function.
OpsAfter FindOpsAfter(const OpPlanner& op, const EpilogueInput& input, const OwnStages& own = {});
// The same for an op that computes such sums, and so can add a bias in their steps.
OpsAfter FindOpsAfterSums(const OpPlanner& op, const EpilogueInput& input, const OwnStages& own,
                          const SumsOfCodes& sums);
// Whether there is one residual, which nothing reads from the op on but its sum.
bool MayLieOverResidual(const OpPlanner& op, const OpsAfter& after);

// An epilogue that is planned: where the last result goes, and what the stages read.
struct PlannedEpilogue {
  Buffer out;
  std::vector<std::optional<Buffer>> operands;  // one for each stage
  std::string names;                            // " + batch_norm + relu"
  std::optional<Buffer> residual;               // that is added to the output

  // What the step reads: its own inputs, and the operands.
  std::vector<Buffer> WithOperands(std::vector<Buffer> inputs) const;
  // Before a run of the kernel: copies the residual, where it lies elsewhere.
  void BeginOutput(const StepContext& run) const;
  // For a run of the kernel.
  absl::InlinedVector<absl::Span<const float>, 8> OperandsOf(const StepContext& run) const;
};
// Absorbs the ops, and adds the steps that make the operands.
absl::StatusOr<PlannedEpilogue> AbsorbOpsAfter(OpPlanner& op, const EpilogueInput& input,
                                               const OpsAfter& after);
// The same for an op with stages of its own, whose operands come first. Before a function there are
// no ops to absorb.
absl::StatusOr<PlannedEpilogue> AbsorbOpsAfter(OpPlanner& op, const EpilogueInput& input,
                                               const OwnStages& own, const OpsAfter& after);
// After the step that writes `sums` with that epilogue: adds the one that computes the function of
// the op, if it has one.
void AddFunction(OpPlanner& op, const EpilogueInput& output, const OwnStages& own, Buffer sums);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_EPILOGUE_H_
