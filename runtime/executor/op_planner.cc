#include "runtime/executor/op_planner.h"

#include <glog/logging.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/attribute_inputs.h"
#include "ops/gradient_matcher.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/output_lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"
#include "proto/program/type_names.h"
#include "runtime/executor/block_crossing.h"

namespace fixpoint::executor {
namespace {

// Attached to a value that a step has checked (PlanBuilder::Attach).
struct HasRowsOfItsType {};

// The declaration of a variable of that type.
const VarDesc* Declared(const TensorType& type, google::protobuf::Arena* arena) {
  auto* const desc = google::protobuf::Arena::CreateMessage<VarDesc>(arena);
  desc->mutable_type()->set_type(VarType::LOD_TENSOR);
  VarType::TensorDesc* tensor = desc->mutable_type()->mutable_lod_tensor()->mutable_tensor();
  tensor->set_data_type(type.dtype);
  tensor->mutable_dims()->Reserve(static_cast<int>(type.dims.size()));
  for (const int64_t dim : type.dims) tensor->add_dims(dim);
  return desc;
}

// The elements of all arguments of a slot together; nothing if not all are known.
std::optional<std::vector<int64_t>> KnownIntegers(const Op& op, absl::string_view slot,
                                                  const PlanBuilder& builder) {
  std::vector<int64_t> integers;
  for (const Argument* argument : op.Inputs(slot)) {
    const Value* value = argument->value();
    if (value == nullptr || !builder.IsPlanned(*value)) return std::nullopt;
    const VarType::Type dtype = builder.TypeOf(*value).dtype;
    const auto elements = builder.FindKnown(*value);
    if ((dtype != VarType::INT32 && dtype != VarType::INT64) || !elements) return std::nullopt;
    // The largest double that is an int64.
    constexpr double kMost = 9223372036854774784.0;
    for (const double element : *elements) {
      integers.push_back(static_cast<int64_t>(std::min(element, kMost)));
    }
  }
  return integers;
}

void RemoveInputs(absl::string_view slot, OpDesc* op) {
  auto* inputs = op->mutable_inputs();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [slot](const OpDesc::Var& in) { return in.parameter() == slot; }),
                inputs->end());
}

bool HasAttributeInputs(const Op& op) {
  static const auto* const slots = [] {
    auto* made = new absl::flat_hash_set<absl::string_view>();
    for (const AttributeInput& input : AttributeInputs()) made->insert(input.slot);
    return made;
  }();
  const auto& inputs = op.desc().inputs();
  return std::any_of(inputs.begin(), inputs.end(), [](const OpDesc::Var& input) {
    return input.arguments_size() > 0 && slots->contains(input.parameter());
  });
}

// The op with known inputs replaced by the attributes that they stand for; null if it has none.
std::shared_ptr<const OpDesc> Resolved(const Op& op, const OpSchema& schema,
                                       const Planning& planning) {
  if (!HasAttributeInputs(op)) return nullptr;
  std::shared_ptr<OpDesc> resolved;
  absl::flat_hash_set<absl::string_view> said;
  for (const AttributeInput& input : AttributeInputs()) {
    if (op.Inputs(input.slot).empty()) continue;
    const AttrSchema* attribute = schema.FindAttr(input.attribute, planning.era);
    if (attribute == nullptr || !said.insert(input.attribute).second) continue;
    const auto integers = KnownIntegers(op, input.slot, planning.builder);
    const bool is_list = attribute->type != AttrType::INT;
    if (!integers || (!is_list && integers->size() != 1)) continue;
    if (resolved == nullptr) resolved = std::make_shared<OpDesc>(op.desc());
    SetAttr(is_list ? MakeLongsAttr(input.attribute, *integers)
                    : MakeLongAttr(input.attribute, integers->front()),
            resolved.get());
    RemoveInputs(input.slot, resolved.get());
  }
  return resolved;
}

}  // namespace

OpPlanner::OpPlanner(const Op& op, const Planning& planning)
    : op_(op),
      planning_(planning),
      schema_(*FindOpSchema(op.type())),
      resolved_(Resolved(op, schema_, planning)),
      attributes_(desc(), schema_, planning.era) {}

const Op* OpPlanner::ForwardOp() const { return planning_.gradients.ForwardOf(op_); }

bool OpPlanner::IsGradient(const Op& op) const {
  return planning_.gradients.ForwardOf(op) != nullptr;
}

