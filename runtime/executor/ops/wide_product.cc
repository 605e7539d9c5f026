#include "runtime/executor/ops/wide_product.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/wide_codes.h"

namespace fixpoint::executor {
namespace {

// An operand, whichever codes it is held as. REQUIRES: it has no zero point.
absl::StatusOr<WideCodes> ReadOperand(OpPlanner& op, absl::string_view slot, Layout layout) {
  if (const WideCodes* const wide = FindWideCodes(op, slot); wide != nullptr) {
    return InLayout(op, *wide, op.InputDims(slot), layout);
  }
  ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                   op.builder().ReadCodes(op.InputValue(slot), layout));
  return WideCodes{Widened(op, codes->codes, codes->dtype()), codes->ranges, codes->largest_code,
                   codes->channel_axis, layout};
}

}  // namespace

absl::Status PlanOnWideCodes(OpPlanner& op, const CodedProduct& product,
                             const EpilogueInput& output, int64_t operations,
                             const PlanWide& plan) {
  const ProductTrait& trait = *TraitsOf(op.op()).product;
  const float factor = trait.factor.empty() ? 1 : op.Number(trait.factor);
  ASSIGN_OR_RETURN(const WideCodes inputs, ReadOperand(op, trait.activation, output.layout));
  ASSIGN_OR_RETURN(const WideCodes weights, ReadOperand(op, trait.weight, Layout::kRowMajor));
  ASSIGN_OR_RETURN(const OwnStages own,
                   ReadOwnStages(op, output, /*adds_bias=*/product.own.bias != nullptr));
  const OpsAfter after = FindOpsAfter(op, output, own);
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::WideSums> kernel,
                   plan(own.Before(after.epilogue())));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
  const Buffer packed = AddPacking<int16_t>(op, kernel, weights.codes);
  const Buffer scales = op.Scratch("scales", VarType::FP32, output.type.dims[output.channel_axis]);
  op.AddStep({epilogue.WithOperands({inputs.codes, packed, inputs.ranges, weights.ranges}),
              {scales, epilogue.out},
              [=](const StepContext& run) {
                const float input_step = StepOf(run.Floats(inputs.ranges)[0], inputs.largest_code);
                const absl::Span<const float> ranges = run.Floats(weights.ranges);
                const absl::Span<float> all = run.Floats(scales);
                for (size_t c = 0; c < all.size(); ++c) {
                  const float range = ranges[c % ranges.size()];
                  all[c] = input_step * StepOf(range, weights.largest_code) * factor;
                }
                const auto stages = epilogue.OperandsOf(run);
                kernel->Run({run.Of<int16_t>(inputs.codes), run.Of<uint8_t>(packed), all, stages},
                            run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              kernel->implementation(),
              operations,
              absl::StrCat(op.type(), " on wide integers", epilogue.names)});
  AddFunction(op, output, own, epilogue.out);
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
