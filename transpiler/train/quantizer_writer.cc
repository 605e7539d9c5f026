#include "transpiler/train/quantizer_writer.h"

#include <glog/logging.h>

#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/slots.h"
#include "transpiler/pipeline/op_templates.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

// The argument of a slot; "" if there is no such slot.
std::string OutputOf(const OpDesc& op, const std::string& slot) {
  const OpDesc::Var* const output = FindSlot(op.outputs(), slot);
  return output == nullptr ? "" : output->arguments(0);
}
std::string InputOf(const OpDesc& op, const std::string& slot) {
  const OpDesc::Var* const input = FindSlot(op.inputs(), slot);
  return input == nullptr ? "" : input->arguments(0);
}

}  // namespace

QuantizerWriter::QuantizerWriter(Program* program, TrainContext* context, absl::string_view pass)
    : program_(*program),
      quantizers_(context->quantizers),
      context_(*context),
      rewriter_(program, pass),
      state_(program, context, &rewriter_),
      ops_(program, context, pass, &state_, &rewriter_),
      formulas_(program, context, &state_, &ops_),
      readers_(&rewriter_),
      schedule_(ScheduleOf(context_.plan)),
      types_(program_),
      facts_(context_.plan, EraOf(program_), &types_) {
  for (const Site& site : context_.plan.sites) {
    if (!site.shared_scale.empty()) shared_[site.shared_scale].push_back(&site);
  }
}

absl::Status QuantizerWriter::WriteAll() {
  FindAllRequantized();
  for (const Site& site : context_.plan.sites) {
    if (site.role != SlotRole::BIAS) RETURN_IF_ERROR(WriteOnce(site));
  }
  for (const Site& site : context_.plan.sites) {
    if (site.role == SlotRole::BIAS) RETURN_IF_ERROR(WriteBias(site));
  }
  absl::flat_hash_map<const Op*, int> state_bits;
  for (const Decision& decision : context_.plan.decisions) {
    if (decision.state_bits == 0) continue;
    state_bits[decision.op] = decision.state_bits;
    readers_.SetStateBits(*decision.op, decision.state_bits);
  }
  for (const auto& [forward, gradient] : context_.plan.gradients) {
    const auto found = state_bits.find(forward);
    if (found != state_bits.end()) readers_.SetStateBits(*gradient, found->second);
  }
  readers_.Mark(context_.target.conventions().reference_marks());
  return absl::OkStatus();
}

void QuantizerWriter::FindAllRequantized() {
  if (context_.target.requantization() != Target::MULTIPLIER_AND_SHIFT) return;
  int of_floats = 0;
  std::string first;
  for (const Site& site : context_.plan.sites) {
    if (site.role != SlotRole::ACTIVATION || site.observe || site.is_of_gradient()) continue;
    // What is fed is floats on every machine.
    if (site.value->origin() == Value::Origin::kEntry) continue;
    const auto sums = FindRequantizedSums(site, facts_, quantizers_, EraOf(context_.target));
    if (const auto* const found = std::get_if<RequantizedSums>(&sums)) {
      requantized_.emplace(&site, *found);
    } else if (of_floats++ == 0) {
      first = absl::StrCat(site.value->variable().name(), ": ", std::get<std::string>(sums));
    }
  }
  if (of_floats == 0) return;
  context_.notes.push_back(absl::StrCat(
      "activations whose codes are made of floats, not by a multiplier and a shift: ", of_floats,
      ", the first is ", first));
}

absl::Status QuantizerWriter::WriteOnce(const Site& site) {
  if (!written_.insert(&site).second) return absl::OkStatus();
  if (site.shared_scale.empty()) return Write(site);
  // The whole group is written where its first site is.
  const std::vector<const Site*>& group = shared_.at(site.shared_scale);
  written_.insert(group.begin(), group.end());
  return WriteSharedScale(group);
}

