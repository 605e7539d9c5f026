// prune_to_inference: removes what the fetches do not need. Needs are traced by values: an op that
// writes a needed variable in place stays, one whose result is overwritten is removed. A program
// without feed and fetch ops gets them, as save_inference_model writes them: for the fetches that
// the context names, and for its feeds or, if it names none, the variables that are needed and that
// nothing in the program computes. For the fetch y:
//
//   mul(X=x, Y=w) -> (Out=y)
//   mean(X=y) -> (Out=loss)
//
//   feed(X=feed) -> (Out=x) {col=0}
//   mul(X=x, Y=w) -> (Out=y)
//   fetch(X=y) -> (Out=fetch) {col=0}

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

// Whether every write of the variable replaces its whole contents. A list of tensors is written
// entry by entry.
bool IsWrittenWhole(const Variable& variable) {
  return variable.desc() == nullptr || variable.tensor() == nullptr ||
         variable.desc()->type().type() != VarType::LOD_TENSOR_ARRAY;
}

bool IsWritten(const Variable& variable) {
  const auto values = variable.values();
  return std::any_of(values.begin(), values.end(),
                     [](const Value* value) { return value->op() != nullptr; });
}

class Pruner {
 public:
  Pruner(Program* program, FreezeContext* context, absl::string_view pass)
      : program_(*program), context_(*context), rewriter_(program, pass) {}

  absl::Status Prune() {
    RETURN_IF_ERROR(FindEnds());
    Follow();
    RETURN_IF_ERROR(CheckFeeds());
    ASSIGN_OR_RETURN(const std::vector<const Variable*> inputs, FedInOrder());
    RemoveDeadOps();
    if (!context_.fetches.empty()) RETURN_IF_ERROR(WriteFetches());
    if (!context_.feeds.empty() || !has_feed_ops_) return WriteFeeds(inputs);
    return absl::OkStatus();
  }

 private:
  const Block& main() const { return program_.block(0); }

