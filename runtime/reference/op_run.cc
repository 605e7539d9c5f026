#include "runtime/reference/op_run.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "proto/attributes.h"
#include "proto/status_macros.h"
#include "proto/type_names.h"

namespace fixpoint::reference {
namespace {

// Whether a typed reader of OpRun reads the attribute; for types that have none, it is not asked.
bool IsReadable(const OpDesc::Attr& attr, AttrType type) {
  switch (type) {
    case AttrType::INT:
    case AttrType::LONG:
      return IntValue(attr).has_value();
    case AttrType::FLOAT:
    case AttrType::FLOAT64:
      return FloatValue(attr).has_value();
    case AttrType::BOOLEAN:
      return BoolValue(attr).has_value();
    case AttrType::STRING:
      return StringValue(attr).has_value();
    case AttrType::INTS:
    case AttrType::LONGS:
      return IntsValue(attr).has_value();
    case AttrType::FLOATS:
    case AttrType::FLOAT64S:
      return FloatsValue(attr).has_value();
    default:
      return true;
  }
}

// An attribute, or what its absence means; null where it has to be there and is not.
const OpDesc::Attr* Effective(const Op& op, const AttrSchema& attr) {
  const OpDesc::Attr* found = op.FindAttr(attr.name);
  if (found != nullptr) return found;
  return attr.default_value ? &*attr.default_value : nullptr;
}

absl::Status CheckSlots(const Op& op, absl::Span<const SlotSchema> slots, Era era) {
  for (const SlotSchema& slot : slots) {
    const auto arguments = op.Inputs(slot.name);
    if (slot.list) continue;
    if (arguments.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", slot.name, " has ", arguments.size(), " arguments; want one"));
    }
    const bool is_there = !arguments.empty() && arguments[0]->variable() != nullptr;
    if (!is_there && !slot.optional && Includes(slot.eras, era)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", slot.name, " is absent; want a variable"));
    }
  }
  return absl::OkStatus();
}

// Whether a variable may hold sequences: it is not declared, or it is with a level of offsets.
bool MayHaveOffsets(const Variable& variable) {
  const VarDesc* desc = variable.desc();
  return desc == nullptr || desc->type().lod_tensor().lod_level() > 0;
}

}  // namespace

absl::Status CheckForm(const Op& op, const OpSchema& schema, Era era) {
  RETURN_IF_ERROR(CheckSlots(op, schema.inputs(), era));
  for (const AttrSchema& attr : schema.attrs()) {
    // Of one that differs between eras, the entry that FindAttr of the schema gives.
    if (schema.FindAttr(attr.name, era) != &attr) continue;
    const OpDesc::Attr* value = Effective(op, attr);
    if (value == nullptr && !Includes(attr.eras, era)) continue;
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", attr.name, " is absent; want ", AttrTypeName(attr.type)));
    }
    if (value->type() == AttrType::VAR || value->type() == AttrType::VARS) {
      return absl::UnimplementedError(absl::StrCat(
          "attribute ", attr.name, " comes from a variable; want ", AttrTypeName(attr.type)));
    }
    if (!IsReadable(*value, attr.type)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", attr.name, " is ",
                                                     AttrTypeName(value->type()), "; want ",
                                                     AttrTypeName(attr.type)));
    }
  }
  return absl::OkStatus();
}

OpRun::OpRun(const Op& op, const OpSchema& schema, int64_t version, Era era, const RunState& state,
             Frame* frame, BlockRunner* runner)
    : op_(op),
      schema_(schema),
      version_(version),
      era_(era),
      state_(state),
      frame_(*frame),
      runner_(*runner) {}

absl::Status OpRun::ReadInputs() {
  for (const Argument* argument : op_.inputs()) {
    const Variable* variable = argument->variable();
    const Array* value = nullptr;
    if (variable != nullptr) {
      ASSIGN_OR_RETURN(value, frame_.Find(*variable));
      if (value == nullptr && op_.sub_blocks().empty()) {
        return absl::FailedPreconditionError(
            absl::StrCat("input ", argument->slot_name(), " reads \"", argument->name(),
                         "\", which has no value; want it fed, initialised by the startup program, "
                         "or written by an op before"));
      }
    }
    inputs_.push_back(value);
  }
  return ReadStep();
}

absl::Status OpRun::ReadStep() {
  const OpDesc::Attr* from = op_.FindAttr(kTestFromStepAttr);
  if (from == nullptr) return absl::OkStatus();
  const Argument* step = op_.Input(kStepSlot);
  const Array* value = step != nullptr ? ValueOf(step) : nullptr;
  const std::optional<int64_t> first = IntValue(*from);
  if (value == nullptr || value->size() != 1 || !first.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", kTestFromStepAttr,
                                                   " wants an integer, and input ", kStepSlot,
                                                   " with the number of the step"));
  }
  is_test_by_step_ = ToInt((*value)[0]) >= *first;
  return absl::OkStatus();
}

void OpRun::WriteOutputs() {
  for (auto& [variable, value] : outputs_) frame_.Set(*variable, std::move(value));
  outputs_.clear();
}

Dims OpRun::ScalarDims() const {
  constexpr int64_t kFirstWithScalars = 2005000;
  return version_ >= kFirstWithScalars ? Dims{} : Dims{1};
}

const Array* OpRun::ValueOf(const Argument* argument) const {
  const auto arguments = op_.inputs();
  const size_t i = std::find(arguments.begin(), arguments.end(), argument) - arguments.begin();
  CHECK_LT(i, inputs_.size()) << op_.type() << ": the inputs were not read";
  return inputs_[i];
}

