#include "runtime/executor/ops/epilogue.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/ops/batch_norm.h"
#include "runtime/kernels/activation.h"

namespace fixpoint::executor {
namespace {

using Operand = FoldedOp::Operand;

ProductResult ResultOf(const EpilogueInput& input, const Value& value) {
  return {&value, input.type.dims, input.channel_axis};
}

}  // namespace

kernels::Epilogue OpsAfter::epilogue() const {
  kernels::Epilogue epilogue;
  for (const FoldedOp& op : ops) {
    epilogue.insert(epilogue.end(), op.stages.begin(), op.stages.end());
  }
  return epilogue;
}

OpsAfter FindOpsAfter(const OpPlanner& op, const EpilogueInput& input, const OwnStages& own) {
  OpsAfter found;
  if (own.function || !op.Wants(input.slot)) return found;
  found.ops = FindFoldedOps(ResultOf(input, op.OutputValue(input.slot)), PlannedFacts(op));
  return found;
}

OpsAfter FindOpsAfterSums(const OpPlanner& op, const EpilogueInput& input, const OwnStages& own,
                          const SumsOfCodes& sums) {
  OpsAfter found;
  if (own.function || !op.Wants(input.slot)) return found;
  ProductResult result = ResultOf(input, op.OutputValue(input.slot));
  result.product = sums.product;
  found.ops = FindFoldedOps(result, PlannedFacts(op, &sums));
  if (!found.ops.empty() && found.ops.front().operand == Operand::kBias) {
    found.bias = *FindBiasCodes(op.builder(), *found.ops.front().addend->value());
  }
  return found;
}

bool MayLieOverResidual(const OpPlanner& op, const OpsAfter& after) {
  const auto is_residual = [](const FoldedOp& next) { return next.operand == Operand::kElements; };
  const auto sum = std::find_if(after.ops.begin(), after.ops.end(), is_residual);
  if (sum == after.ops.end() || std::any_of(sum + 1, after.ops.end(), is_residual)) return false;
  const Value& residual = *sum->addend->value();
  // What a run is given stays as it is.
  if (residual.op() == nullptr) return false;
  const absl::Span<const Op* const> readers = op.demand().Readers(residual);
  return std::all_of(readers.begin(), readers.end(), [&](const Op* reader) {
    return reader == sum->op || reader->Index() < op.op().Index();
  });
}

absl::StatusOr<PlannedEpilogue> AbsorbOpsAfter(OpPlanner& op, const EpilogueInput& input,
                                               const OpsAfter& after) {
  PlanBuilder& builder = op.builder();
  PlannedEpilogue planned;
  if (after.ops.empty()) {
    planned.out = op.WriteAs(input.slot, input.type, input.layout);
    return planned;
  }
  const Value* value = &op.OutputValue(input.slot);
  for (const FoldedOp& next : after.ops) {
    if (next.operand == Operand::kStatistics) {
      OpPlanner norm = op.After(*next.op);
      ASSIGN_OR_RETURN(const AffineNorm factors, AddAffineNorm(norm));
      planned.operands.insert(planned.operands.end(), {factors.a, factors.b});
    } else if (next.addend != nullptr && next.operand != Operand::kBias) {
      const bool is_element = next.operand == Operand::kElements;
      ASSIGN_OR_RETURN(
          const Buffer operand,
          builder.Read(*next.addend->value(), is_element ? input.layout : Layout::kRowMajor));
      planned.operands.push_back(operand);
      if (is_element && after.adds_to_output) planned.residual = operand;
    } else {
      planned.operands.insert(planned.operands.end(), next.stages.size(), std::nullopt);
    }
    builder.Absorb(*next.op, *value, input.type);
    absl::StrAppend(&planned.names, " + ", next.op->type());
    value = next.output->value();
  }
  planned.out = builder.Write(*value, input.type, input.layout);
  if (planned.residual) builder.MayLieIn(planned.out, *planned.residual);
  return planned;
}

kernels::Epilogue OwnStages::Before(const kernels::Epilogue& after) const {
  kernels::Epilogue all = epilogue;
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

absl::StatusOr<OwnStages> ReadOwnStages(OpPlanner& op, const EpilogueInput& output,
                                        bool adds_bias) {
  ASSIGN_OR_RETURN(const OwnWork work, OwnWorkOf(op.op(), op.attributes()));
  OwnStages own;
  if (work.bias != nullptr) {
    const absl::string_view slot = OpPlanner::SlotOf(*work.bias);
    RETURN_IF_ERROR(op.CheckSize(slot, output.type.dims[output.channel_axis]));
    if (adds_bias) {
      ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats(slot));
      own.Add({EpilogueStage::Kind::kAddChannel}, bias);
    }
  }
  if (work.residual != nullptr) {
    const absl::string_view slot = OpPlanner::SlotOf(*work.residual);
    RETURN_IF_ERROR(op.CheckDims(slot, output.type.dims));
    ASSIGN_OR_RETURN(const Buffer residual, op.ReadFloats(slot, output.layout));
    own.Add({EpilogueStage::Kind::kAddElement}, residual);
  }
  for (const EpilogueStage& stage : work.stages) own.Add(stage);
  own.function = work.function;
  return own;
}

absl::StatusOr<PlannedEpilogue> AbsorbOpsAfter(OpPlanner& op, const EpilogueInput& input,
                                               const OwnStages& own, const OpsAfter& after) {
  if (own.function) {
    PlannedEpilogue before;
    before.out = op.Scratch("sums", input.type.dtype, input.type.size());
    before.operands = own.operands;
    return before;
  }
  ASSIGN_OR_RETURN(PlannedEpilogue planned, AbsorbOpsAfter(op, input, after));
  planned.operands.insert(planned.operands.begin(), own.operands.begin(), own.operands.end());
  return planned;
}

void AddFunction(OpPlanner& op, const EpilogueInput& output, const OwnStages& own, Buffer sums) {
  if (!own.function) return;
  const Buffer y = op.WriteOver(output.slot, output.type, output.layout, sums);
  op.AddStep({{sums},
              {y},
              [sums, y, function = *own.function](const StepContext& run) {
                kernels::Activate(function, run.Floats(sums), run.Floats(y));
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(op.type(), " activation")});
}

std::vector<Buffer> PlannedEpilogue::WithOperands(std::vector<Buffer> inputs) const {
  for (const std::optional<Buffer>& operand : operands) {
    if (operand) inputs.push_back(*operand);
  }
  return inputs;
}

void PlannedEpilogue::BeginOutput(const StepContext& run) const {
  if (!residual) return;
  const absl::Span<const float> added = run.Floats(*residual);
  float* const output = run.Floats(out).data();
  if (output != added.data()) std::copy(added.begin(), added.end(), output);
}

absl::InlinedVector<absl::Span<const float>, 8> PlannedEpilogue::OperandsOf(
    const StepContext& run) const {
  absl::InlinedVector<absl::Span<const float>, 8> spans;
  for (const std::optional<Buffer>& operand : operands) {
    spans.push_back(operand ? run.Floats(*operand) : absl::Span<float>());
  }
  return spans;
}

}  // namespace fixpoint::executor
