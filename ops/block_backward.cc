#include "ops/block_backward.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/array_slots.h"
#include "ops/gradient_slots.h"
#include "ops/gradient_sums.h"
#include "ops/infer.h"
#include "ops/infer_in_program.h"
#include "ops/op_schema.h"
#include "ops/selected_rows.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr char kSubBlock[] = "sub_block";

bool Any(const Slots& slots) {
  bool any = false;
  ForEachArgument(slots, [&any](const std::string& name) { any |= name != kEmptyArgument; });
  return any;
}

const Argument* FindNamed(absl::Span<const Argument* const> arguments, absl::string_view name) {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [name](const Argument* a) { return a->name() == name; });
  return found != arguments.end() ? *found : nullptr;
}

// The argument of a forward op that a gradient op's slot repeats; null if it repeats none.
const Argument* Repeated(const Op& op, absl::string_view slot, absl::string_view name) {
  const Argument* by_name = nullptr;
  for (const auto& arguments : {op.outputs(), op.inputs()}) {
    for (const Argument* argument : arguments) {
      if (argument->name() != name) continue;
      if (argument->slot_name() == slot) return argument;
      by_name = argument;
    }
  }
  return by_name;
}

// The block that an op of a backward pass runs the gradient of; -1: none.
int BlockNamedBy(const OpDesc& op) {
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (attr.name() == kSubBlock) return attr.block_idx();
  }
  return -1;
}

}  // namespace

// Names of gradients are never parsed: a variable may be named like a gradient.
void BlockBackward::NoteGradientsOf(const Op& op) {
  for (const auto& arguments : {op.inputs(), op.outputs()}) {
    for (const Argument* argument : arguments) {
      if (argument->variable() == nullptr) continue;
      gradients_.try_emplace(GradientName(argument->name()), argument->variable());
    }
  }
}

const Variable* BlockBackward::OfWhat(const std::string& gradient) const {
  const auto found = gradients_.find(gradient);
  return found == gradients_.end() ? nullptr : found->second;
}

absl::Status BlockBackward::MakeOps() {
  for (const Variable* variable : path_.wanted()) {
    gradients_.emplace(GradientName(variable->name()), variable);
  }
  for (const BlockPath::PathOp& path_op : path_.ops()) NoteGradientsOf(*path_op.op);
  for (const BlockPath::PathOp& path_op : path_.ops()) {
    const BlockBackward* block = nullptr;
    if (path_op.block != nullptr) {
      std::unique_ptr<BlockBackward>& made = blocks_[path_op.block->block().index()];
      made = std::make_unique<BlockBackward>(&context_, *path_op.block, this);
      RETURN_IF_ERROR(made->MakeOps());
      block = made.get();
    }
    for (OpDesc gradient : path_op.gradients) {
      if (block != nullptr) RETURN_IF_ERROR(CompleteGradientOf(*block, *path_op.op, &gradient));
      DropUnwanted(gradient.mutable_outputs());
      if (!Any(gradient.outputs())) continue;
      RETURN_IF_ERROR(CheckReadsWhatItRepeats(*path_op.op, gradient));
      ops_.push_back(std::move(gradient));
    }
  }
  RETURN_IF_ERROR(RemoveWhatIsNotReached());
  SumParts();
  ClearWhatIsTaken();
  return absl::OkStatus();
}

// Gradient ops run after all forward ops of the block: what they read of those must not be
// overwritten, unless a gradient op has brought it back.
absl::Status BlockBackward::CheckReadsWhatItRepeats(const Op& op, const OpDesc& gradient) {
  const bool runs_block = !op.sub_blocks().empty();
  const bool runs_backwards = RunsBackwards(op, {gradient});
  for (const OpDesc::Var& slot : gradient.inputs()) {
    // Of an op that runs a block only whether it ran is read; the block's own pass checks the rest.
    if (runs_block && slot.parameter() != "Cond") continue;
    for (const std::string& name : slot.arguments()) {
      const Argument* const repeated =
          runs_backwards ? FindNamed(op.outputs(), name) : Repeated(op, slot.parameter(), name);
      if (repeated == nullptr || repeated->variable() == nullptr) continue;
      if (Finds(*repeated->variable(), *repeated->value())) continue;
      return context_.Refuse(op, absl::StrCat("would have to read \"", name,
                                              "\" as it was here, and it is written again"));
    }
  }
  if (!runs_backwards) return absl::OkStatus();
  for (const Argument* input : op.inputs()) {
    if (input->variable() != nullptr) undone_[input->variable()] = input->value();
  }
  return absl::OkStatus();
}

