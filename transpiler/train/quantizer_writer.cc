#include "transpiler/train/quantizer_writer.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/forward_ops.h"
#include "ops/infer.h"
#include "ops/infer_in_program.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/slots.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/op_templates.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/step_counter.h"

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

// The op of `block` in which `op` runs: itself, or the one that runs the block that it is in; null
// if `op` is in a block that no op runs.
const Op* AncestorIn(const Block& block, const Op& op) {
  const Op* at = &op;
  while (at != nullptr && &at->block() != &block) at = at->block().owner();
  return at;
}

}  // namespace

QuantizerWriter::QuantizerWriter(Program* program, TrainContext* context, absl::string_view pass)
    : program_(*program),
      quantizers_(context->quantizers),
      context_(*context),
      pass_(pass),
      rewriter_(program, pass),
      state_(program, context, &rewriter_),
      schedule_(ScheduleOf(context_.plan)) {}

absl::Status QuantizerWriter::WriteAll() {
  absl::btree_map<std::string, std::vector<const Site*>> shared;
  for (const Site& site : context_.plan.sites) {
    if (!site.shared_scale.empty()) shared[site.shared_scale].push_back(&site);
  }
  for (const Site& site : context_.plan.sites) {
    if (site.role == SlotRole::BIAS) continue;
    if (site.shared_scale.empty()) {
      RETURN_IF_ERROR(Write(site));
      continue;
    }
    // The whole group is written where its first site is.
    std::vector<const Site*>& group = shared[site.shared_scale];
    if (group.front() == &site) RETURN_IF_ERROR(WriteSharedScale(group));
  }
  OpTypes types(program_);
  const SiteFacts facts(context_.plan, EraOf(program_), &types);
  for (const Site& site : context_.plan.sites) {
    if (site.role == SlotRole::BIAS) RETURN_IF_ERROR(WriteBias(site, facts));
  }
  Mark();
  return absl::OkStatus();
}

absl::Status QuantizerWriter::WriteBias(const Site& site, const SiteFacts& facts) {
  const Argument& bias = *site.readers.front();
  const Op& product = *ProductOfBias(bias);
  const ProductSites operands = SitesOfProduct(product, facts);
  const Site* const of_sums = SiteOfAddedSums(bias, facts);
  Place place = PlaceOf(site);
  // Where the steps are known: those of codes of sums only after these.
  place.before = of_sums != nullptr ? &bias.op() : &product;
  Writing writing{&site, nullptr, nullptr, place, /*is_test=*/false};
  ASSIGN_OR_RETURN(const std::string numbers, DeclareLike(writing, ".quant_dequant"));
  OpBuilder quantize = rewriter_.New(kQuantizeBias);
  quantize.Input("X", site.value->variable().name()).Output("Out", numbers);
  if (of_sums != nullptr) {
    quantize.Input("InputScale", scales_.at(of_sums))
        .IntAttr("input_largest_code", CodesOfScale(StoredSpecOf(*of_sums)))
        .IntAttr("weight_largest_code", 1);
  } else {
    quantize.Input("InputScale", scales_.at(operands.activation))
        .Input("WeightScale", scales_.at(operands.weight))
        .IntAttr("input_largest_code", CodesOfScale(StoredSpecOf(*operands.activation)))
        .IntAttr("weight_largest_code", CodesOfScale(StoredSpecOf(*operands.weight)));
  }
  Insert(writing, quantize);
  ASSIGN_OR_RETURN(const std::string scheduled, Schedule(writing, numbers));
  return Rewire(writing, scheduled);
}

QuantSpec QuantizerWriter::StoredSpecOf(const Site& site) const {
  return StoredSpec(*context_.quantizers.Find(site.spec.quantizer()), site.spec);
}

QuantizerWriter::Place QuantizerWriter::PlaceOf(const Site& site) const {
  const Value& value = *site.value;
  Place place{&value.block(), nullptr, nullptr, kForward};
  const Op* first_reader = site.readers.empty() ? value.op() : &site.readers.front()->op();
  if (context_.target.conventions().copy_op_role() && first_reader != nullptr) {
    place.role = first_reader->role();
  }
  switch (value.origin()) {
    case Value::Origin::kWrite:
    case Value::Origin::kExit:
      place.after = value.op();
      break;
    case Value::Origin::kLoopHead:
      break;
    case Value::Origin::kEntry:
      // Before the first reader, outside the loops that it is in.
      for (const Argument* reader : site.readers) {
        const Op* op = AncestorIn(value.block(), reader->op());
        if (op == nullptr) continue;
        if (place.before == nullptr || op->IsBefore(*place.before)) place.before = op;
      }
      break;
  }
  return place;
}

