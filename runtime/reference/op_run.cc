#include "runtime/reference/op_run.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/array_slots.h"
#include "ops/op_schema.h"
#include "ops/output_lod.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint::reference {

OpRun::OpRun(const Op& op, const OpSchema& schema, int64_t version, Era era, const RunState& state,
             Frame* frame, BlockRunner* runner)
    : op_(op),
      schema_(schema),
      attributes_(op, schema, era),
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
      if (value == nullptr && !MayBeUnset(*argument, era_)) return NoValue(*argument);
      const bool is_array = value != nullptr && value->elements;
      if (is_array && !MayBeTensorArray(*argument)) return IsTensorArray(*argument);
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

const Array* OpRun::FindInput(absl::string_view slot, int index) const {
  return ValueOf(op_.Inputs(slot)[index]);
}

int OpRun::InputCount(absl::string_view slot) const {
  return static_cast<int>(op_.Inputs(slot).size());
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

absl::Span<const Block* const> OpRun::sub_blocks() const { return op_.sub_blocks(); }

absl::Status OpRun::RunBlock(const Block& block) {
  Frame frame(block, &frame_);
  return RunBlock(block, &frame);
}

absl::Status OpRun::RunBlock(const Block& block, Frame* frame) {
  return runner_.RunBlock(block, frame);
}

std::unique_ptr<Frame> OpRun::NewFrame(const Block& block, Frame* forward) {
  return std::make_unique<Frame>(block, &frame_, forward);
}

absl::Status OpRun::BeginIteration(absl::string_view condition_slot) {
  return runner_.loops().BeginIteration(op_.Input(condition_slot)->name());
}

bool OpRun::HasOutput(absl::string_view slot, int index) const {
  const auto arguments = op_.Outputs(slot);
  return index < static_cast<int>(arguments.size()) && arguments[index]->variable() != nullptr;
}

int OpRun::OutputCount(absl::string_view slot) const {
  return static_cast<int>(op_.Outputs(slot).size());
}

void OpRun::SetSelectedRows(absl::string_view slot, Array table) {
  CHECK(schema_.FindOutput(slot, era_) != nullptr) << op_.type() << " has no output " << slot;
  CHECK(table.rows != nullptr);
  if (!HasOutput(slot)) return;
  table.lod.clear();
  outputs_.emplace_back(op_.Outputs(slot)[0]->variable(), std::move(table));
}

void OpRun::SetOutput(absl::string_view slot, int index, Array value) {
  CHECK(schema_.FindOutput(slot, era_) != nullptr) << op_.type() << " has no output " << slot;
  if (!HasOutput(slot, index)) return;
  value.rows.reset();
  const Argument& output = *op_.Outputs(slot)[index];
  if (value.dims.empty()) {
    value.lod.clear();
  } else {
    const auto find_rows = [this](const Argument& input) -> std::optional<Rows> {
      const Array* array = ValueOf(&input);
      if (array == nullptr || array->dims.empty()) return std::nullopt;
      return Rows{array->dims[0], &array->lod};
    };
    value.lod = OutputLod(schema_, output, value.dims[0], find_rows);
  }
  outputs_.emplace_back(output.variable(), std::move(value));
}

void OpRun::SetCutOutput(absl::string_view slot, int index, Array value) {
  CHECK(schema_.FindOutput(slot, era_) != nullptr) << op_.type() << " has no output " << slot;
  if (!HasOutput(slot, index)) return;
  value.rows.reset();
  outputs_.emplace_back(op_.Outputs(slot)[index]->variable(), std::move(value));
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