std::vector<const Op*> OpPlanner::GradientsOf(const Op& forward) const {
  std::vector<const Op*> gradients;
  for (const Argument* output : forward.outputs()) {
    if (output->variable() == nullptr) continue;
    for (const Op* reader : demand().Readers(*output->value())) {
      if (planning_.gradients.ForwardOf(*reader) != &forward) continue;
      const bool is_known =
          std::find(gradients.begin(), gradients.end(), reader) != gradients.end();
      if (!is_known) gradients.push_back(reader);
    }
  }
  return gradients;
}

absl::string_view OpPlanner::SlotOf(const Argument& argument) { return argument.slot_name(); }

bool OpPlanner::HasInputSlot(absl::string_view slot) const {
  return schema_.FindInput(slot, era()) != nullptr;
}

int OpPlanner::InputCount(absl::string_view slot) const {
  CHECK(HasInputSlot(slot)) << op_.type() << " has no input " << slot;
  const auto arguments = op_.Inputs(slot);
  return static_cast<int>(std::count_if(arguments.begin(), arguments.end(), [](const Argument* a) {
    return a->variable() != nullptr;
  }));
}

bool OpPlanner::IsPlanned(absl::string_view slot) const {
  return HasInput(slot) && planning_.builder.IsPlanned(InputValue(slot));
}

absl::Status OpPlanner::CheckAbsent(absl::string_view slot) const {
  if (!HasInputSlot(slot) || !HasInput(slot)) return absl::OkStatus();
  const auto& inputs = desc().inputs();
  const auto is_slot = [slot](const OpDesc::Var& input) { return input.parameter() == slot; };
  if (std::none_of(inputs.begin(), inputs.end(), is_slot)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("input ", slot, " is there; want it absent"));
}

const Value& OpPlanner::InputValue(absl::string_view slot, int index) const {
  CHECK(HasInputSlot(slot)) << op_.type() << " has no input " << slot;
  for (const Argument* argument : op_.Inputs(slot)) {
    if (argument->variable() != nullptr && index-- == 0) return *argument->value();
  }
  LOG(FATAL) << op_.type() << " may lack input " << slot;
}

const TensorType& OpPlanner::InputType(absl::string_view slot, int index) const {
  return planning_.builder.TypeOf(InputValue(slot, index));
}

absl::Status OpPlanner::CheckSize(absl::string_view slot, int64_t size) const {
  if (HasInput(slot) && InputType(slot).size() == size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", slot, " is ", HasInput(slot) ? DimsText(InputDims(slot)) : "absent",
                   "; want ", size, " elements"));
}

absl::Status OpPlanner::CheckDims(absl::string_view slot, const Dims& dims) const {
  if (HasInput(slot) && InputDims(slot) == dims) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", slot, " is ", HasInput(slot) ? DimsText(InputDims(slot)) : "absent",
                   "; want ", DimsText(dims)));
}

Layout OpPlanner::InputLayout(absl::string_view slot, int index) const {
  return planning_.builder.LayoutOf(InputValue(slot, index));
}

absl::StatusOr<Buffer> OpPlanner::Read(absl::string_view slot, VarType::Type dtype, Layout layout,
                                       int index) {
  const TensorType& type = InputType(slot, index);
  if (type.dtype != dtype) {
    return absl::UnimplementedError(
        absl::StrCat("input ", slot, " is ", TypeName(type.dtype), "; want ", TypeName(dtype)));
  }
  return planning_.builder.Read(InputValue(slot, index), layout);
}

const OpDesc& OpPlanner::desc() const { return resolved_ != nullptr ? *resolved_ : op_.desc(); }

const Argument* OpPlanner::OutputArgument(absl::string_view slot, int index) const {
  CHECK(schema_.FindOutput(slot, era()) != nullptr) << op_.type() << " has no output " << slot;
  const auto arguments = op_.Outputs(slot);
  if (index >= static_cast<int>(arguments.size())) return nullptr;
  return arguments[index]->variable() != nullptr ? arguments[index] : nullptr;
}

int OpPlanner::OutputCount(absl::string_view slot) const {
  return static_cast<int>(op_.Outputs(slot).size());
}

bool OpPlanner::Wants(absl::string_view slot, int index) const {
  const Argument* argument = OutputArgument(slot, index);
  return argument != nullptr && planning_.demand.IsNeeded(*argument->value());
}

const Value& OpPlanner::OutputValue(absl::string_view slot, int index) const {
  return *CHECK_NOTNULL(OutputArgument(slot, index))->value();
}