absl::Status QuantizerWriter::WriteBias(const Site& site) {
  const Argument& bias = *site.readers.front();
  SiteWriting writing{&site, nullptr, nullptr, ops_.PlaceOf(site), /*is_test=*/false};
  ASSIGN_OR_RETURN(const std::string numbers, ops_.DeclareLike(writing, ".quant_dequant"));
  OpBuilder quantize = rewriter_.New(kQuantizeBias);
  quantize.Input("X", site.value->variable().name()).Output("Out", numbers);
  if (const Site* const of_sums = SiteOfAddedSums(bias, facts_); of_sums != nullptr) {
    // The sum does not read the product any more. The scale is known once there are sums.
    writing.place.before = &bias.op();
    quantize.Input("InputScale", scales_.at(of_sums))
        .IntAttr("input_largest_code", CodesOfScale(StoredSpecOf(*of_sums)))
        .IntAttr("weight_largest_code", 1);
  } else {
    const Op& product = *ProductOfBias(bias);
    const ProductSites operands = SitesOfProduct(product, facts_);
    writing.place.before = &product;
    quantize.Input("InputScale", scales_.at(operands.activation))
        .Input("WeightScale", scales_.at(operands.weight))
        .IntAttr("input_largest_code", CodesOfScale(StoredSpecOf(*operands.activation)))
        .IntAttr("weight_largest_code", CodesOfScale(StoredSpecOf(*operands.weight)));
  }
  // Otherwise what the schema says.
  if (site.spec.bits() != 32) quantize.IntAttr("bit_length", site.spec.bits());
  ops_.Insert(writing, quantize);
  ASSIGN_OR_RETURN(const std::string scheduled, Schedule(writing, numbers));
  return readers_.Redirect(*writing.site, *program_.Find(*writing.place.block, scheduled));
}

QuantSpec QuantizerWriter::StoredSpecOf(const Site& site) const {
  return StoredSpec(*context_.quantizers.Find(site.spec.quantizer()), site.spec);
}

absl::Status QuantizerWriter::WriteRequantized(const Site& site, const RequantizedSums& sums) {
  const ProductSites& operands = sums.operands;
  // Their scales are read.
  RETURN_IF_ERROR(WriteOnce(*operands.activation));
  RETURN_IF_ERROR(WriteOnce(*operands.weight));
  const SitePlace place = ops_.PlaceOf(site);
  ASSIGN_OR_RETURN(const std::string scale, Observe(site, place));
  SiteWriting writing = Begin(site, place);
  ASSIGN_OR_RETURN(const std::string numbers, ops_.DeclareLike(writing, ".requantized"));
  OpBuilder requantize = rewriter_.New(kRequantize);
  requantize.Input("X", site.value->variable().name())
      .Input("InputScale", scales_.at(operands.activation))
      .Input("WeightScale", scales_.at(operands.weight))
      .Input("OutputScale", scale)
      .Output("Out", numbers)
      .IntAttr("input_largest_code", CodesOfScale(StoredSpecOf(*operands.activation)))
      .IntAttr("weight_largest_code", CodesOfScale(StoredSpecOf(*operands.weight)))
      .IntAttr("output_largest_code", CodesOfScale(StoredSpecOf(site)))
      .IntAttr("channel_axis", sums.channel_axis)
      .IntAttr("multiplier_bits", context_.target.requantization_multiplier_bits())
      .IntAttr("roundings", context_.target.requantization_roundings());
  ops_.Insert(writing, requantize);
  return WriteWithScale(site, place, scale, numbers);
}

SiteWriting QuantizerWriter::Begin(const Site& site, const SitePlace& place, bool observer) const {
  const Quantizer* quantizer = quantizers_.Find(site.spec.quantizer());
  CHECK(quantizer != nullptr) << "the plan is not validated";
  const Era era = EraOf(context_.target);
  const QuantizerRecipe* const recipe = observer ? FindObserver(*quantizer, EraOf(program_), era)
                                                 : FindRecipe(*quantizer, site.spec, era);
  CHECK(recipe != nullptr) << "the plan is not validated";
  return SiteWriting{&site, quantizer, recipe, place,
                     context_.plan.is_inference && recipe->has_is_test};
}

absl::StatusOr<std::string> QuantizerWriter::Schedule(SiteWriting& writing,
                                                      const std::string& quantized) {
  if (schedule_.quantize_from_step() <= 1) return quantized;
  ASSIGN_OR_RETURN(std::string scheduled, ops_.DeclareLike(writing, ".scheduled"));
  ASSIGN_OR_RETURN(OpBuilder select, ops_.SelectFrom(schedule_.quantize_from_step(), scheduled));
  select.Input("X", quantized).Input("Before", writing.site->value->variable().name());
  ops_.Insert(writing, select);
  return scheduled;
}

