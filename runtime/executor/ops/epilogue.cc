#include "runtime/executor/ops/epilogue.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "ops/sums_of_codes.h"
#include "ops/value_flow.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "runtime/executor/ops/batch_norm.h"
#include "runtime/executor/ops/residual.h"
#include "runtime/kernels/placed_dims.h"

namespace fixpoint::executor {
namespace {

using kernels::EpilogueStage;
using Kind = EpilogueStage::Kind;
using OpAfter = OpsAfter::OpAfter;

// Whether Y of a sum has one element for each channel of an X of `dims`.
bool IsOfChannels(const Dims& y, int64_t axis, Dims dims, int channel_axis) {
  const int rank = static_cast<int>(dims.size());
  if (static_cast<int>(y.size()) > rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (i != channel_axis) dims[i] = 1;
  }
  const absl::StatusOr<Dims> placed = kernels::PlacedDims(y, rank, axis);
  return placed.ok() && *placed == dims;
}

// A sum with a bias or a residual.
std::optional<OpAfter> FindSum(const OpPlanner& sum, const Value& value,
                               const EpilogueInput& input) {
  const SumTrait& trait = *TraitsOf(sum.op()).sum;
  const bool is_x = &sum.InputValue(trait.x) == &value;
  const std::string& slot = is_x ? trait.y : trait.x;
  // What is computed later cannot be read by the kernel.
  if (!sum.IsPlanned(slot)) return std::nullopt;
  const TensorType& type = sum.InputType(slot);
  OpAfter after{&sum.op(), {}, &sum.InputValue(slot)};
  if (type == input.type) {
    // The range is not known before the run, and so no stage can have the step between codes.
    if (MayAddCodes(sum, slot)) return std::nullopt;
    after.stages = {{Kind::kAddElement}};
  } else if (is_x && type.dtype == VarType::FP32 &&
             IsOfChannels(type.dims, sum.attributes().Int(TraitsOf(sum.op()).sum->axis),
                          input.type.dims, input.channel_axis)) {
    after.stages = {{Kind::kAddChannel}};
  } else {
    return std::nullopt;
  }
  return after;
}

std::optional<OpAfter> FindOpAfter(const OpPlanner& op, const Value& value,
                                   const EpilogueInput& input) {
  const OpTraits& traits = TraitsOf(op.op());
  if (traits.sum) return FindSum(op, value, input);
  if (!traits.stage) return std::nullopt;
  if (traits.stage->normalizes) {
    if (!IsAffine(op, input.type.dims, input.channel_axis)) return std::nullopt;
    return OpAfter{&op.op(), {{Kind::kMultiplyChannel}, {Kind::kAddChannel}}};
  }
  const std::optional<StageTrait::Stages> stages = traits.stage->read(op.attributes());
  const Argument* const out = op.op().Output(traits.stage->output);
  const auto is_kept = [&op](const Value& kept) { return op.demand().IsKept(kept); };
  if (!stages || out == nullptr ||
      (stages->in_codes_alone && !BecomesCodes(*out, op.era(), is_kept))) {
    return std::nullopt;
  }
  return OpAfter{&op.op(), stages->epilogue};
}

// The slot of what a stage or a sum gives.
const std::string& OutputSlotOf(const Op& op) {
  const OpTraits& traits = TraitsOf(op);
  return traits.sum ? traits.sum->output : traits.stage->output;
}

// What a sum adds to X, which is such sums: a bias that their kernel can add.
std::optional<BiasCodes> FindBias(const OpPlanner& sum, const Value& value,
                                  const EpilogueInput& input, const SumsOfCodes& sums) {
  const std::optional<SumTrait>& trait = TraitsOf(sum.op()).sum;
  if (!trait || &sum.InputValue(trait->x) != &value || !sum.IsPlanned(trait->y) ||
      !sum.Wants(trait->output)) {
    return std::nullopt;
  }
  const BiasCodes* const bias = FindBiasCodes(sum.builder(), sum.InputValue(trait->y));
  if (bias == nullptr || !sums.CanAdd(*bias)) return std::nullopt;
  if (!IsOfChannels(sum.InputDims(trait->y), sum.attributes().Int(TraitsOf(sum.op()).sum->axis),
                    input.type.dims, input.channel_axis)) {
    return std::nullopt;
  }
  return *bias;
}

// The op that alone reads a value of `op`, if it can be planned with it.
std::optional<OpPlanner> FindNext(const OpPlanner& op, const Value& value) {
  const Op* const next = op.demand().OnlyReader(value);
  return next != nullptr ? op.After(*next) : std::nullopt;
}

// Adds the ops after `value`.
void FindFurther(const OpPlanner& op, const EpilogueInput& input, const Value* value,
                 OpsAfter* found) {
  for (;;) {
    const std::optional<OpPlanner> planner = FindNext(op, *value);
    if (!planner) return;
    std::optional<OpAfter> after = FindOpAfter(*planner, *value, input);
    if (!after) return;
    const std::string& slot = OutputSlotOf(planner->op());
    if (!planner->Wants(slot)) return;
    value = after->out = &planner->OutputValue(slot);
    found->ops.push_back(*std::move(after));
  }
}

}  // namespace

kernels::Epilogue OpsAfter::epilogue() const {
  kernels::Epilogue epilogue;
  for (const OpAfter& op : ops) {
    epilogue.insert(epilogue.end(), op.stages.begin(), op.stages.end());
  }
  return epilogue;
}

OpsAfter FindOpsAfter(const OpPlanner& op, const EpilogueInput& input) {
  OpsAfter found;
  if (op.Wants(input.slot)) FindFurther(op, input, &op.OutputValue(input.slot), &found);
  return found;
}

bool SumsOfCodes::CanAdd(const BiasCodes& bias) const {
  SumOfProducts sum;
  sum.products = products;
  sum.is_unsigned = inputs.type == kernels::CodeType::kUint8;
  sum.has_zero_point = inputs.zero_point.has_value();
  sum.has_bias = true;
  sum.has_weight_zero_points = has_weight_zero_points;
  return bias.IsOfSums(inputs, weights) && SumsFit(sum);
}

OpsAfter FindOpsAfterSums(const OpPlanner& op, const EpilogueInput& input,
                          const SumsOfCodes& sums) {
  if (!op.Wants(input.slot)) return {};
  const Value& value = op.OutputValue(input.slot);
  const std::optional<OpPlanner> sum = FindNext(op, value);
  OpsAfter found;
  if (sum) found.bias = FindBias(*sum, value, input, sums);
  if (!found.bias) return FindOpsAfter(op, input);
  const Value* const out = &sum->OutputValue(OutputSlotOf(sum->op()));
  found.ops.push_back({&sum->op(), {}, nullptr, out});
  FindFurther(op, input, out, &found);
  return found;
}

bool MayLieOverResidual(const OpPlanner& op, const OpsAfter& after) {
  const auto is_residual = [](const OpAfter& next) {
    return next.operand != nullptr && next.stages.front().kind == Kind::kAddElement;
  };
  const auto sum = std::find_if(after.ops.begin(), after.ops.end(), is_residual);
  if (sum == after.ops.end() || std::any_of(sum + 1, after.ops.end(), is_residual)) return false;
  // What a run is given stays as it is.
  if (sum->operand->op() == nullptr) return false;
  const std::vector<const Op*> readers = op.demand().Readers(*sum->operand);
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
  for (const OpAfter& next : after.ops) {
    if (const auto& stage = TraitsOf(*next.op).stage; stage && stage->normalizes) {
      OpPlanner norm = *op.After(*next.op);
      ASSIGN_OR_RETURN(const AffineNorm factors, AddAffineNorm(norm));
      planned.operands.insert(planned.operands.end(), {factors.a, factors.b});
    } else if (next.operand != nullptr) {
      const bool is_element = next.stages.front().kind == Kind::kAddElement;
      ASSIGN_OR_RETURN(const Buffer operand,
                       builder.Read(*next.operand, is_element ? input.layout : Layout::kRowMajor));
      planned.operands.push_back(operand);
      if (is_element && after.adds_to_output) planned.residual = operand;
    } else if (!next.stages.empty()) {
      planned.operands.push_back(std::nullopt);
    }
    builder.Absorb(*next.op, *value, input.type);
    absl::StrAppend(&planned.names, " + ", next.op->type());
    value = next.out;
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

absl::StatusOr<PlannedEpilogue> AbsorbOpsAfter(OpPlanner& op, const EpilogueInput& input,
                                               const OwnStages& own, const OpsAfter& after) {
  ASSIGN_OR_RETURN(PlannedEpilogue planned, AbsorbOpsAfter(op, input, after));
  planned.operands.insert(planned.operands.begin(), own.operands.begin(), own.operands.end());
  return planned;
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