bool OpPlanner::KeepsOutput(absl::string_view slot) const {
  return planning_.builder.Keeps(OutputValue(slot).variable());
}

const std::string& OpPlanner::OutputName(absl::string_view slot) const {
  return OutputValue(slot).variable().name();
}

absl::StatusOr<std::optional<Buffer>> OpPlanner::ReadFoundIn(absl::string_view slot,
                                                             const TensorType& type) {
  PlanBuilder& builder = planning_.builder;
  const Argument* argument = OutputArgument(slot, 0);
  if (argument == nullptr) return std::nullopt;
  const Value* before = ValueBefore(*argument->value());
  if (before == nullptr) return builder.EntryOf(*argument->variable(), type);
  if (!builder.IsPlanned(*before) || builder.TypeOf(*before) != type) return std::nullopt;
  return builder.Read(*before, Layout::kRowMajor);
}

absl::Status OpPlanner::InferTypes() {
  // Enough for most ops.
  alignas(std::max_align_t) std::array<char, 2048> memory;
  google::protobuf::ArenaOptions options;
  options.initial_block = memory.data();
  options.initial_block_size = memory.size();
  google::protobuf::Arena arena(options);
  std::vector<const VarDesc*> inputs;
  inputs.reserve(op_.inputs().size());
  for (const OpDesc::Var& input : desc().inputs()) {
    for (const Argument* argument : op_.Inputs(input.parameter())) {
      const bool is_planned =
          argument->value() != nullptr && planning_.builder.IsPlanned(*argument->value());
      inputs.push_back(is_planned ? Declared(planning_.builder.TypeOf(*argument->value()), &arena)
                                  : nullptr);
    }
  }
  InferContext context(desc(), schema_, era(), inputs);
  RETURN_IF_ERROR(Infer(context));
  inferred_.assign(context.outputs().begin(), context.outputs().end());
  return absl::OkStatus();
}

absl::StatusOr<TensorType> OpPlanner::OutputType(absl::string_view slot, int index) {
  if (inferred_.empty()) RETURN_IF_ERROR(InferTypes());
  const auto of_slot = op_.Outputs(slot);
  if (index >= static_cast<int>(of_slot.size())) {
    return absl::UnimplementedError(absl::StrCat("output ", slot, " is absent; want it"));
  }
  const Argument* argument = of_slot[index];
  const auto arguments = op_.outputs();
  const size_t place = std::find(arguments.begin(), arguments.end(), argument) - arguments.begin();
  const InferredOutput& output = inferred_[place];
  const bool is_known =
      output.dtype && output.dims &&
      std::none_of(output.dims->begin(), output.dims->end(), [](int64_t dim) { return dim < 0; });
  if (!is_known) {
    return absl::UnimplementedError(absl::StrCat("the shape of output ", slot,
                                                 " depends on values; want one that follows "
                                                 "from attributes and the inputs' shapes"));
  }
  TensorType type{*output.dtype, *output.dims};
  if (type.dims.empty()) type.dims = {1};
  return type;
}

absl::StatusOr<Buffer> OpPlanner::Write(absl::string_view slot, Layout layout, int index) {
  ASSIGN_OR_RETURN(const TensorType type, OutputType(slot, index));
  return WriteAs(slot, type, layout, index);
}

Buffer OpPlanner::WriteAs(absl::string_view slot, const TensorType& type, Layout layout,
                          int index) {
  if (!Wants(slot, index)) return Scratch(slot, type.dtype, type.size());
  return planning_.builder.Write(OutputValue(slot, index), type, layout);
}

Buffer OpPlanner::WriteOver(absl::string_view slot, const TensorType& type, Layout layout,
                            Buffer over, int index) {
  const Buffer buffer = Wants(slot, index)
                            ? planning_.builder.Write(OutputValue(slot, index), type, layout)
                            : Scratch(slot, type.dtype, type.size());
  planning_.builder.MayLieIn(buffer, over);
  return buffer;
}

Buffer OpPlanner::Scratch(absl::string_view what, VarType::Type dtype, int64_t size) {
  return planning_.builder.NewBuffer(absl::StrCat(op_.type(), ".", what), {dtype, {size}});
}

void OpPlanner::AddStep(StepKernel kernel) {
  Step step = {kernel.name.empty() ? op_.type() : std::move(kernel.name),
               nullptr,
               std::move(kernel.implementation),
               std::move(kernel.reads),
               std::move(kernel.writes),
               kernel.operations,
               std::move(kernel.run),
               std::move(kernel.block),
               kernel.in_each_run,
               std::move(kernel.loops)};
  step.beside_floats = kernel.beside_floats;
  step.is_repeatable = kernel.is_repeatable;
  planning_.builder.AddStep(std::move(step));
}