absl::Status QuantizerWriter::AddState(SiteWriting& writing, OpBuilder& quantize) {
  for (const QuantizerState& state : writing.recipe->state) {
    if (writing.is_test && state.training_only) continue;
    if (state.input.empty() && state.output.empty()) continue;
    ASSIGN_OR_RETURN(const std::string name, state_.Add(*writing.site, *writing.quantizer, state));
    if (!state.input.empty()) quantize.Input(state.input, name);
    if (!state.output.empty()) quantize.Output(state.output, name);
  }
  if (!writing.recipe->step_counter_input.empty() && !writing.is_test) {
    ASSIGN_OR_RETURN(const std::string counter, ops_.StepCounter());
    quantize.Input(writing.recipe->step_counter_input, counter);
  }
  // The pass that trains a scale also ends its training.
  if (schedule_.has_freeze_scales_from_step() && writing.recipe->has_is_test && !writing.is_test &&
      !writing.site->has_own_gradient) {
    ASSIGN_OR_RETURN(const std::string counter, ops_.StepCounter());
    quantize.Input(kStepSlot, counter)
        .Attr(MakeLongAttr(kTestFromStepAttr, schedule_.freeze_scales_from_step()));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpBuilder> QuantizerWriter::BeginQuantizeOp(const SiteWriting& writing,
                                                           std::string* numbers) {
  const bool fused = writing.recipe->dequantize_op.empty();
  OpBuilder builder = rewriter_.New(writing.recipe->quantize_op);
  builder.Input("X", writing.site->value->variable().name());
  ASSIGN_OR_RETURN(*numbers, ops_.DeclareLike(writing, fused ? ".quant_dequant" : ".quantized"));
  builder.Output("Out", *numbers);
  writing.quantizer->AddQuantizeAttrs(writing.site->spec, EraOf(context_.target), builder);
  if (writing.recipe->has_is_test) builder.BoolAttr("is_test", writing.is_test);
  return builder;
}

absl::Status QuantizerWriter::FinishQuantizeOp(SiteWriting& writing, OpBuilder quantize,
                                               const std::string& numbers) {
  std::string scale = OutputOf(quantize.op(), writing.recipe->scale_output);
  if (scale.empty()) scale = InputOf(quantize.op(), writing.recipe->scale_input);
  const std::string zero_point = OutputOf(quantize.op(), writing.recipe->zero_point_output);
  scales_[writing.site] = scale;
  ops_.Insert(writing, quantize);
  if (writing.recipe->dequantize_op.empty()) {
    ASSIGN_OR_RETURN(const std::string scheduled, Schedule(writing, numbers));
    return readers_.Redirect(*writing.site, *program_.Find(*writing.place.block, scheduled));
  }
  ASSIGN_OR_RETURN(const std::string dequantized,
                   ops_.DeclareLike(writing, ".quantized.dequantized"));
  OpBuilder builder = rewriter_.New(writing.recipe->dequantize_op);
  builder.Input("X", numbers).Input(writing.recipe->scale_input_of_dequantize, scale);
  if (!zero_point.empty()) {
    builder.Input(writing.recipe->zero_point_input_of_dequantize, zero_point);
  }
  builder.Output("Out", dequantized);
  writing.quantizer->AddDequantizeAttrs(writing.site->spec, EraOf(context_.target), builder);
  ops_.Insert(writing, builder);
  ASSIGN_OR_RETURN(const std::string scheduled, Schedule(writing, dequantized));
  return readers_.Redirect(*writing.site, *program_.Find(*writing.place.block, scheduled));
}

absl::Status QuantizerWriter::Write(const Site& site) {
  if (site.observe) return Observe(site, ops_.PlaceOf(site)).status();
  if (const auto sums = requantized_.find(&site); sums != requantized_.end()) {
    return WriteRequantized(site, sums->second);
  }
  SiteWriting writing = Begin(site, ops_.PlaceOf(site));
  if (!writing.quantizer->SummaryOps(site.spec, EraOf(context_.target)).empty()) {
    ASSIGN_OR_RETURN(const std::string scale, Observe(site, writing.place));
    return WriteWithScale(site, writing.place, scale);
  }
  std::string numbers;
  ASSIGN_OR_RETURN(OpBuilder quantize, BeginQuantizeOp(writing, &numbers));
  const QuantizerForward forward = writing.quantizer->Forward(UseOf(site, EraOf(context_.target)));
  RETURN_IF_ERROR(formulas_.Write(writing, forward, quantize));
  RETURN_IF_ERROR(AddState(writing, quantize));
  RETURN_IF_ERROR(formulas_.Check(writing, quantize.op()));
  context_.quantizer_names[&site][Quantizer::kResult] = numbers;
  const std::string& scale_output = writing.recipe->scale_output;
  if (!scale_output.empty() && OutputOf(quantize.op(), scale_output).empty()) {
    // A dynamic quantizer's scale is an output like any other.
    const Target::Conventions& conventions = context_.target.conventions();
    const Variable& variable = site.value->variable();
    const std::string base = variable.name() + conventions.scale_suffix();
    const bool per_channel = site.spec.granularity() == QuantSpec::PER_CHANNEL;
    const int64_t count = per_channel ? variable.tensor()->dims(site.spec.axis()) : 1;
    const bool persists = site.role == SlotRole::WEIGHT && conventions.weight_scales_persist();
    ASSIGN_OR_RETURN(const std::string scale,
                     persists ? state_.Declare(base, VarType::FP32, {count}, 0.001)
                              : ops_.DeclareScale(*writing.place.block, base, count));
    quantize.Output(scale_output, scale);
  }
  return FinishQuantizeOp(writing, std::move(quantize), numbers);
}

absl::StatusOr<std::string> QuantizerWriter::Summarize(SiteWriting& writing) {
  std::string summary = writing.site->value->variable().name();
  const Era era = EraOf(context_.target);
  OpTemplates templates(program_, &rewriter_, *writing.place.block, era, summary);
  templates.Bind(Quantizer::kValue, summary);
  for (OpDesc& op : writing.quantizer->SummaryOps(writing.site->spec, era)) {
    ASSIGN_OR_RETURN(OpBuilder filled, templates.Fill(std::move(op)));
    summary = filled.op().outputs().rbegin()->arguments(0);
    ops_.Insert(writing, filled);
  }
  return summary;
}

absl::StatusOr<std::string> QuantizerWriter::Observe(const Site& site, const SitePlace& place) {
  SiteWriting writing = Begin(site, place, /*observer=*/true);
  ASSIGN_OR_RETURN(const std::string observed, Summarize(writing));
  OpBuilder observe = rewriter_.New(writing.recipe->quantize_op);
  observe.Input("X", observed);
  if (writing.recipe->observer_needs_output) {
    const Variable& like = *program_.Find(*place.block, observed);
    ASSIGN_OR_RETURN(const std::string copy, ops_.DeclareLike(writing, like, ".observed"));
    observe.Output("Out", copy);
  }
  writing.quantizer->AddObserverAttrs(site.spec, observe);
  observe.BoolAttr("is_test", writing.is_test);
  RETURN_IF_ERROR(AddState(writing, observe));
  std::string scale = OutputOf(observe.op(), writing.recipe->scale_output);
  ops_.Insert(writing, observe);
  return scale;
}

absl::Status QuantizerWriter::WriteSharedScale(const std::vector<const Site*>& sites) {
  // Each input is observed, and the largest of the ranges quantizes all of them. Both happen
  // directly before the op that reads them, where all are known.
  const Op& reader = sites.front()->readers.front()->op();
  SitePlace place{&reader.block(), nullptr, &reader, ops_.PlaceOf(*sites.front()).role};
  std::string shared;
  for (const Site* site : sites) {
    ASSIGN_OR_RETURN(const std::string range, Observe(*site, place));
    if (shared.empty()) {
      shared = range;
      continue;
    }
    ASSIGN_OR_RETURN(const std::string larger,
                     ops_.DeclareScale(*place.block, site->shared_scale + ".shared_scale", 1));
    SiteWriting writing = Begin(*site, place);
    ops_.Insert(writing, rewriter_.New("elementwise_max")
                             .Input("X", shared)
                             .Input("Y", range)
                             .Output("Out", larger)
                             .IntAttr("axis", -1));
    shared = larger;
  }
  for (const Site* site : sites) RETURN_IF_ERROR(WriteWithScale(*site, place, shared));
  return absl::OkStatus();
}

absl::Status QuantizerWriter::WriteWithScale(const Site& site, const SitePlace& place,
                                             const std::string& scale, const std::string& numbers) {
  SiteWriting writing = Begin(site, place);
  writing.is_test = true;  // reads the scale that it is given, and follows no state
  std::string quantized;
  ASSIGN_OR_RETURN(OpBuilder quantize, BeginQuantizeOp(writing, &quantized));
  if (!numbers.empty()) quantize.op().mutable_inputs(0)->set_arguments(0, numbers);
  for (const QuantizerState& state : writing.recipe->state) {
    if (!state.is_scale) continue;
    quantize.Input(state.input, scale);
    if (!state.output.empty()) quantize.Output(state.output, scale);
  }
  return FinishQuantizeOp(writing, std::move(quantize), quantized);
}

}  // namespace fixpoint