// Whether a gradient op that runs now finds that value in a variable.
bool BlockBackward::Finds(const Variable& variable, const Value& value) const {
  const auto undone = undone_.find(&variable);
  if (undone != undone_.end()) return undone->second == &value;
  if (!path_.IsOuter(variable)) return &value == variable.values().back();
  const Value* const at_end = path_.ValueAtEnd(variable);
  if (path_.IsCopied(variable)) {
    return at_end == nullptr || value.origin() == Value::Origin::kLoopHead;
  }
  if (at_end == nullptr) return around_->Finds(variable, value);
  if (at_end != &value) return false;
  const Value* const after = path_.ValueAfter(variable);
  return after != nullptr && around_->Finds(variable, *after);
}

// Removes unneeded gradients from output slots; in a list the others keep their places.
void BlockBackward::DropUnwanted(Slots* outputs) const {
  for (OpDesc::Var& slot : *outputs) {
    for (std::string& argument : *slot.mutable_arguments()) {
      const Variable* of = OfWhat(argument);
      if (of != nullptr && !path_.HasGradient(*of)) argument = kEmptyArgument;
    }
    if (slot.arguments_size() == 1 && slot.arguments(0) == kEmptyArgument) slot.clear_arguments();
  }
}

// The gradients of outer variables that the block reads before it makes them, in that order.
std::vector<std::string> BlockBackward::GradientsReadFirst() const {
  std::vector<std::string> read;
  absl::flat_hash_set<std::string> seen;
  for (const OpDesc& op : ops_) {
    ForEachArgument(op.inputs(), [&](const std::string& name) {
      const Variable* const of = OfWhat(name);
      if (of == nullptr || !path_.IsOuter(*of) || !path_.wanted().contains(of)) return;
      if (name == GradientName(of->name()) && seen.insert(name).second) read.push_back(name);
    });
    ForEachArgument(op.outputs(), [&seen](const std::string& name) { seen.insert(name); });
  }
  return read;
}

absl::flat_hash_set<std::string> BlockBackward::GradientsMade() const {
  absl::flat_hash_set<std::string> made;
  for (const OpDesc& op : ops_) {
    ForEachArgument(op.outputs(), [&made](const std::string& name) { made.insert(name); });
  }
  return made;
}

void BlockBackward::CompleteGradientOfSteps(const absl::flat_hash_set<std::string>& made,
                                            OpDesc* gradient) const {
  const RecurrentBlock& steps = path_.steps();
  for (OpDesc::Var& slot : *gradient->mutable_outputs()) {
    for (int i = 0; i < slot.arguments_size(); ++i) {
      // In the block the gradient of an initial state is that of what a step finds.
      const bool is_of_state = slot.parameter() == "initial_states@GRAD";
      const std::string& inner = is_of_state && i < static_cast<int>(steps.states.size())
                                     ? GradientName(steps.states[i].before->name())
                                     : slot.arguments(i);
      if (!made.contains(inner)) slot.set_arguments(i, kEmptyArgument);
    }
  }
  OpDesc::Var* const given = FindSlot(gradient->mutable_inputs(), "outputs@GRAD");
  if (given == nullptr) return;
  for (int i = 0; i < given->arguments_size() && i < static_cast<int>(steps.outputs.size()); ++i) {
    if (!path_.wanted().contains(steps.outputs[i].step)) given->set_arguments(i, kEmptyArgument);
  }
}

