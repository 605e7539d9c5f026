// hoist_functions: computes functions before ops that only move what they read, so that a product
// folds them into its epilogue:
//
//   elementwise_add(X=p, Y=b) -> (Out=s) {axis=2}
//   reshape(X=s) -> (Out=r) {shape=[0, 0, 4, 64]}
//   transpose(X=r) -> (Out=t) {axis=[0, 2, 1, 3]}
//   scale(X=t) -> (Out=y) {scale=0.125}
//
//   elementwise_add(X=p, Y=b) -> (Out=s) {axis=2}
//   scale(X=s) -> (Out=s.scale) {scale=0.125}
//   reshape(X=s.scale) -> (Out=r.scale) {shape=[0, 0, 4, 64]}
//   transpose(X=r.scale) -> (Out=y) {axis=[0, 2, 1, 3]}
//
// A function of each element goes before what gives the same elements another order or shape; a
// batch norm by given statistics, before maxima over windows, if each channel has a factor above 0
// and both its numbers are finite: then the largest element stays the largest, rounded too
// (docs/numerics.md says what becomes of NaN). Nothing else may read what is between them, and a
// product has to fold the function there: else a batch norm in float would compute more elements.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/declared_facts.h"
#include "ops/codes/folded_ops.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/value_flow.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

// Whether a batch norm never makes a smaller element of a channel the larger one, and a finite one
// a NaN.
bool KeepsOrder(const std::vector<NormFactors>& factors) {
  return std::all_of(factors.begin(), factors.end(), [](const NormFactors& channel) {
    return channel.a > 0 && std::isfinite(channel.a) && std::isfinite(channel.b);
  });
}

const Argument& MovedBy(const Op& move) { return *MovedInputs(move).front(); }

class FunctionHoister {
 public:
  FunctionHoister(Program* program, PrepareContext* context, absl::string_view pass)
      : facts_(EraOf(*program)), program_(*program), context_(*context), rewriter_(program, pass) {}

  absl::Status HoistAll() {
    for (const Op& op : program_.block(0).ops()) {
      const std::vector<const Op*> moves = MovesBefore(op);
      if (moves.empty()) {
        NoteProduct(op);
      } else {
        RETURN_IF_ERROR(Hoist(op, moves));
      }
    }
    return absl::OkStatus();
  }

 private:
  // The moves that an op can go before, the one that it reads first; none if it stays.
  std::vector<const Op*> MovesBefore(const Op& op) const {
    std::vector<const Op*> moves;
    const std::optional<StageTrait>& stage = TraitsOf(op).stage;
    const auto attributes = OpAttributes::Of(op.desc(), facts_.era());
    if (!stage || !attributes || !stage->read(*attributes) || !CanGo(op, *stage)) return moves;
    const Argument* at = op.Input(stage->input);
    while (const Op* const move = MoveBefore(*at)) {
      const bool may_swap = stage->normalizes ? IsOfWindowsOf(*move, *attributes)
                                              : ReordersValues(*move, facts_.era());
      if (!may_swap) break;
      moves.push_back(move);
      at = &MovedBy(*move);
    }
    if (!moves.empty() && !IsFolded(op, *at)) moves.clear();
    return moves;
  }

  // The product that gives what an input reads, with ops that it folds, if nothing else reads that.
  const Op* ProductOf(const Argument& input) const {
    const auto found = products_.find(input.value());
    return found != products_.end() && facts_.WriterFor(&input) != nullptr ? found->second
                                                                           : nullptr;
  }

  // Whether such a product folds an op that reads what `input` reads. One that is a stage in codes
  // alone counts: a program is prepared so that it is quantized, though in float a norm after it
  // takes longer.
  bool IsFolded(const Op& op, const Argument& input) const {
    const Op* const product = ProductOf(input);
    if (product == nullptr) return false;
    const ProductTrait& trait = *TraitsOf(*product).product;
    const auto attributes = OpAttributes::Of(product->desc(), facts_.era());
    if (!attributes) return false;
    const Dims dims = DeclaredDims(*product->Output(trait.output));
    const int channel_axis = trait.ChannelAxis(*attributes, static_cast<int>(dims.size()));
    const FoldOrReason decision = DecideFold(op, {input.value(), dims, channel_axis}, facts_);
    return std::holds_alternative<FoldedOp>(decision) || IsStageInCodesAlone(op);
  }

  bool IsStageInCodesAlone(const Op& op) const {
    const std::optional<StageTrait>& stage = TraitsOf(op).stage;
    const auto attributes = OpAttributes::Of(op.desc(), facts_.era());
    const auto stages = stage && attributes ? stage->read(*attributes) : std::nullopt;
    return stages && stages->in_codes_alone;
  }