QuantizerWriter::Writing QuantizerWriter::Begin(const Site& site, const Place& place,
                                                bool observer) const {
  const Quantizer* quantizer = quantizers_.Find(site.spec.quantizer());
  CHECK(quantizer != nullptr) << "the plan is not validated";
  const Era era = EraOf(context_.target);
  const QuantizerRecipe* const recipe = observer ? FindObserver(*quantizer, EraOf(program_), era)
                                                 : FindRecipe(*quantizer, site.spec, era);
  CHECK(recipe != nullptr) << "the plan is not validated";
  return Writing{&site, quantizer, recipe, place,
                 context_.plan.is_inference && recipe->has_is_test};
}

absl::StatusOr<std::string> QuantizerWriter::DeclareScale(const Block& block,
                                                          const std::string& base, int64_t count) {
  ASSIGN_OR_RETURN(const Variable* scale,
                   rewriter_.AddTensor(block, rewriter_.FreshName(base), VarType::FP32, {count}));
  return scale->name();
}

absl::StatusOr<std::string> QuantizerWriter::DeclareLike(const Writing& writing,
                                                         const Variable& like,
                                                         absl::string_view suffix) {
  ASSIGN_OR_RETURN(const Variable* variable,
                   rewriter_.AddVariable(*writing.place.block,
                                         rewriter_.FreshName(absl::StrCat(
                                             writing.site->value->variable().name(), suffix)),
                                         like.desc()->type()));
  return variable->name();
}

absl::StatusOr<std::string> QuantizerWriter::StepCounter() {
  if (step_counter_.empty()) {
    ASSIGN_OR_RETURN(step_counter_, AddStepCounter(program_, pass_, &state_, &rewriter_));
  }
  return step_counter_;
}

absl::StatusOr<OpBuilder> QuantizerWriter::SelectFrom(int64_t step, const std::string& out) {
  ASSIGN_OR_RETURN(const std::string counter, StepCounter());
  OpBuilder select = rewriter_.New(kSelectFromStep);
  select.Input("Step", counter).Output("Out", out).Attr(MakeLongAttr("from_step", step));
  return select;
}

absl::StatusOr<std::string> QuantizerWriter::Schedule(Writing& writing,
                                                      const std::string& quantized) {
  if (schedule_.quantize_from_step() <= 1) return quantized;
  ASSIGN_OR_RETURN(std::string scheduled, DeclareLike(writing, ".scheduled"));
  ASSIGN_OR_RETURN(OpBuilder select, SelectFrom(schedule_.quantize_from_step(), scheduled));
  select.Input("X", quantized).Input("Before", writing.site->value->variable().name());
  Insert(writing, select);
  return scheduled;
}

absl::Status QuantizerWriter::AddState(Writing& writing, OpBuilder& quantize) {
  for (const QuantizerState& state : writing.recipe->state) {
    if (writing.is_test && state.training_only) continue;
    if (state.input.empty() && state.output.empty()) continue;
    ASSIGN_OR_RETURN(const std::string name, state_.Add(*writing.site, *writing.quantizer, state));
    if (!state.input.empty()) quantize.Input(state.input, name);
    if (!state.output.empty()) quantize.Output(state.output, name);
  }
  if (!writing.recipe->step_counter_input.empty() && !writing.is_test) {
    ASSIGN_OR_RETURN(const std::string counter, StepCounter());
    quantize.Input(writing.recipe->step_counter_input, counter);
  }
  // The pass that trains a scale also ends its training.
  if (schedule_.has_freeze_scales_from_step() && writing.recipe->has_is_test && !writing.is_test &&
      !writing.site->has_own_gradient) {
    ASSIGN_OR_RETURN(const std::string counter, StepCounter());
    quantize.Input(kStepSlot, counter)
        .Attr(MakeLongAttr(kTestFromStepAttr, schedule_.freeze_scales_from_step()));
  }
  return absl::OkStatus();
}

