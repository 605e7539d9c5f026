#include "runtime/executor/ops/residual.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/passed_elements.h"
#include "runtime/kernels/activation.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::executor {
namespace {

template <typename Code>
void AddAndApply(absl::Span<const float> x, absl::Span<const Code> codes, float step,
                 float zero_point, const kernels::Epilogue& after,
                 kernels::EpilogueOperands no_operands, absl::Span<float> out,
                 absl::Span<uint8_t> passed) {
  // So many elements at a time go through all stages, while they are in the cache.
  const int64_t most = kernels::ThisMachine().block_bytes() / static_cast<int64_t>(sizeof(float));
  const auto size = static_cast<int64_t>(out.size());
  kernels::RunOnThreads(kernels::ThreadsFor(size, 2 * sizeof(float) + sizeof(Code)),
                        (size + most - 1) / most, [&](int, int64_t first, int64_t last) {
                          for (int64_t begin = first * most; begin < std::min(size, last * most);
                               begin += most) {
                            const absl::Span<float> block = out.subspan(begin, most);
                            kernels::AddCodes(x.subspan(begin, most), codes.subspan(begin, most),
                                              step, zero_point, block);
                            kernels::Apply(after, no_operands, block);
                            if (!passed.empty()) {
                              kernels::MarkPassed(block, passed.subspan(begin, most));
                            }
                          }
                        });
}

// The ops after it that are functions of one element.
OpsAfter FindActivations(const OpPlanner& op, const EpilogueInput& input) {
  OpsAfter after = FindOpsAfter(op, input);
  const auto first_other =
      std::find_if(after.ops.begin(), after.ops.end(),
                   [](const FoldedOp& other) { return other.operand != FoldedOp::Operand::kNone; });
  after.ops.erase(first_other, after.ops.end());
  return after;
}

}  // namespace

absl::Status PlanSumWithCodes(OpPlanner& op, const Argument& codes_in) {
  const SumTrait& trait = *TraitsOf(op.op()).sum;
  const std::string& other = codes_in.slot_name() == trait.y ? trait.x : trait.y;
  const Layout layout = op.InputLayout(other);
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats(other, layout));
  ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                   op.builder().ReadCodes(*codes_in.value(), layout));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType(trait.output));
  const EpilogueInput sum = {trait.output, type, /*channel_axis=*/1, layout};
  const OpsAfter after = FindActivations(op, sum);
  ASSIGN_OR_RETURN(const PlannedEpilogue planned, AbsorbOpsAfter(op, sum, after));
  op.builder().MayLieIn(planned.out, x);
  const std::vector<absl::Span<const float>> no_operands(planned.operands.size());
  std::optional<Buffer> passed;
  if (!after.ops.empty() && after.ops.back().op->type() == "relu") {
    passed = AddPassedElements(op, *after.ops.back().op, type, layout);
  }
  std::vector<Buffer> reads = codes->buffers();
  reads.push_back(x);
  std::vector<Buffer> writes = {planned.out};
  if (passed) writes.push_back(*passed);
  op.AddStep(
      {std::move(reads), std::move(writes),
       [=, codes = *codes, stages = after.epilogue(), out = planned.out](const StepContext& run) {
         const absl::Span<uint8_t> marks =
             passed ? run.Of<uint8_t>(*passed) : absl::Span<uint8_t>();
         const float step = codes.StepIn(run);
         const float zero_point = codes.ZeroPointIn(run);
         if (codes.type == kernels::CodeType::kInt8) {
           AddAndApply<int8_t>(run.Floats(x), run.Of<int8_t>(codes.codes), step, zero_point, stages,
                               no_operands, run.Floats(out), marks);
         } else {
           AddAndApply<uint8_t>(run.Floats(x), run.Of<uint8_t>(codes.codes), step, zero_point,
                                stages, no_operands, run.Floats(out), marks);
         }
         return absl::OkStatus();
       },
       "", 0, absl::StrCat(op.type(), " of codes", planned.names)});
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