  // Keeps which product gives what an op writes, if it is one or a product folds it.
  void NoteProduct(const Op& op) {
    const OpTraits& traits = TraitsOf(op);
    const Op* product = nullptr;
    const Argument* output = nullptr;
    std::vector<const Argument*> inputs;
    if (traits.product) {
      product = &op;
      output = op.Output(traits.product->output);
    } else if (traits.sum) {
      inputs = {op.Input(traits.sum->x), op.Input(traits.sum->y)};
      output = op.Output(traits.sum->output);
    } else if (traits.stage) {
      inputs = {op.Input(traits.stage->input)};
      output = op.Output(traits.stage->output);
    }
    for (const Argument* input : inputs) {
      if (input != nullptr && IsFolded(op, *input)) product = ProductOf(*input);
    }
    if (product == nullptr || output == nullptr || output->value() == nullptr) return;
    products_.insert_or_assign(output->value(), product);
  }

  // Whether an op reads nothing but constants besides its input, and gives one result.
  bool CanGo(const Op& op, const StageTrait& stage) const {
    const Argument* const result = op.Output(stage.output);
    if (op.Input(stage.input) == nullptr || result == nullptr ||
        result->variable()->values().size() != 1) {
      return false;
    }
    if (!stage.normalizes) return op.inputs().size() == 1;
    const auto factors = FindNormFactors(op, facts_.era(), context_.parameters);
    return factors && KeepsOrder(*factors);
  }

  // The op that moved what an input reads, and nothing else, from one tensor.
  const Op* MoveBefore(const Argument& input) const {
    const Op* const move = facts_.WriterFor(&input);
    if (move == nullptr || FindMovedTo(*move, facts_.era()) == nullptr) return nullptr;
    const Argument* const moved = FindMoved(*move, facts_.era());
    const Variable* const from = moved != nullptr ? moved->variable() : nullptr;
    return from != nullptr && from->is_dense_tensor() ? move : nullptr;
  }

  // Whether an op takes maxima over windows of images whose channels a batch norm normalizes.
  bool IsOfWindowsOf(const Op& move, const OpAttributes& norm) const {
    if (move.type() != "pool2d") return false;
    const OpAttributes pooling = *OpAttributes::Of(move.desc(), facts_.era());
    return IsChannelsLast(pooling.String("data_format")) ==
           IsChannelsLast(norm.String("data_layout"));
  }

  absl::Status Hoist(const Op& op, const std::vector<const Op*>& moves) {
    const StageTrait& stage = *TraitsOf(op).stage;
    const Argument& result = *op.Output(stage.output);
    const Variable& last = *result.variable();
    const Argument& moved = MovedBy(*moves.back());
    ASSIGN_OR_RETURN(const Variable* made, AddResult(*moved.variable(), op));
    OpDesc hoisted = op.desc();
    const std::string from(moved.name());
    hoisted.mutable_inputs(op.Input(stage.input)->slot())->set_arguments(0, from);
    hoisted.mutable_outputs(result.slot())->set_arguments(0, std::string(made->name()));
    const Op& inserted = rewriter_.InsertBefore(*moves.back(), hoisted);
    rewriter_.Remove(op);
    for (size_t i = moves.size(); i-- > 0;) {
      const Argument& output = *MovedOutputs(*moves[i]).front();
      RETURN_IF_ERROR(rewriter_.RedirectReads({&MovedBy(*moves[i])}, *made));
      made = &last;
      if (i > 0) {
        ASSIGN_OR_RETURN(made, AddResult(*output.variable(), op));
      }
      rewriter_.SetArgument(output, made->name());
    }
    NoteProduct(inserted);
    return absl::OkStatus();
  }

  // Declares what a function gives for the elements of a variable.
  absl::StatusOr<const Variable*> AddResult(const Variable& elements, const Op& function) {
    VarDesc desc = *elements.desc();
    desc.set_name(rewriter_.FreshName(absl::StrCat(desc.name(), ".", function.type())));
    return rewriter_.AddVariable(program_.block(0), std::move(desc));
  }

  const DeclaredFacts facts_;
  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
  // Of each value that one gives, with the ops that it folds.
  absl::flat_hash_map<const Value*, const Op*> products_;
};

class HoistFunctions final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "hoist_functions"; }
  absl::string_view doc() const override {
    return "Computes functions of elements before ops that only move these, and batch norms before "
           "maxima, where a product folds them.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return FunctionHoister(&program, &context, name()).HoistAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeHoistFunctions() { return std::make_unique<HoistFunctions>(); }

}  // namespace fixpoint
