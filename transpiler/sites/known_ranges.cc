#include "transpiler/sites/known_ranges.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "ops/code_ops.h"
#include "ops/era.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

// The op of the table that keeps a range the way quantize_linear does.
constexpr char kKeepsAsLinear[] = "fake_quantize_moving_average_abs_max";

constexpr size_t kMostNamed = 8;

// How an op keeps a range; nulls if it keeps none.
QuantizerTable::Match KeeperOf(const Op& op, const QuantizerTable& quantizers) {
  QuantizerTable::Match match = quantizers.FindByQuantizeOp(op.desc());
  if (match.recipe == nullptr) match = quantizers.FindByObserveOp(op.type());
  if (match.recipe == nullptr && IsQuantize(op, quantizers) && !FindsItsRange(op, quantizers)) {
    match = quantizers.FindByQuantizeOp(kKeepsAsLinear);
  }
  if (match.recipe == nullptr || match.quantizer->is_dynamic()) return {};
  return match;
}

// The argument in an input or else in an output slot, which names the same variable.
const Argument* InEither(const Op& op, absl::string_view input, absl::string_view output) {
  const Argument* const found = op.Input(input);
  return found != nullptr ? found : op.Output(output);
}

// Null if the scope has no tensor of that type, or an empty one.
const Tensor* FindTensor(const Argument* argument, VarType::Type dtype, const Scope& scope) {
  if (argument == nullptr || argument->variable() == nullptr) return nullptr;
  const Scope::Value* const value = scope.FindOrNull(argument->variable()->name());
  const Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  const bool is_found = tensor != nullptr && tensor->dtype() == dtype && tensor->size() > 0;
  return is_found ? tensor : nullptr;
}

// Where an op keeps its range.
const Argument* ScaleOf(const Op& op, const QuantizerRecipe& recipe, Era era) {
  if (IsStepOfPortable(op)) {
    const std::optional<CodeOp> read = ReadCodeOp(op, era);
    return read ? read->scale : nullptr;
  }
  if (!recipe.scale_input.empty()) return op.Input(recipe.scale_input);
  for (const QuantizerState& state : recipe.state) {
    if (state.is_scale) return InEither(op, state.input, state.output);
  }
  return nullptr;
}

class RangeJudge {
 public:
  RangeJudge(const Program& program, const Scope& scope, const QuantizerTable& quantizers)
      : program_(program), scope_(scope), quantizers_(quantizers), era_(EraOf(program)) {
    for (const Op& op : program.ops()) Note(op);
  }

  struct Unknown {
    const Variable* scale = nullptr;
    bool is_of_weight = false;
  };
  // The scales of the quantizers whose range is not known, in program order.
  std::vector<Unknown> FindUnknown() const {
    std::vector<Unknown> unknown;
    absl::flat_hash_set<const Variable*> seen;
    for (const Op& op : program_.ops()) {
      if (!IsQuantize(op, quantizers_)) continue;
      const std::vector<const Variable*> scales = ScalesReadBy(op);
      if (std::any_of(scales.begin(), scales.end(),
                      [this](const Variable* scale) { return IsKnown(scale); })) {
        continue;
      }
      for (const Variable* scale : scales) {
        if (seen.insert(scale).second) unknown.push_back({scale, QuantizesWeight(op)});
      }
    }
    return unknown;
  }

 private:
  // The variables whose largest value is an op's range; empty if it keeps none, or the scope lacks
  // it.
  std::vector<const Variable*> ScalesReadBy(const Op& op) const {
    const QuantizerTable::Match match = KeeperOf(op, quantizers_);
    if (match.recipe == nullptr) return {};
    const Argument* const scale = ScaleOf(op, *match.recipe, era_);
    if (FindTensor(scale, VarType::FP32, scope_) != nullptr && known_.contains(scale->variable())) {
      return {scale->variable()};
    }
    if (scale == nullptr || scale->variable() == nullptr) return {};
    absl::StatusOr<StoredScale> stored = FindStoredScale(*scale, scope_, quantizers_);
    if (!stored.ok()) return {};
    return std::move(stored->read);
  }

  void Note(const Op& op) {
    const QuantizerTable::Match match = KeeperOf(op, quantizers_);
    if (match.recipe == nullptr) return;
    const Argument* const scale = ScaleOf(op, *match.recipe, era_);
    if (scale == nullptr || scale->variable() == nullptr) return;
    bool is_known = CountedSteps(op, *match.recipe) || HasGivenRange(op, *match.recipe);
    for (const QuantizerState& state : match.recipe->state) {
      const Argument* const holds =
          state.is_scale ? scale : InEither(op, state.input, state.output);
      is_known = is_known || HasChanged(holds, *match.quantizer, state);
    }
    known_[scale->variable()] |= is_known;
  }