bool OpRun::HasInputSlot(absl::string_view slot) const {
  return schema_.FindInput(slot, era_) != nullptr;
}

const Array& OpRun::Input(absl::string_view slot) const {
  const Array* input = FindInput(slot);
  CHECK(input != nullptr) << op_.type() << " may lack input " << slot;
  return *input;
}

const Array* OpRun::FindInput(absl::string_view slot) const {
  CHECK(HasInputSlot(slot)) << op_.type() << " has no input " << slot;
  const Argument* argument = op_.Input(slot);
  return argument != nullptr ? ValueOf(argument) : nullptr;
}

std::vector<const Array*> OpRun::Inputs(absl::string_view slot) const {
  CHECK(HasInputSlot(slot)) << op_.type() << " has no input " << slot;
  std::vector<const Array*> values;
  for (const Argument* argument : op_.Inputs(slot)) {
    if (const Array* value = ValueOf(argument); value != nullptr) values.push_back(value);
  }
  return values;
}

absl::StatusOr<const Array*> OpRun::FindBefore(absl::string_view output_slot) const {
  const Argument* argument = op_.Output(output_slot);
  if (argument == nullptr || argument->variable() == nullptr) return nullptr;
  return frame_.Find(*argument->variable());
}

absl::StatusOr<const Array*> OpRun::FindNow(absl::string_view slot) const {
  const auto arguments = op_.Inputs(slot);
  if (arguments.empty() || arguments[0]->variable() == nullptr) return nullptr;
  return frame_.Find(*arguments[0]->variable());
}

absl::Status OpRun::RunBlock(const Block& block) {
  Frame frame(block, &frame_);
  return runner_.RunBlock(block, &frame);
}

bool OpRun::HasOutput(absl::string_view slot, int index) const {
  const auto arguments = op_.Outputs(slot);
  return index < static_cast<int>(arguments.size()) && arguments[index]->variable() != nullptr;
}

int OpRun::OutputCount(absl::string_view slot) const {
  return static_cast<int>(op_.Outputs(slot).size());
}

void OpRun::SetOutput(absl::string_view slot, int index, Array value) {
  CHECK(schema_.FindOutput(slot, era_) != nullptr) << op_.type() << " has no output " << slot;
  if (!HasOutput(slot, index)) return;
  const Variable& variable = *op_.Outputs(slot)[index]->variable();
  if (value.lod.empty() && !value.dims.empty() && MayHaveOffsets(variable)) {
    for (const Array* input : inputs_) {
      if (input == nullptr || input->lod.empty() || input->dims[0] != value.dims[0]) continue;
      value.lod = input->lod;
      break;
    }
  }
  outputs_.emplace_back(&variable, std::move(value));
}

void OpRun::SetOutputWithLod(absl::string_view slot, Array value) {
  if (HasOutput(slot)) outputs_.emplace_back(op_.Output(slot)->variable(), std::move(value));
}

const OpDesc::Attr& OpRun::Attr(absl::string_view name) const {
  const AttrSchema* attr = schema_.FindAttr(name, era_);
  CHECK(attr != nullptr) << op_.type() << " has no attribute " << name;
  return *CHECK_NOTNULL(Effective(op_, *attr));
}

int64_t OpRun::Int(absl::string_view name) const { return IntValue(Attr(name)).value(); }
double OpRun::Float(absl::string_view name) const { return FloatValue(Attr(name)).value(); }
bool OpRun::Bool(absl::string_view name) const {
  return (name == "is_test" && is_test_by_step_) || BoolValue(Attr(name)).value();
}
std::string OpRun::String(absl::string_view name) const { return StringValue(Attr(name)).value(); }
std::vector<int64_t> OpRun::Ints(absl::string_view name) const {
  return IntsValue(Attr(name)).value();
}
std::vector<double> OpRun::Floats(absl::string_view name) const {
  return FloatsValue(Attr(name)).value();
}

absl::StatusOr<VarType::Type> OpRun::DataType(absl::string_view name) const {
  const int64_t value = Int(name);
  if (value < VarType::Type_MIN || value > VarType::Type_MAX ||
      !IsSupported(static_cast<VarType::Type>(value))) {
    return absl::UnimplementedError(
        absl::StrCat(name, " is ", value, "; want bool, an integer, f32 (5) or f64 (6)"));
  }
  return static_cast<VarType::Type>(value);
}

RandomStream OpRun::Random(int64_t seed) const {
  if (seed != 0) return RandomStream(static_cast<uint64_t>(seed), 0, 0);
  return RandomStream(state_.seed, state_.op, state_.step);
}

absl::Status OpRun::CheckRank(absl::string_view slot, int rank) const {
  const Array* input = FindInput(slot);
  if (input == nullptr || input->rank() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(input->dims), "; want ", rank, " dimensions"));
}

absl::Status OpRun::CheckDims(absl::string_view slot, DimsView wanted) const {
  const Array* input = FindInput(slot);
  if (input == nullptr || DimsView(input->dims) == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(input->dims), "; want ", DimsText(wanted)));
}

absl::Status OpRun::CheckSize(absl::string_view slot, int64_t wanted) const {
  const Array* input = FindInput(slot);
  if (input == nullptr || input->size() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(input->dims), "; want ", wanted, " elements"));
}

}  // namespace fixpoint::reference