void QuantizerWriter::Insert(Writing& writing, OpBuilder& op) {
  Place& place = writing.place;
  op.IntAttr("op_role", place.role).StringAttr(kInsertedByAttr, pass_);
  if (place.before != nullptr) {
    rewriter_.InsertBefore(*place.before, op);
    return;
  }
  const Op*& last = place.after == nullptr ? last_at_head_[place.block] : last_after_[place.after];
  if (last != nullptr) {
    last = &rewriter_.InsertAfter(*last, op);
  } else if (place.after != nullptr) {
    last = &rewriter_.InsertAfter(*place.after, op);
  } else {
    last = &rewriter_.Prepend(*place.block, op);
  }
}

absl::Status QuantizerWriter::WriteOps(Writing& writing, std::vector<OpDesc> ops, int role,
                                       absl::flat_hash_map<std::string, std::string>* names) {
  const Site& site = *writing.site;
  const std::string& value = site.value->variable().name();
  OpTemplates templates(program_, &rewriter_, *writing.place.block, EraOf(context_.target), value);
  templates.Bind(Quantizer::kValue, value);
  for (const auto& [name, variable] : *names) templates.Bind(name, variable);
  Writing with_role = writing;
  with_role.place.role = role;
  for (OpDesc& op : ops) {
    const OpDesc written = op;
    ASSIGN_OR_RETURN(OpBuilder filled, templates.Fill(std::move(op)));
    for (int slot = 0; slot < written.outputs_size(); ++slot) {
      for (int i = 0; i < written.outputs(slot).arguments_size(); ++i) {
        (*names)[written.outputs(slot).arguments(i)] = filled.op().outputs(slot).arguments(i);
      }
    }
    Insert(with_role, filled);
  }
  return absl::OkStatus();
}

absl::Status QuantizerWriter::WriteInitialValues(Writing& writing) {
  const Site& site = *writing.site;
  const Era era = EraOf(context_.target);
  if (site.range.has_value()) {
    FirstValues values = FirstValuesOfRange(site, *writing.quantizer, *writing.recipe, era);
    if (!values.ops.empty()) {
      context_.first_values.push_back(std::move(values));
      return absl::OkStatus();
    }
  }
  std::vector<OpDesc> ops = writing.quantizer->InitialOps(UseOf(site, era));
  // A range that is known is the value of the state that holds it; other states are told by the
  // first tensor.
  const auto& states = writing.recipe->state;
  const bool holds_range =
      writing.quantizer->scheme() == QuantSpec::SYMMETRIC &&
      std::any_of(states.begin(), states.end(), [](const auto& state) { return state.is_scale; });
  if (ops.empty() || (site.range.has_value() && holds_range) || context_.plan.is_inference) {
    return absl::OkStatus();
  }
  absl::flat_hash_map<std::string, std::string> names;
  RETURN_IF_ERROR(WriteOps(writing, std::move(ops), kLearningRate, &names));
  const int64_t first_step = std::max<int64_t>(1, schedule_.quantize_from_step());
  for (const QuantizerState& state : writing.recipe->state) {
    const auto found = names.find(state.name);
    if (found == names.end()) continue;
    ASSIGN_OR_RETURN(const std::string variable, state_.Add(site, *writing.quantizer, state));
    const TensorInfo declared = TensorInfoOf(program_.Find(program_.block(0), variable)->desc());
    const TensorInfo first =
        TensorInfoOf(program_.Find(*writing.place.block, found->second)->desc());
    if (declared.has_dims() && first.has_dims() && !MayBeEqual(declared.dims, first.dims)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", site.value->variable().name(), "\": quantizer ", site.spec.quantizer(),
                       ": initial: gives \"", state.name, "\" as ", DimsText(first.dims), "; want ",
                       DimsText(declared.dims)));
    }
    ASSIGN_OR_RETURN(OpBuilder select, SelectFrom(first_step + 1, variable));
    select.Input("X", variable).Input("Before", found->second);
    Writing with_role = writing;
    with_role.place.role = kLearningRate;
    Insert(with_role, select);
  }
  return absl::OkStatus();
}