  absl::StatusOr<const Variable*> FindInMain(const std::string& name, absl::string_view what) {
    const Variable* variable = program_.Find(main(), name);
    if (variable != nullptr) return variable;
    std::vector<std::string> known;
    for (const Variable* declared : main().variables()) known.push_back(declared->name());
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", what, " \"", name, "\" is not a variable of block 0", DidYouMean(name, known)));
  }

  // Where tracing starts: the fetched values; and where it ends: the fed variables.
  absl::Status FindEnds() {
    for (const std::string& name : context_.feeds) {
      ASSIGN_OR_RETURN(const Variable* variable, FindInMain(name, "feed"));
      fed_.insert(variable);
    }
    for (const std::string& name : context_.fetches) {
      ASSIGN_OR_RETURN(const Variable* variable, FindInMain(name, "fetch"));
      const Value* last = nullptr;
      for (const Value* value : variable->values()) {
        if (&value->block() == &main()) last = value;
      }
      if (last == nullptr || last->origin() == Value::Origin::kEntry) {
        if (!fed_.contains(variable) && !variable->persistable()) {
          return absl::InvalidArgumentError(
              absl::StrCat("the fetch \"", name, "\" is computed by no op"));
        }
        continue;
      }
      Need(last);
    }
    for (const Op& op : main().ops()) {
      if (IsFeed(op)) {
        has_feed_ops_ = true;
        if (context_.feeds.empty()) Keep(op);
      }
      if (IsFetch(op) && context_.fetches.empty()) {
        has_fetch_ops_ = true;
        Keep(op);
      }
    }
    if (has_fetch_ops_ || !context_.fetches.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the program has no fetch op; name the variables that it is to compute "
                     "(--fetches)"));
  }

  void Need(const Value* value) {
    if (value != nullptr && needed_.insert(value).second) open_values_.push_back(value);
  }

  void Keep(const Op& op) {
    if (!kept_.insert(&op).second) return;
    for (const Argument* input : op.inputs()) Need(input->value());
    // It is unknown which value an attribute's variable refers to: all of them stay.
    for (const absl::string_view name : VariablesInAttrs(op.desc())) {
      const Variable* variable = program_.Find(op.block(), name);
      if (variable == nullptr) continue;
      for (const Value* value : variable->values()) Need(value);
    }
    // A loop's block is kept whole: how often it runs may depend on all of it.
    for (const Block* block : op.sub_blocks()) {
      for (const Op& inner : block->ops()) open_ops_.push_back(&inner);
    }
  }

  void Follow() {
    while (!open_values_.empty() || !open_ops_.empty()) {
      if (!open_ops_.empty()) {
        const Op* op = open_ops_.back();
        open_ops_.pop_back();
        Keep(*op);
        continue;
      }
      const Value& value = *open_values_.back();
      open_values_.pop_back();
      if (value.op() != nullptr && !IsFed(value)) Keep(*value.op());
      for (const Value* merged : value.merged()) Need(merged);
      if (!IsWrittenWhole(value.variable())) {
        for (const Value* part : value.variable().values()) Need(part);
      }
    }
  }

  // Whether a feed replaces what the value's op computes: unless that op changes in place what was
  // fed.
  bool IsFed(const Value& value) const {
    if (!fed_.contains(&value.variable())) return false;
    for (const Argument* input : value.op()->inputs()) {
      if (input->variable() == &value.variable()) return false;
    }
    return true;
  }

  // Error (kFailedPrecondition): a kept op would overwrite what is fed.
  absl::Status CheckFeeds() const {
    for (const Op& op : program_.ops()) {
      if (!kept_.contains(&op) || IsFeed(op)) continue;
      for (const Argument* output : op.outputs()) {
        const Value* value = output->value();
        if (value == nullptr || value->op() != &op || !IsFed(*value)) continue;
        return absl::FailedPreconditionError(
            absl::StrCat(DescribeInFile(op), ": computes \"", output->name(),
                         "\", which is to be fed, and other outputs that the fetches need"));
      }
    }
    return absl::OkStatus();
  }

  // The feeds, in the order of the names or, without names, as InputsInOrder. Error
  // (kInvalidArgument): something else is needed.
  absl::StatusOr<std::vector<const Variable*>> FedInOrder() const {
    ASSIGN_OR_RETURN(std::vector<const Variable*> inputs, InputsInOrder());
    if (context_.feeds.empty()) return inputs;
    for (const Variable* input : inputs) {
      if (fed_.contains(input)) continue;
      return absl::InvalidArgumentError(absl::StrCat("the fetches need \"", input->name(),
                                                     "\", which is not among the feeds; ",
                                                     "feed it too (--feeds)"));
    }
    std::vector<const Variable*> fed;
    absl::flat_hash_set<const Variable*> seen;
    for (const std::string& name : context_.feeds) {
      const Variable* variable = program_.Find(main(), name);
      if (seen.insert(variable).second) fed.push_back(variable);
    }
    return fed;
  }

  // What is needed from outside, in the order of the first read. Error (kFailedPrecondition): it
  // does not come from outside but from an op that an earlier pass removed.
  absl::StatusOr<std::vector<const Variable*>> InputsInOrder() const {
    const RemovedWriters removed(program_);
    std::vector<const Variable*> inputs;
    absl::flat_hash_set<const Variable*> seen;
    for (const Op& op : program_.ops()) {
      if (!kept_.contains(&op)) continue;
      for (const Argument* input : op.inputs()) {
        const Value* value = input->value();
        if (value == nullptr || value->origin() != Value::Origin::kEntry ||
            &input->variable()->block() != &main() || input->variable()->persistable() ||
            input->variable()->tensor() == nullptr || !IsWrittenWhole(*input->variable())) {
          continue;
        }
        if (!fed_.contains(input->variable())) RETURN_IF_ERROR(removed.Check(*input));
        if (seen.insert(input->variable()).second) inputs.push_back(input->variable());
      }
      for (const absl::string_view name : VariablesInAttrs(op.desc())) {
        const Variable* variable = program_.Find(op.block(), name);
        if (variable == nullptr || &variable->block() != &main() || IsWritten(*variable) ||
            variable->persistable() || variable->tensor() == nullptr) {
          continue;
        }
        if (seen.insert(variable).second) inputs.push_back(variable);
      }
    }
    return inputs;
  }

  void RemoveDeadOps() {
    for (const Op& op : program_.ops()) {
      if (!kept_.contains(&op)) rewriter_.Remove(op);
    }
  }

  // The variable that holds the feeds or fetches.
  absl::StatusOr<std::string> Holder(absl::string_view name, VarType::Type kind) {
    const Variable* found = program_.Find(main(), name);
    if (found != nullptr && found->desc()->type().type() == kind) return found->name();
    VarDesc desc;
    desc.set_name(rewriter_.FreshName(name));
    desc.mutable_type()->set_type(kind);
    desc.set_persistable(true);
    const std::string holder = desc.name();
    RETURN_IF_ERROR(rewriter_.AddVariable(main(), std::move(desc)).status());
    return holder;
  }

  absl::Status WriteFetches() {
    ASSIGN_OR_RETURN(const std::string holder, Holder(kFetch, VarType::FETCH_LIST));
    int column = 0;
    for (const std::string& name : context_.fetches) {
      rewriter_.Append(main(), OpBuilder(kFetch)
                                   .Input("X", name)
                                   .Output("Out", holder)
                                   .Attr(MakeIntAttr("col", column++))
                                   .Attr(MakeIntAttr("op_role", kForward))
                                   .Build());
    }
    return absl::OkStatus();
  }

  absl::Status WriteFeeds(const std::vector<const Variable*>& inputs) {
    if (inputs.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string holder, Holder(kFeed, VarType::FEED_MINIBATCH));
    int column = 0;
    for (const Variable* input : inputs) {
      rewriter_.Prepend(main(), OpBuilder(kFeed)
                                    .Input("X", holder)
                                    .Output("Out", input->name())
                                    .Attr(MakeIntAttr("col", column++))
                                    .Attr(MakeIntAttr("op_role", kForward))
                                    .Build());
    }
    return absl::OkStatus();
  }

  Program& program_;
  FreezeContext& context_;
  Rewriter rewriter_;
  bool has_feed_ops_ = false;
  bool has_fetch_ops_ = false;
  absl::flat_hash_set<const Variable*> fed_;
  absl::flat_hash_set<const Value*> needed_;
  absl::flat_hash_set<const Op*> kept_;
  std::vector<const Value*> open_values_;
  std::vector<const Op*> open_ops_;
};

class PruneToInference final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "prune_to_inference"; }
  absl::string_view doc() const override { return "Removes what the fetches do not need."; }
  std::vector<std::string> Requires() const override { return {"training_stripped"}; }
  std::vector<std::string> Establishes() const override { return {"pruned"}; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return Pruner(&program, &context, name()).Prune();
  }
};

}  // namespace

std::unique_ptr<Pass> MakePruneToInference() { return std::make_unique<PruneToInference>(); }

}  // namespace fixpoint