void OpPlanner::CutOutput(absl::string_view slot, LoD lod) {
  if (Wants(slot)) cut_[&OutputValue(slot)] = std::move(lod);
}

RunShape OpPlanner::DecideShape(absl::string_view slot, const std::vector<int64_t>& most_offsets,
                                int index) {
  return Decide(slot, most_offsets, index, /*only_rows=*/true);
}

RunShape OpPlanner::DecideExtents(absl::string_view slot,
                                  const std::vector<int64_t>& most_offsets) {
  return Decide(slot, most_offsets, 0, /*only_rows=*/false);
}

RunShape OpPlanner::Decide(absl::string_view slot, const std::vector<int64_t>& most_offsets,
                           int index, bool only_rows) {
  const bool is_wanted = Wants(slot, index);
  const auto rank = is_wanted ? planning_.builder.TypeOf(OutputValue(slot, index)).dims.size()
                              : size_t{kMostDims};
  RunShape shape;
  shape.dims = Scratch(absl::StrCat("dims of ", slot), VarType::INT64, static_cast<int64_t>(rank));
  for (const int64_t most : most_offsets) {
    shape.offsets.push_back(Scratch(absl::StrCat("offsets of ", slot), VarType::INT64, 1 + most));
  }
  shape.only_rows = only_rows;
  shape.op = &op_;
  if (is_wanted) planning_.builder.SetRunShape(OutputValue(slot, index), shape);
  return shape;
}

const RunShape* OpPlanner::TakeRunShape(absl::string_view slot, int index) {
  CheckDecidesRows(InputValue(slot, index));
  return TakeAnyRunShape(slot, index);
}

const RunShape* OpPlanner::TakeAnyRunShape(absl::string_view slot, int index) {
  const Value& value = InputValue(slot, index);
  taken_.insert(&value);
  return planning_.builder.RunShapeOf(value);
}

void OpPlanner::CheckDecidesRows(const Value& input) {
  const RunShape* const shape = planning_.builder.RunShapeOf(input);
  if (shape == nullptr || shape->only_rows) return;
  if (planning_.builder.Attached<HasRowsOfItsType>(input) != nullptr) return;
  planning_.builder.Attach(input, HasRowsOfItsType());
  const Dims most = planning_.builder.TypeOf(input).dims;
  AddStep({{shape->dims},
           {},
           [from = shape->dims, most](const StepContext& run) -> absl::Status {
             const DimsView there = run.Of<int64_t>(from);
             const DimsView wanted = DimsView(most).subspan(1);
             if (there.subspan(1) == wanted) return absl::OkStatus();
             return absl::FailedPreconditionError(absl::StrCat(
                 "an input is ", DimsText(there), "; want rows of ", DimsText(wanted)));
           },
           "",
           0,
           "check rows"});
}

void OpPlanner::KeepRunShape(absl::string_view input, absl::string_view output) {
  const RunShape* const shape = TakeAnyRunShape(input);
  if (shape == nullptr || !Wants(output)) return;
  RunShape kept = *shape;
  if (!schema_.TakesLod(output)) kept.offsets.clear();
  planning_.builder.SetRunShape(OutputValue(output), kept);
}

void OpPlanner::KeepRows(absl::string_view input, absl::string_view output) {
  if (TakeRunShape(input) == nullptr) return;
  for (int i = 0; i < OutputCount(output); ++i) {
    if (!Wants(output, i) || !planning_.builder.IsPlanned(OutputValue(output, i))) continue;
    KeepRowsOf(InputValue(input), OutputValue(output, i));
  }
}

void OpPlanner::KeepRowsOf(const Value& input, const Value& output) {
  PlanBuilder& builder = planning_.builder;
  RunShape shape = *builder.RunShapeOf(input);
  shape.only_rows = true;
  if (!schema_.TakesLod(output.written_by()->slot_name())) shape.offsets.clear();
  const Dims dims = builder.TypeOf(output).dims;
  const Buffer from = shape.dims;
  shape.dims = Scratch(absl::StrCat("dims of ", output.variable().name()), VarType::INT64,
                       static_cast<int64_t>(dims.size()));
  AddStep({{from},
           {shape.dims},
           [from, to = shape.dims, dims](const StepContext& run) {
             const absl::Span<int64_t> found = run.Of<int64_t>(to);
             std::copy(dims.begin(), dims.end(), found.begin());
             found[0] = run.Of<int64_t>(from)[0];
             return absl::OkStatus();
           },
           "",
           0,
           "rows"});
  builder.SetRunShape(output, shape);
}

