#include "ops/block_path.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/array_slots.h"
#include "ops/block_gradients.h"
#include "ops/gradient_slots.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

bool IsFloat(VarType::Type dtype) {
  return dtype == VarType::FP32 || dtype == VarType::FP64 || dtype == VarType::FP16 ||
         dtype == VarType::BF16;
}

bool IsFed(const Variable& variable) {
  if (variable.persistable()) return false;
  if (variable.desc()->need_check_feed()) return true;
  return std::all_of(variable.values().begin(), variable.values().end(), [](const Value* value) {
    return value->op() == nullptr || IsFeed(*value->op());
  });
}

bool Writes(const Op& op, const Variable& variable) {
  const auto& outputs = op.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&variable](const Argument* output) {
    return output->variable() == &variable;
  });
}

}  // namespace

// Whether a gradient op restores, in place, what its forward op read, and has no gradients.
bool RunsBackwards(const Op& op, const std::vector<OpDesc>& gradients) {
  bool any = false;
  bool all_are_inputs = true;
  for (const OpDesc& gradient : gradients) {
    ForEachArgument(gradient.outputs(), [&](const std::string& name) {
      any = true;
      const auto& inputs = op.inputs();
      all_are_inputs &= std::any_of(inputs.begin(), inputs.end(),
                                    [&](const Argument* input) { return input->name() == name; });
    });
  }
  return any && all_are_inputs;
}

std::string BackwardContext::Name() const {
  return program.name().empty() ? "" : program.name() + ": ";
}

absl::Status BackwardContext::Refuse(const Op& op, absl::string_view why) const {
  return absl::UnimplementedError(
      absl::StrCat(Name(), Describe(op), ": the gradient of \"", loss->name(), "\" ", why));
}

void BlockPath::Wanted::Add(const Variable& variable, const Value& value) {
  if (IsArray(variable)) {
    arrays.insert(&variable);
  } else if (value.op() != nullptr) {
    made_by[value.op()].insert(&variable);
  }
}

std::vector<const Variable*> BlockPath::Wanted::OutputsOf(const Op& op) const {
  std::vector<const Variable*> outputs;
  const auto made = made_by.find(&op);
  for (const Argument* output : op.outputs()) {
    const Variable* const variable = output->variable();
    if (variable == nullptr) continue;
    const bool is_wanted =
        arrays.contains(variable) || (made != made_by.end() && made->second.contains(variable));
    if (is_wanted) outputs.push_back(variable);
  }
  return outputs;
}

BlockPath::BlockPath(BackwardContext* context, const Block& block, const Op& owner,
                     const BlockPath& around)
    : context_(*context), block_(block), owner_(&owner), around_(&around) {
  for (const Variable* variable : CopiedForEachRun(owner)) copied_.insert(variable);
}

bool BlockPath::IsLoop() const { return owner_ != nullptr && owner_->type() == "while"; }

bool BlockPath::IsOfSteps() const { return !steps_.inputs.empty(); }

bool BlockPath::IsGivenToStep(const Variable& variable) const {
  return std::any_of(steps_.inputs.begin(), steps_.inputs.end(),
                     [&](const auto& input) { return input.step == &variable; }) ||
         std::any_of(steps_.states.begin(), steps_.states.end(),
                     [&](const auto& state) { return state.before == &variable; });
}

std::vector<const Variable*> BlockPath::StepsOf(const std::vector<const Variable*>& outputs) const {
  if (!IsOfSteps()) return outputs;
  std::vector<const Variable*> steps;
  for (const RecurrentBlock::Sequence& output : steps_.outputs) {
    const bool is_wanted =
        std::find(outputs.begin(), outputs.end(), output.outer->variable()) != outputs.end();
    if (is_wanted) steps.push_back(output.step);
  }
  return steps;
}

void BlockPath::NameReadOutside() {
  const auto rename = [this](const Variable* inner, const Argument& outer) {
    if (read_.contains(inner)) read_.insert(outer.variable());
  };
  for (const auto& input : steps_.inputs) rename(input.step, *input.outer);
  for (const auto& state : steps_.states) rename(state.before, *state.initial);
  for (const auto& input : steps_.inputs) read_.erase(input.step);
  for (const auto& state : steps_.states) read_.erase(state.before);
}