  // Whether an op that is given its range, by whichever quantizer, has one that is not 0.
  bool HasGivenRange(const Op& op, const QuantizerRecipe& recipe) const {
    if (recipe.scale_input.empty() ||
        std::any_of(recipe.state.begin(), recipe.state.end(),
                    [](const QuantizerState& state) { return state.is_scale; })) {
      return false;
    }
    const Tensor* const range = FindTensor(op.Input(recipe.scale_input), VarType::FP32, scope_);
    if (range == nullptr) return false;
    const absl::Span<const float> values = range->data<float>();
    return std::any_of(values.begin(), values.end(), [](float value) { return value != 0; });
  }

  bool CountedSteps(const Op& op, const QuantizerRecipe& recipe) const {
    if (recipe.step_counter_input.empty()) return false;
    const Tensor* const steps =
        FindTensor(op.Input(recipe.step_counter_input), VarType::INT64, scope_);
    return steps != nullptr && steps->data<int64_t>()[0] != 0;
  }

  // Whether a state differs from its initial value. A state that only counts may also begin with 0,
  // which is a parameter of quantizers. A range that begins with a number of the quantizer's own,
  // and not with what ops find in the first tensor, is known from the beginning.
  bool HasChanged(const Argument* argument, const Quantizer& quantizer,
                  const QuantizerState& state) const {
    const Tensor* const tensor = FindTensor(argument, VarType::FP32, scope_);
    if (tensor == nullptr) return false;
    QuantSpec spec;
    spec.set_bits(8);  // any: without parameters, no initial value depends on it
    const auto initial = static_cast<float>(quantizer.InitialValue(state, spec));
    if (state.is_scale && state.is_trained && initial != 0 &&
        quantizer.InitialOps({spec, SlotRole::ACTIVATION, std::nullopt, era_}).empty()) {
      return true;
    }
    const absl::Span<const float> values = tensor->data<float>();
    return std::any_of(values.begin(), values.end(), [&](float value) {
      return value != initial && !(state.training_only && value == 0);
    });
  }

  // Whether what an op quantizes is a weight, or what a quantizer's formula computes from
  // parameters alone.
  static bool QuantizesWeight(const Op& op) {
    const Argument* const x = op.Input("X");
    if (x == nullptr || x->value() == nullptr) return false;
    std::vector<const Value*> open = {x->value()};
    absl::flat_hash_set<const Value*> seen = {x->value()};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (value->origin() == Value::Origin::kEntry && value->variable().persistable()) continue;
      const bool is_of_formula = value->origin() == Value::Origin::kWrite &&
                                 value->op()->FindAttr(kInsertedByAttr) != nullptr;
      if (!is_of_formula) return false;
      for (const Argument* input : value->op()->inputs()) {
        if (input->value() != nullptr && seen.insert(input->value()).second) {
          open.push_back(input->value());
        }
      }
    }
    return true;
  }

  bool IsKnown(const Variable* scale) const {
    const auto found = known_.find(scale);
    return found == known_.end() || found->second;
  }

  const Program& program_;
  const Scope& scope_;
  const QuantizerTable& quantizers_;
  const Era era_;
  absl::flat_hash_map<const Variable*, bool> known_;  // by the scale that an op keeps
};

}  // namespace

absl::Status CheckRangesAreKnown(const Program& program, const Scope& scope,
                                 const QuantizerTable& quantizers) {
  const auto unknown = RangeJudge(program, scope, quantizers).FindUnknown();
  if (unknown.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  size_t of_weights = 0;
  for (const auto& [scale, is_of_weight] : unknown) {
    of_weights += is_of_weight;
    if (names.size() < kMostNamed) names.push_back(absl::StrCat("\"", scale->name(), "\""));
  }
  std::string all = absl::StrJoin(names, ", ");
  if (unknown.size() > names.size()) {
    absl::StrAppend(&all, " and ", unknown.size() - names.size(), " more");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      program.name(), ": ",
      unknown.size() == 1 ? "a quantizer still has the range" : "quantizers still have the ranges",
      " that training begins with: ", all,
      "; calibrate before freezing: train some steps with the quantizers",
      of_weights < unknown.size()
          ? ", or quantize the program with a profile of its activations (transpile "
            "--profile=FILE) and take the scales that its startup program then sets"
          : "",
      of_weights > 0 ? "; without training, weights want a quantizer that finds their ranges anew, "
                       "such as channel_wise_abs_max"
                     : ""));
}

}  // namespace fixpoint
