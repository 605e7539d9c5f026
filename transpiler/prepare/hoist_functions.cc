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
// batch norm by given statistics, before maxima over windows, if no channel has a factor below 0:
// then the largest element stays the largest, rounded too. Nothing else may read what is between
// them, and what is moved has to be the result of a product, a sum or another function.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/declared_facts.h"
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

// Whether a batch norm never makes a smaller element of a channel the larger one.
bool KeepsOrder(const std::vector<NormFactors>& factors) {
  return std::all_of(factors.begin(), factors.end(), [](const NormFactors& channel) {
    return channel.a >= 0 && std::isfinite(channel.a);
  });
}

bool ComputesElements(const Op& op) {
  const OpTraits& traits = TraitsOf(op);
  return traits.product || traits.sum || traits.stage;
}

const Argument& MovedBy(const Op& move) { return *move.Inputs(TraitsOf(move).moved).front(); }

class FunctionHoister {
 public:
  FunctionHoister(Program* program, PrepareContext* context, absl::string_view pass)
      : facts_(EraOf(*program)), program_(*program), context_(*context), rewriter_(program, pass) {}

  absl::Status HoistAll() {
    for (const Op& op : program_.block(0).ops()) {
      const std::vector<const Op*> moves = MovesBefore(op);
      if (!moves.empty()) RETURN_IF_ERROR(Hoist(op, moves));
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
    const Op* const computes = moves.empty() ? nullptr : WriterFor(*at);
    if (computes == nullptr || !ComputesElements(*computes)) moves.clear();
    return moves;
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

  // The op that writes what an input reads, if nothing else reads it.
  const Op* WriterFor(const Argument& input) const {
    const Value* const value = input.value();
    return value != nullptr && facts_.OnlyReader(*value) == &input.op() ? value->op() : nullptr;
  }

  // The op that moved what an input reads, and nothing else, from one tensor.
  const Op* MoveBefore(const Argument& input) const {
    const Op* const move = WriterFor(input);
    if (move == nullptr || !MovesValues(*move, facts_.era()) || move->Outputs("Out").size() != 1 ||
        move->Inputs(TraitsOf(*move).moved).size() != 1) {
      return nullptr;
    }
    const Variable* const from = MovedBy(*move).variable();
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
    rewriter_.InsertBefore(*moves.back(), hoisted);
    rewriter_.Remove(op);
    for (size_t i = moves.size(); i-- > 0;) {
      const Argument& output = *moves[i]->Output("Out");
      RETURN_IF_ERROR(rewriter_.RedirectReads({&MovedBy(*moves[i])}, *made));
      made = &last;
      if (i > 0) {
        ASSIGN_OR_RETURN(made, AddResult(*output.variable(), op));
      }
      rewriter_.SetArgument(output, made->name());
    }
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
};

class HoistFunctions final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "hoist_functions"; }
  absl::string_view doc() const override {
    return "Computes functions of elements before ops that only move these.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return FunctionHoister(&program, &context, name()).HoistAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeHoistFunctions() { return std::make_unique<HoistFunctions>(); }

}  // namespace fixpoint