bool BlockPath::IsInside(const Block& block) const {
  const Block* at = &block;
  while (at != nullptr && at != &block_) at = at->parent();
  return at != nullptr;
}

bool BlockPath::IsOuter(const Variable& variable) const { return !IsInside(variable.block()); }

bool BlockPath::HasGradient(const Variable& variable) const {
  if (unread_.contains(&variable)) return false;
  const auto [known, is_new] = context_.has_gradient.try_emplace(&variable, false);
  if (!is_new) return known->second;
  if (context_.stopped.contains(&variable) || variable.desc() == nullptr) return false;
  const VarType::TensorDesc* tensor = variable.tensor();
  if (tensor == nullptr || !IsFloat(tensor->data_type())) return false;
  return known->second = variable.desc()->has_stop_gradient() ? !variable.desc()->stop_gradient()
                                                              : !IsFed(variable);
}

bool BlockPath::ReadsWhatHasGradient(const Op& op) const {
  return std::any_of(op.inputs().begin(), op.inputs().end(), [this](const Argument* input) {
    return input->variable() != nullptr && HasGradient(*input->variable());
  });
}

const Value* BlockPath::ValueAfter(const Variable& variable) const {
  for (const Value* value : variable.values()) {
    if (value->origin() == Value::Origin::kExit && value->op() == owner_) return value;
  }
  return nullptr;
}

const Value* BlockPath::ValueAtEnd(const Variable& variable) const {
  if (!IsOuter(variable)) return variable.values().back();
  const Value* const after = ValueAfter(variable);
  if (after == nullptr) return nullptr;
  const auto merged = after->merged();
  return merged.size() == 1 ? merged[0]->merged()[1] : merged[1];
}

absl::Status BlockPath::Find(const std::vector<const Variable*>& wanted) {
  // Nothing in the block writes them.
  for (const auto& input : steps_.inputs) {
    context_.has_gradient[input.step] =
        input.outer->variable() != nullptr && around_->HasGradient(*input.outer->variable());
  }
  for (const auto& state : steps_.states) {
    const VarType::TensorDesc* const tensor = state.before->tensor();
    context_.has_gradient[state.before] = tensor != nullptr && IsFloat(tensor->data_type()) &&
                                          !context_.stopped.contains(state.before);
  }
  wanted_.insert(wanted.begin(), wanted.end());
  do {
    for (const Variable* variable : wanted_) RETURN_IF_ERROR(CheckIsNotMerged(*variable));
    RETURN_IF_ERROR(WalkBack());
  } while (TakeCarried());
  if (IsLoop()) {
    FindAccumulated(wanted);
    TakeWhatRunsBackwards();
  }
  StopWhatNobodyReads();
  if (IsOfSteps()) NameReadOutside();
  return absl::OkStatus();
}