absl::Status BlockBackward::CompleteGradientOf(const BlockBackward& block, const Op& op,
                                               OpDesc* gradient) const {
  const absl::flat_hash_set<std::string> made = block.GradientsMade();
  if (block.path_.IsOfSteps()) {
    block.CompleteGradientOfSteps(made, gradient);
    return absl::OkStatus();
  }
  for (OpDesc::Var& slot : *gradient->mutable_outputs()) {
    for (std::string& name : *slot.mutable_arguments()) {
      if (!made.contains(name)) name = kEmptyArgument;
    }
  }
  OpDesc::Var* const given = FindSlot(gradient->mutable_inputs(), "Out@GRAD");
  if (given == nullptr) return absl::OkStatus();
  if (!block.path_.IsLoop()) {
    for (std::string& name : *given->mutable_arguments()) {
      const Variable* const of = OfWhat(name);
      if (of == nullptr || !block.path_.wanted().contains(of)) name = kEmptyArgument;
    }
    return absl::OkStatus();
  }
  const std::vector<std::string> read = block.GradientsReadFirst();
  for (const Variable* variable : block.path_.wanted()) {
    if (IsArray(*variable) || made.contains(GradientName(variable->name()))) continue;
    return context_.Refuse(op, absl::StrCat("would have to pass \"", variable->name(),
                                            "\", which the block writes and does not read "
                                            "before, so that only its last run counts"));
  }
  given->clear_arguments();
  for (const std::string& name : read) given->add_arguments(name);
  *gradient->add_attrs() = MakeStringsAttr("original_output_grad", read);
  return absl::OkStatus();
}

// Gradients start at what is wanted: an op that reads none is dropped, with what it would have
// written. Where only some exist, the others are zeros.
absl::Status BlockBackward::RemoveWhatIsNotReached() {
  absl::flat_hash_set<std::string> made;
  for (const Variable* variable : path_.wanted()) made.insert(GradientName(variable->name()));
  std::vector<OpDesc> reached;
  for (OpDesc& op : ops_) {
    std::vector<std::string> missing;
    bool any_made = false;
    ForEachArgument(op.inputs(), [&](const std::string& name) {
      if (OfWhat(name) == nullptr) return;
      if (made.contains(name)) {
        any_made = true;
      } else {
        missing.push_back(name);
      }
    });
    const bool only_runs_backwards = path_.IsLoop() && !any_made && missing.empty();
    if (!any_made && !only_runs_backwards) continue;
    // An op that runs a block takes what is missing as zeros.
    if (BlockNamedBy(op) >= 0) missing.clear();
    for (const std::string& name : missing) {
      if (!made.insert(name).second) continue;
      const Variable& of = *OfWhat(name);
      if (of.desc() == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(context_.Name(), "no block declares \"",
                                                       of.name(), "\", whose gradient ", op.type(),
                                                       " reads"));
      }
      reached.push_back(OpBuilder("fill_zeros_like")
                            .Input("X", of.name())
                            .Output("Out", name)
                            .IntAttr("op_role", kBackward)
                            .Build());
    }
    ForEachArgument(op.outputs(), [&made](const std::string& name) { made.insert(name); });
    reached.push_back(std::move(op));
  }
  ops_ = std::move(reached);
  return absl::OkStatus();
}

// Those that hold something when a run of the block begins to make them.
absl::flat_hash_set<std::string> BlockBackward::GradientsGiven() const {
  absl::flat_hash_set<std::string> given;
  for (const Variable* variable : path_.accumulated()) given.insert(GradientName(variable->name()));
  if (!path_.IsOfSteps()) return given;
  for (const Variable* variable : path_.wanted()) given.insert(GradientName(variable->name()));
  return given;
}

void BlockBackward::SumParts() {
  absl::flat_hash_set<std::string> names;
  for (const auto& [gradient, of] : gradients_) names.insert(gradient);
  SummedGradients summed =
      SumGradients(std::move(ops_), names, GradientsGiven(), path_.block().index());
  ops_ = std::move(summed.ops);
  for (const auto& [part, gradient] : summed.part_of) {
    // Emplacing may move what `at` refers to.
    const Variable* const of = gradients_.at(gradient);
    gradients_.emplace(part, of);
  }
}