absl::Status QuantizerWriter::CheckIsKnownWithoutTraining(const Writing& writing) const {
  const Site& site = *writing.site;
  const FirstValues values =
      FirstValuesOfRange(site, *writing.quantizer, *writing.recipe, EraOf(context_.target));
  for (const QuantizerState& state : writing.recipe->state) {
    if (!state.is_trained || state.is_scale) continue;
    const bool is_in_range = std::count(values.states.begin(), values.states.end(), state.name) > 0;
    if (is_in_range && site.range.has_value()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "\"", site.value->variable().name(), "\": quantizer ", site.spec.quantizer(),
        " computes its range from \"", state.name,
        "\", which training finds, and the program has no backward op; want ",
        is_in_range ? "a profile with the range that it begins with"
                    : "a quantizer that a profile's range tells all that it computes from"));
  }
  return absl::OkStatus();
}

absl::Status QuantizerWriter::WriteFormula(Writing& writing, const QuantizerForward& forward,
                                           OpBuilder& quantize) {
  RETURN_IF_ERROR(WriteInitialValues(writing));
  const Site& site = *writing.site;
  if (context_.plan.is_inference) RETURN_IF_ERROR(CheckIsKnownWithoutTraining(writing));
  for (const QuantizerState& state : writing.recipe->state) {
    if (!state.training_only) {
      RETURN_IF_ERROR(state_.Add(site, *writing.quantizer, state).status());
    }
  }
  auto& names = context_.quantizer_names[&site];
  RETURN_IF_ERROR(WriteOps(writing, forward.ops, writing.place.role, &names));
  if (forward.quantized != Quantizer::kValue) {
    quantize.op().mutable_inputs(0)->set_arguments(0, names.at(forward.quantized));
  }
  for (const auto& [slot, name] : forward.inputs) quantize.Input(slot, names.at(name));
  return absl::OkStatus();
}

absl::Status QuantizerWriter::CheckFormula(const Writing& writing, const OpDesc& quantize) const {
  const Variable& variable = writing.site->value->variable();
  const auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("\"", variable.name(), "\": quantizer ",
                                                   writing.site->spec.quantizer(), ": ", parts...));
  };
  const auto inferred =
      InferOutputs(quantize, EraOf(context_.target), program_, *writing.place.block);
  if (!inferred.ok()) return wrong(quantize.type(), ": ", inferred.status().message());
  const TensorInfo value = TensorInfoOf(variable.desc());
  const auto& result = inferred->front().dims;
  if (!result || !value.has_dims() || MayBeEqual(value.dims, *result)) return absl::OkStatus();
  return wrong("gives ", DimsText(*result), " for a value that is ", DimsText(value.dims));
}

absl::StatusOr<OpBuilder> QuantizerWriter::BeginQuantizeOp(const Writing& writing,
                                                           std::string* numbers) {
  const bool fused = writing.recipe->dequantize_op.empty();
  OpBuilder builder = rewriter_.New(writing.recipe->quantize_op);
  builder.Input("X", writing.site->value->variable().name());
  ASSIGN_OR_RETURN(*numbers, DeclareLike(writing, fused ? ".quant_dequant" : ".quantized"));
  builder.Output("Out", *numbers);
  writing.quantizer->AddQuantizeAttrs(writing.site->spec, EraOf(context_.target), builder);
  if (writing.recipe->has_is_test) builder.BoolAttr("is_test", writing.is_test);
  return builder;
}

absl::Status QuantizerWriter::FinishQuantizeOp(Writing& writing, OpBuilder quantize,
                                               const std::string& numbers) {
  std::string scale = OutputOf(quantize.op(), writing.recipe->scale_output);
  if (scale.empty()) scale = InputOf(quantize.op(), writing.recipe->scale_input);
  const std::string zero_point = OutputOf(quantize.op(), writing.recipe->zero_point_output);
  scales_[writing.site] = scale;
  Insert(writing, quantize);
  if (writing.recipe->dequantize_op.empty()) {
    ASSIGN_OR_RETURN(const std::string scheduled, Schedule(writing, numbers));
    return Rewire(writing, scheduled);
  }
  ASSIGN_OR_RETURN(const std::string dequantized, DeclareLike(writing, ".quantized.dequantized"));
  OpBuilder builder = rewriter_.New(writing.recipe->dequantize_op);
  builder.Input("X", numbers).Input(writing.recipe->scale_input_of_dequantize, scale);
  if (!zero_point.empty()) {
    builder.Input(writing.recipe->zero_point_input_of_dequantize, zero_point);
  }
  builder.Output("Out", dequantized);
  writing.quantizer->AddDequantizeAttrs(writing.site->spec, EraOf(context_.target), builder);
  Insert(writing, builder);
  ASSIGN_OR_RETURN(const std::string scheduled, Schedule(writing, dequantized));
  return Rewire(writing, scheduled);
}