bool OpPlanner::ComputesRows() const {
  const OpTraits& traits = schema_.traits();
  if (traits.is_of_samples) return true;
  if (!traits.product || traits.product->gives_images()) return false;
  const std::string& transposes = traits.product->transposes_activation;
  return transposes.empty() || !attributes_.Bool(transposes);
}

void OpPlanner::PassRowsOn() {
  if (!ComputesRows()) return;
  PlanBuilder& builder = planning_.builder;
  const Value* first = nullptr;
  for (const Argument* input : op_.inputs()) {
    if (input->variable() == nullptr || taken_.contains(input->value())) continue;
    const RunShape* const shape = builder.RunShapeOf(*input->value());
    if (shape == nullptr) continue;
    // Offsets are those that OutputLod finds.
    const bool is_first_cut = shape->has_offsets() && input->index() == 0 &&
                              (first == nullptr || !builder.RunShapeOf(*first)->has_offsets());
    if (first == nullptr || is_first_cut) first = input->value();
  }
  if (first == nullptr) return;
  CheckDecidesRows(*first);
  const Dims most = builder.TypeOf(*first).dims;
  const Buffer rows = builder.RunShapeOf(*first)->dims;
  // A matrix, whose rows are no rows of the result.
  const OpTraits& traits = schema_.traits();
  const std::string weight = traits.product && !traits.is_of_samples ? traits.product->weight : "";
  absl::flat_hash_set<const Value*> checked = {first};
  for (const Argument* input : op_.inputs()) {
    if (input->variable() == nullptr || checked.contains(input->value())) continue;
    if (SlotOf(*input) == weight && builder.TypeOf(*input->value()).dims.size() == 2) continue;
    const Dims& dims = builder.TypeOf(*input->value()).dims;
    const RunShape* const shape = builder.RunShapeOf(*input->value());
    if (shape == nullptr && (dims.size() != most.size() || dims[0] != most[0])) continue;
    CheckDecidesRows(*input->value());
    // Elsewhere it would be repeated for each row.
    std::vector<Buffer> reads = {rows};
    if (shape != nullptr) reads.push_back(shape->dims);
    AddStep({reads,
             {},
             [reads, all = dims.empty() ? 0 : dims[0],
              slot = std::string(input->slot_name())](const StepContext& run) {
               const int64_t wanted = run.Of<int64_t>(reads[0])[0];
               const int64_t there = reads.size() > 1 ? run.Of<int64_t>(reads[1])[0] : all;
               if (there == wanted) return absl::OkStatus();
               return absl::InvalidArgumentError(
                   absl::StrCat(slot, " has ", there, " rows, and another input has ", wanted));
             },
             "",
             0,
             "check rows"});
    checked.insert(input->value());
  }
  taken_.insert(checked.begin(), checked.end());
  for (const Argument* output : op_.outputs()) {
    if (output->variable() == nullptr || !builder.IsPlanned(*output->value())) continue;
    const Dims& dims = builder.TypeOf(*output->value()).dims;
    const bool has_rows = !dims.empty() && dims[0] == most[0];
    if (has_rows && builder.RunShapeOf(*output->value()) == nullptr) {
      KeepRowsOf(*first, *output->value());
    }
  }
}

void OpPlanner::SetOutputLods() {
  PlanBuilder& builder = planning_.builder;
  const auto is_planned = [&builder](const Argument& argument) {
    return argument.value() != nullptr && builder.IsPlanned(*argument.value());
  };
  const auto find_rows = [&](const Argument& input) -> std::optional<Rows> {
    if (!is_planned(input)) return std::nullopt;
    return Rows{builder.TypeOf(*input.value()).dims[0], &builder.LodOf(*input.value())};
  };
  for (const Argument* output : op_.outputs()) {
    if (!is_planned(*output)) continue;
    const Value& value = *output->value();
    if (builder.RunShapeOf(value) != nullptr) continue;
    const auto cut = cut_.find(&value);
    builder.SetLod(value, cut != cut_.end() ? cut->second
                                            : OutputLod(schema_, *output,
                                                        builder.TypeOf(value).dims[0], find_rows));
  }
}

}  // namespace fixpoint::executor