// What a write into an array has taken from the array's gradient is no gradient of what the place
// held before, to which later ops would add.
void BlockBackward::ClearWhatIsTaken() {
  absl::flat_hash_set<std::string> added_to;
  for (const OpDesc& op : ops_) {
    if (op.type() != "sum") continue;
    ForEachArgument(op.inputs(), [&](const std::string& name) {
      const Variable* const of = OfWhat(name);
      if (of != nullptr && IsArray(*of)) added_to.insert(name);
    });
  }
  if (added_to.empty()) return;
  std::vector<OpDesc> ops;
  for (OpDesc& op : ops_) {
    const bool is_read = op.type() == "read_from_array";
    const OpDesc::Var* const x = is_read ? FindSlot(op.inputs(), "X") : nullptr;
    const OpDesc::Var* const place = is_read ? FindSlot(op.inputs(), "I") : nullptr;
    const OpDesc::Var* const out = is_read ? FindSlot(op.outputs(), "Out") : nullptr;
    const bool is_taken = x != nullptr && place != nullptr && out != nullptr &&
                          x->arguments_size() == 1 && place->arguments_size() == 1 &&
                          out->arguments_size() == 1 && added_to.contains(x->arguments(0));
    if (!is_taken) {
      ops.push_back(std::move(op));
      continue;
    }
    const std::string array = x->arguments(0);
    const std::string counter = place->arguments(0);
    const std::string taken = out->arguments(0);
    const std::string zeros = absl::StrCat(taken, "@TAKEN");
    const Variable* const of = OfWhat(taken);
    gradients_.emplace(zeros, of);
    ops.push_back(std::move(op));
    ops.push_back(OpBuilder("fill_zeros_like")
                      .Input("X", taken)
                      .Output("Out", zeros)
                      .IntAttr("op_role", kBackward)
                      .Build());
    ops.push_back(OpBuilder("write_to_array")
                      .Input("X", zeros)
                      .Input("I", counter)
                      .Output("Out", array)
                      .IntAttr("op_role", kBackward)
                      .Build());
  }
  ops_ = std::move(ops);
}

absl::Status BlockBackward::CheckNames() const {
  absl::flat_hash_set<std::string> checked;
  for (const OpDesc& op : ops_) {
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        if (name == kEmptyArgument || !checked.insert(name).second) continue;
        // What runs backwards writes a forward variable.
        if (OfWhat(name) == nullptr || context_.program.Find(path_.block(), name) == nullptr)
          continue;
        return absl::InvalidArgumentError(absl::StrCat(
            context_.Name(), "\"", name, "\" is there already; want the forward program"));
      }
    }
  }
  for (const auto& [index, block] : blocks_) RETURN_IF_ERROR(block->CheckNames());
  return absl::OkStatus();
}

absl::Status BlockBackward::DeclareOutputs(const Block& target, const OpDesc& op) {
  const absl::StatusOr<std::vector<InferredOutput>> inferred =
      InferOutputs(op, context_.era, context_.program, target);
  size_t output = 0;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) {
      const bool is_sparse = inferred.ok() && (*inferred)[output].kind == VarType::SELECTED_ROWS;
      ++output;
      const Variable* const of = OfWhat(name);
      if (name == kEmptyArgument || of == nullptr || !declared_.insert(name).second) continue;
      // A gradient, or a part of one, is declared like its variable.
      VarType type = of->desc()->type();
      if (is_sparse) MakeSelectedRows(&type);
      if (around_ == nullptr) {
        RETURN_IF_ERROR(context_.rewriter.AddVariable(target, name, type).status());
      } else {
        context_.rewriter.AddVariableOfNewBlock(target, name, type);
      }
    }
  }
  return absl::OkStatus();
}

// Everything is declared before a block is added, whose variables may hide these.
absl::StatusOr<BlockBackward::Writers> BlockBackward::Write(const Block& target) {
  for (OpDesc& op : ops_) {
    // 1.x writes only what the backward pass declares for an op.
    if (context_.era == Era::kPaddle2) CompleteAttrs(context_.era, &op);
    RETURN_IF_ERROR(DeclareOutputs(target, op));
  }
  const absl::flat_hash_set<std::string> given = GradientsGiven();
  for (const std::string& name : std::set<std::string>(given.begin(), given.end())) {
    if (!declared_.insert(name).second) continue;
    context_.rewriter.AddVariableOfNewBlock(target, name, OfWhat(name)->desc()->type());
  }
  Writers writers;
  for (OpDesc& op : ops_) {
    if (const auto block = blocks_.find(BlockNamedBy(op)); block != blocks_.end()) {
      const Block& added = context_.rewriter.AddBlock(target, &block->second->path_.block());
      RETURN_IF_ERROR(block->second->Write(added).status());
      for (OpDesc::Attr& attr : *op.mutable_attrs()) {
        if (attr.name() == kSubBlock) attr.set_block_idx(added.index());
      }
    }
    const Op& written = context_.rewriter.Append(target, op);
    ForEachArgument(op.outputs(), [&](const std::string& name) { writers[name] = &written; });
  }
  return writers;
}

}  // namespace fixpoint