absl::Status QuantizerWriter::Write(const Site& site) {
  if (site.observe) return Observe(site, PlaceOf(site)).status();
  Writing writing = Begin(site, PlaceOf(site));
  if (!writing.quantizer->SummaryOps(site.spec, EraOf(context_.target)).empty()) {
    ASSIGN_OR_RETURN(const std::string scale, Observe(site, writing.place));
    return WriteWithScale(site, writing.place, scale);
  }
  std::string numbers;
  ASSIGN_OR_RETURN(OpBuilder quantize, BeginQuantizeOp(writing, &numbers));
  const QuantizerForward forward = writing.quantizer->Forward(UseOf(site, EraOf(context_.target)));
  RETURN_IF_ERROR(WriteFormula(writing, forward, quantize));
  RETURN_IF_ERROR(AddState(writing, quantize));
  RETURN_IF_ERROR(CheckFormula(writing, quantize.op()));
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
                              : DeclareScale(*writing.place.block, base, count));
    quantize.Output(scale_output, scale);
  }
  return FinishQuantizeOp(writing, std::move(quantize), numbers);
}

absl::StatusOr<std::string> QuantizerWriter::Summarize(Writing& writing) {
  std::string summary = writing.site->value->variable().name();
  const Era era = EraOf(context_.target);
  OpTemplates templates(program_, &rewriter_, *writing.place.block, era, summary);
  templates.Bind(Quantizer::kValue, summary);
  for (OpDesc& op : writing.quantizer->SummaryOps(writing.site->spec, era)) {
    ASSIGN_OR_RETURN(OpBuilder filled, templates.Fill(std::move(op)));
    summary = filled.op().outputs().rbegin()->arguments(0);
    Insert(writing, filled);
  }
  return summary;
}

absl::StatusOr<std::string> QuantizerWriter::Observe(const Site& site, const Place& place) {
  Writing writing = Begin(site, place, /*observer=*/true);
  ASSIGN_OR_RETURN(const std::string observed, Summarize(writing));
  OpBuilder observe = rewriter_.New(writing.recipe->quantize_op);
  observe.Input("X", observed);
  if (writing.recipe->observer_needs_output) {
    const Variable& like = *program_.Find(*place.block, observed);
    ASSIGN_OR_RETURN(const std::string copy, DeclareLike(writing, like, ".observed"));
    observe.Output("Out", copy);
  }
  writing.quantizer->AddObserverAttrs(site.spec, observe);
  observe.BoolAttr("is_test", writing.is_test);
  RETURN_IF_ERROR(AddState(writing, observe));
  std::string scale = OutputOf(observe.op(), writing.recipe->scale_output);
  Insert(writing, observe);
  return scale;
}

absl::Status QuantizerWriter::WriteSharedScale(const std::vector<const Site*>& sites) {
  // Each input is observed, and the largest of the ranges quantizes all of them. Both happen
  // directly before the op that reads them, where all are known.
  const Op& reader = sites.front()->readers.front()->op();
  Place place{&reader.block(), nullptr, &reader, PlaceOf(*sites.front()).role};
  std::string shared;
  for (const Site* site : sites) {
    ASSIGN_OR_RETURN(const std::string range, Observe(*site, place));
    if (shared.empty()) {
      shared = range;
      continue;
    }
    ASSIGN_OR_RETURN(const std::string larger,
                     DeclareScale(*place.block, site->shared_scale + ".shared_scale", 1));
    Writing writing = Begin(*site, place);
    Insert(writing, rewriter_.New("elementwise_max")
                        .Input("X", shared)
                        .Input("Y", range)
                        .Output("Out", larger)
                        .IntAttr("axis", -1));
    shared = larger;
  }
  for (const Site* site : sites) RETURN_IF_ERROR(WriteWithScale(*site, place, shared));
  return absl::OkStatus();
}