absl::Status BlockPath::WalkBack() {
  path_.clear();
  read_.clear();
  Wanted wanted;
  for (const Variable* variable : wanted_) {
    const Value* const value = ValueAtEnd(*variable);
    if (value != nullptr) wanted.Add(*variable, *value);
  }
  for (const Op* op = block_.last_op(); op != nullptr; op = op->previous()) {
    for (const Variable* variable : wanted.made_by[op]) {
      if (Writes(*op, *variable)) continue;
      return context_.Refuse(*op,
                             absl::StrCat("would have to pass \"", variable->name(),
                                          "\", which the op's block writes and the op does not "
                                          "list as an output"));
    }
    const std::vector<const Variable*> outputs = wanted.OutputsOf(*op);
    if (!outputs.empty()) RETURN_IF_ERROR(Take(*op, outputs, &wanted));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OpDesc>> BlockPath::GradientsOf(const Op& op) const {
  const OpSchema* schema = FindOpSchema(op.type());
  if (schema == nullptr) {
    return context_.Refuse(op, "would have to pass an op of a type that is not known");
  }
  if (!schema->gradient_known()) {
    return context_.Refuse(op, op.sub_blocks().empty()
                                   ? "would have to pass an op whose gradient is not known"
                                   : "would have to pass a block that such an op runs");
  }
  std::vector<OpDesc> gradients = schema->MakeGradient(op.desc(), context_.era);
  if (schema->quant_op() != QuantOp::kNone && (gradients.empty() || op.has_own_attrs()) &&
      ReadsWhatHasGradient(op)) {
    return context_.Refuse(
        op,
        "would have to pass an op that quantizes; minimize before the program is "
        "quantized, or by MinimizeQuantized (transpiler/train/minimize_quantized.h)");
  }
  return gradients;
}

// Adds an op to the path, and wants what its gradient ops have gradients of.
absl::Status BlockPath::Take(const Op& op, const std::vector<const Variable*>& outputs,
                             Wanted* wanted) {
  ASSIGN_OR_RETURN(std::vector<OpDesc> gradients, GradientsOf(op));
  if (gradients.empty()) return absl::OkStatus();
  absl::flat_hash_set<std::string> made;
  for (const OpDesc& gradient : gradients) {
    ForEachArgument(gradient.outputs(), [&made](const std::string& name) { made.insert(name); });
  }
  PathOp path_op{&op, std::move(gradients), nullptr};
  if (op.sub_blocks().size() == 1) {
    if (KeptRunsOf(op) == nullptr) {
      return context_.Refuse(op,
                             "would have to pass an op that does not keep its block's runs; "
                             "want a variable for them");
    }
    if (!context_.rewriter.CanAddBlock(*op.sub_blocks()[0])) {
      return context_.Refuse(op, "would have to pass a block that is nested as deep as one may be");
    }
    path_op.block = std::make_unique<BlockPath>(&context_, *op.sub_blocks()[0], op, *this);
    if (IsRecurrent(op)) {
      ASSIGN_OR_RETURN(path_op.block->steps_, RecurrentBlockOf(op));
    }
    RETURN_IF_ERROR(path_op.block->Find(path_op.block->StepsOf(outputs)));
    if (path_op.block->path_.empty()) return absl::OkStatus();
  }
  for (const Argument* input : op.inputs()) {
    const Variable* const variable = input->variable();
    if (variable == nullptr || !HasGradient(*variable)) continue;
    if (!made.contains(GradientName(input->name()))) continue;
    if (path_op.block != nullptr && !path_op.block->read_.contains(variable)) continue;
    RETURN_IF_ERROR(CheckIsWrittenLast(*input));
    if (IsOuter(*variable) || IsGivenToStep(*variable)) read_.insert(variable);
    wanted->Add(*variable, *input->value());
  }
  if (path_op.block != nullptr) {
    for (const Variable* variable : path_op.block->read_) {
      const auto& inputs = op.inputs();
      if (std::any_of(inputs.begin(), inputs.end(), [variable](const Argument* input) {
            return input->variable() == variable;
          })) {
        continue;
      }
      return context_.Refuse(op, absl::StrCat("would have to pass \"", variable->name(),
                                              "\", which the block reads and the op does not "
                                              "list as an input"));
    }
  }
  path_.push_back(std::move(path_op));
  return absl::OkStatus();
}

// In a loop, wants also what a run leaves to the next one. Returns whether there is more.
bool BlockPath::TakeCarried() {
  bool is_carried = false;
  for (const RecurrentBlock::State& state : steps_.states) {
    if (read_.contains(state.before)) is_carried |= wanted_.insert(state.after).second;
  }
  if (is_carried) return true;
  if (!IsLoop()) return false;
  bool is_new = false;
  for (const Variable* variable : read_) {
    if (ValueAtEnd(*variable) != nullptr) is_new |= wanted_.insert(variable).second;
  }
  return is_new;
}

// A tensor of an array that a loop carries may be read in several turns, and after the loop. Not
// where turn i alone reads tensor i, and writes the next one by the same counter.
void BlockPath::FindAccumulated(const std::vector<const Variable*>& wanted_after) {
  for (const Variable* variable : wanted_) {
    if (!IsArray(*variable) || !read_.contains(variable)) continue;
    absl::flat_hash_set<const Variable*> counters;
    int uses = 0;
    for (const PathOp& path_op : path_) {
      for (const auto& arguments : {path_op.op->inputs(), path_op.op->outputs()}) {
        for (const Argument* argument : arguments) {
          if (argument->variable() != variable) continue;
          const Argument* const place = path_op.op->Input("I");
          counters.insert(place != nullptr ? place->variable() : nullptr);
          ++uses;
        }
      }
    }
    const bool is_read_after =
        std::find(wanted_after.begin(), wanted_after.end(), variable) != wanted_after.end();
    const bool is_by_turn = uses == 2 && counters.size() == 1 && !counters.contains(nullptr);
    if (is_read_after || !is_by_turn) accumulated_.insert(variable);
  }
}

// In a loop, counters that gradient ops read have to go back from run to run.
void BlockPath::TakeWhatRunsBackwards() {
  absl::flat_hash_set<const Variable*> read;
  absl::flat_hash_set<const Op*> taken;
  for (const PathOp& path_op : path_) {
    taken.insert(path_op.op);
    for (const Argument* input : path_op.op->inputs()) read.insert(input->variable());
  }
  bool is_new = false;
  for (const Op& op : block_.ops()) {
    const OpSchema* const schema = FindOpSchema(op.type());
    const bool is_read =
        std::any_of(op.outputs().begin(), op.outputs().end(),
                    [&read](const Argument* output) { return read.contains(output->variable()); });
    if (!is_read || taken.contains(&op) || schema == nullptr || !schema->gradient_known()) continue;
    std::vector<OpDesc> gradients = schema->MakeGradient(op.desc(), context_.era);
    if (!op.sub_blocks().empty() || !RunsBackwards(op, gradients)) continue;
    path_.push_back({&op, std::move(gradients), nullptr});
    is_new = true;
  }
  if (!is_new) return;
  std::stable_sort(path_.begin(), path_.end(),
                   [](const PathOp& a, const PathOp& b) { return b.op->IsBefore(*a.op); });
}

// Gradients go by name: a value that is overwritten may be read only by the op that overwrites it,
// and in a block, an outer variable only before the block writes it.
absl::Status BlockPath::CheckIsWrittenLast(const Argument& input) const {
  const Variable& variable = *input.variable();
  if (IsOuter(variable)) {
    const Op* const maker = input.value()->op();
    if (IsArray(variable) || maker == nullptr || !IsInside(maker->block())) {
      return absl::OkStatus();
    }
    return context_.Refuse(
        input.op(),
        absl::StrCat("would have to pass \"", variable.name(),
                     "\", which the block has written before and which is not its own"));
  }
  const absl::Span<const Value* const> values = variable.values();
  if (values.size() < 2 || input.value() == values.back()) return absl::OkStatus();
  if (Writes(input.op(), variable)) return absl::OkStatus();
  return context_.Refuse(input.op(), absl::StrCat("would have to pass \"", input.name(),
                                                  "\", which is written again after the op read "
                                                  "it"));
}

// What a block that may not run writes keeps its value then, whose gradient would be lost.
absl::Status BlockPath::CheckIsNotMerged(const Variable& variable) const {
  if (owner_ == nullptr || IsLoop() || IsArray(variable)) return absl::OkStatus();
  const Value* const after = ValueAfter(variable);
  if (after == nullptr) return absl::OkStatus();
  const Value& before = *after->merged()[0];
  const bool is_kept = before.origin() != Value::Origin::kEntry || variable.persistable() ||
                       variable.desc()->need_check_feed();
  if (!is_kept) return absl::OkStatus();
  return context_.Refuse(*owner_, absl::StrCat("would have to pass \"", variable.name(),
                                               "\", which keeps its value where the block does "
                                               "not run"));
}

// An output of the path that the path does not read has no gradient.
void BlockPath::StopWhatNobodyReads() {
  absl::flat_hash_set<const Variable*> read = wanted_;
  const auto read_inputs = [&](const Op& op) {
    for (const Argument* input : op.inputs()) {
      if (input->variable() != nullptr && HasGradient(*input->variable())) {
        read.insert(input->variable());
      }
    }
  };
  if (IsLoop()) {
    for (const PathOp& path_op : path_) read_inputs(*path_op.op);
  }
  for (const PathOp& path_op : path_) {
    for (const Argument* output : path_op.op->outputs()) {
      if (output->variable() == nullptr || read.contains(output->variable())) continue;
      const auto& inputs = path_op.op->inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [output](const Argument* input) {
            return input->variable() == output->variable();
          })) {
        unread_.insert(output->variable());
      }
    }
    read_inputs(*path_op.op);
  }
}

}  // namespace fixpoint