absl::Status QuantizerWriter::WriteWithScale(const Site& site, const Place& place,
                                             const std::string& scale) {
  Writing writing = Begin(site, place);
  writing.is_test = true;  // reads the scale that it is given, and follows no state
  std::string numbers;
  ASSIGN_OR_RETURN(OpBuilder quantize, BeginQuantizeOp(writing, &numbers));
  for (const QuantizerState& state : writing.recipe->state) {
    if (!state.is_scale) continue;
    quantize.Input(state.input, scale);
    if (!state.output.empty()) quantize.Output(state.output, scale);
  }
  return FinishQuantizeOp(writing, std::move(quantize), numbers);
}

absl::Status QuantizerWriter::Rewire(const Writing& writing, const std::string& name) {
  const Site& site = *writing.site;
  std::vector<const Argument*> reads = site.readers;
  reads.insert(reads.end(), site.gradient_readers.begin(), site.gradient_readers.end());
  for (const Argument* read : reads) NoteRewired(*read, site);
  RETURN_IF_ERROR(rewriter_.RedirectReads(reads, *program_.Find(*writing.place.block, name)));
  for (const Argument* read : reads) Capture(*read, read->variable()->block(), name);
  return absl::OkStatus();
}

QuantizerWriter::Change& QuantizerWriter::ChangeOf(const Op& op) {
  const auto [change, is_new] = changes_.try_emplace(&op);
  if (is_new) changed_.push_back(&op);
  return change->second;
}

void QuantizerWriter::NoteRewired(const Argument& argument, const Site& site) {
  Change& change = ChangeOf(argument.op());
  change.marks.push_back(ArgumentMark(argument.slot_name(), argument.index(), argument.name()));
  if (site.role == SlotRole::WEIGHT) {
    change.has_weight = true;
  } else if (site.role == SlotRole::ACTIVATION) {
    change.activation_bits = site.spec.bits();
  }
}

void QuantizerWriter::Capture(const Argument& reader, const Block& declaring,
                              const std::string& name) {
  const Block* block = &reader.op().block();
  while (block != &declaring && block->forward() != &declaring && block->owner() != nullptr) {
    const Op& owner = *block->owner();
    block = &owner.block();
    const absl::string_view slot = CaptureSlot(owner);
    if (slot.empty() || !captured_.emplace(&owner, name).second) continue;
    const auto note = [&](bool is_output, absl::string_view in_slot, absl::string_view argument) {
      const auto arguments = is_output ? owner.Outputs(in_slot) : owner.Inputs(in_slot);
      ChangeOf(owner).marks.push_back(
          AddedArgumentMark(in_slot, static_cast<int>(arguments.size())));
      if (is_output) {
        rewriter_.AddOutput(owner, in_slot, argument);
      } else {
        rewriter_.AddInput(owner, in_slot, argument);
      }
    };
    note(false, slot, name);
    // The gradients of captured variables are at the same positions.
    const std::string gradients = absl::StrCat(slot, kGradientSuffix);
    if (!owner.Outputs(gradients).empty()) note(true, gradients, kEmptyArgument);
  }
}

void QuantizerWriter::SetAttrMarked(const Op& op, OpDesc::Attr attr, Change& change) {
  change.marks.push_back(AttributeMark(op, attr.name()));
  rewriter_.SetAttr(op, std::move(attr));
}

void QuantizerWriter::Mark() {
  const bool reference_marks = context_.target.conventions().reference_marks();
  for (const Op* op : changed_) {
    Change& change = changes_[op];
    if (reference_marks && IsForward(*op) && op->sub_blocks().empty()) {
      // The reference has two passes: for products with a weight, and for ops without one.
      SetAttrMarked(*op,
                    MakeStringAttr("quantization_type",
                                   change.has_weight ? "qat_with_weight" : "qat_without_weight"),
                    change);
      if (!change.has_weight) {
        SetAttrMarked(*op, MakeIntAttr("activation_bits", change.activation_bits), change);
      }
      SetAttrMarked(*op, MakeBoolAttr("with_quant_attr", true), change);
    }
    // An earlier pass may have changed the op too.
    std::vector<std::string> marks =
        StringsAttr(op->desc(), kRewiredAttr).value_or(std::vector<std::string>());
    marks.insert(marks.end(), change.marks.begin(), change.marks.end());
    rewriter_.SetAttr(*op, MakeStringsAttr(kRewiredAttr, marks));
  }
}

}  // namespace fixpoint
