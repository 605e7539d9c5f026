#include "ops/codes/folded_ops.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "ops/codes/added_codes.h"
#include "ops/codes/integer_reasons.h"
#include "ops/equal_shapes.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/placed_dims.h"
#include "ops/value_flow.h"
#include "ops/window.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;
using Operand = FoldedOp::Operand;

// Whether two tensors surely have the same dimensions in every run.
bool HaveSameDims(const Op& sum, const Dims& a, const Dims& b, Era era) {
  const bool are_known = std::all_of(a.begin(), a.end(), [](int64_t dim) { return dim >= 0; });
  return a == b && (are_known || HaveEqualShapes(sum, era));
}

// The sum with an addend of the result's dims.
FoldOrReason DecideResidual(FoldedOp fold, const RunFacts& facts) {
  const HeldForm form = AddedForm(*fold.op, *fold.addend, facts);
  const bool are_floats = form.kind == HeldForm::Kind::kFloats;
  if (!are_floats && !form.addition) return IntegerReason::kAtEdge;
  fold.stages = {are_floats ? EpilogueStage{Kind::kAddElement} : *form.addition};
  fold.operand = are_floats ? Operand::kElements : Operand::kCodes;
  return fold;
}

FoldOrReason DecideSum(const Op& op, const ProductResult& result, const RunFacts& facts) {
  const SumTrait& trait = *TraitsOf(op).sum;
  const Argument* const x = op.Input(trait.x);
  const Argument* const y = op.Input(trait.y);
  const auto attributes = OpAttributes::Of(op.desc(), facts.era());
  FoldedOp fold{&op};
  fold.output = op.Output(trait.output);
  if (x == nullptr || y == nullptr || fold.output == nullptr || !attributes) {
    return IntegerReason::kAttributes;
  }
  const bool is_x = x->value() == result.value;
  fold.addend = is_x ? y : x;
  if (fold.addend->value() == nullptr) return IntegerReason::kAttributes;
  const std::optional<KnownType> type = facts.TypeOf(*fold.addend->value());
  if (!type || result.dims.empty()) return IntegerReason::kUnknownShape;
  const bool are_floats = type->dtype == VarType::FP32;
  if (are_floats && HaveSameDims(op, type->dims, result.dims, facts.era()))
    return DecideResidual(fold, facts);
  const bool is_bias =
      is_x && are_floats &&
      IsOfChannels(type->dims, attributes->Int(trait.axis), result.dims, result.channel_axis);
  if (is_bias && result.product && result.product->gives_sums &&
      result.product->KindOfBias(facts.BiasFormOf(*fold.addend)) == BiasKind::kToSums) {
    fold.operand = Operand::kBias;
    return fold;
  }
  if (const auto reason = facts.WhyNotRead(*fold.addend)) return *reason;
  if (!is_bias) return IntegerReason::kAttributes;
  fold.stages = {{Kind::kAddChannel}};
  fold.operand = Operand::kChannels;
  return fold;
}

// The stages that compute what an op does in a run.
std::optional<StageTrait::Stages> StagesInRun(const Op& op, const StageTrait& trait,
                                              const RunFacts& facts) {
  if (!facts.HasBegunTest(op)) {
    const auto attributes = OpAttributes::Of(op.desc(), facts.era());
    return attributes ? trait.read(*attributes) : std::nullopt;
  }
  OpDesc in_test = op.desc();
  SetAttr(MakeBoolAttr("is_test", true), &in_test);
  const auto attributes = OpAttributes::Of(in_test, facts.era());
  return attributes ? trait.read(*attributes) : std::nullopt;
}

// The axis of the channels of what a norm reads; that of a matrix is 1 in either layout.
int NormAxis(const Op& op, int rank, Era era) {
  const auto attributes = OpAttributes::Of(op.desc(), era);
  const bool is_last = attributes && IsChannelsLast(attributes->String("data_layout"));
  return is_last ? rank - 1 : 1;
}

// Why the statistics of a norm are not those of a result's channels, or cannot be read.
std::optional<IntegerReason> WhyNotNormalized(const Op& op, const ProductResult& result,
                                              const RunFacts& facts) {
  if (result.dims.empty()) return IntegerReason::kUnknownShape;
  const auto rank = static_cast<int>(result.dims.size());
  const Argument* const momentum = op.Input("MomentumTensor");
  if ((momentum != nullptr && momentum->value() != nullptr) || result.channel_axis >= rank ||
      NormAxis(op, rank, facts.era()) != result.channel_axis) {
    return IntegerReason::kAttributes;
  }
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
    const Argument* const statistic = op.Input(slot);
    if (statistic == nullptr || statistic->value() == nullptr) return IntegerReason::kAttributes;
    if (const auto reason = facts.WhyNotRead(*statistic)) return reason;
    const std::optional<KnownType> type = facts.TypeOf(*statistic->value());
    if (!type) return IntegerReason::kUnknownShape;
    const absl::StatusOr<int64_t> size = ElementCount(type->dims);
    const bool fits = type->dtype == VarType::FP32 && size.ok() &&
                      MayBeEqual(*size, result.dims[result.channel_axis]);
    if (!fits) return IntegerReason::kAttributes;
  }
  return std::nullopt;
}

bool Normalizes(const Op& op) {
  const std::optional<StageTrait>& stage = TraitsOf(op).stage;
  return stage && stage->normalizes;
}

// Whether what an op gives is stored as codes: at once, or after a batch norm that alone reads it
// and is folded too.
bool EndsInCodes(const Argument& output, const ProductResult& result, const RunFacts& facts) {
  if (output.value() == nullptr) return false;
  const Value* end = output.value();
  const Op* const reader = facts.OnlyReader(*end);
  if (reader != nullptr && Normalizes(*reader)) {
    const FoldOrReason norm = DecideFold(*reader, {end, result.dims, result.channel_axis}, facts);
    if (!std::holds_alternative<FoldedOp>(norm)) return false;
    end = std::get<FoldedOp>(norm).output->value();
  }
  return end != nullptr && IsStoredAsCodes(*end, facts.era(), [&facts](const Value& value) {
           return facts.OnlyReader(value);
         });
}

FoldOrReason DecideStage(const Op& op, const ProductResult& result, const RunFacts& facts) {
  const StageTrait& trait = *TraitsOf(op).stage;
  FoldedOp fold{&op};
  fold.output = op.Output(trait.output);
  if (fold.output == nullptr) return IntegerReason::kAttributes;
  const std::optional<StageTrait::Stages> stages = StagesInRun(op, trait, facts);
  if (!stages) return trait.normalizes ? IntegerReason::kAttributes : IntegerReason::kNotQuantized;
  fold.stages = stages->epilogue;
  if (trait.normalizes) {
    fold.operand = Operand::kStatistics;
    if (const auto reason = WhyNotNormalized(op, result, facts)) return *reason;
  }
  if (stages->in_codes_alone && !EndsInCodes(*fold.output, result, facts)) {
    return IntegerReason::kKeepsNan;
  }
  return fold;
}

}  // namespace

bool IsOfChannels(DimsView addend, int64_t axis, Dims dims, int channel_axis) {
  const int rank = static_cast<int>(dims.size());
  if (static_cast<int>(addend.size()) > rank || channel_axis >= rank || dims[channel_axis] < 0) {
    return false;
  }
  for (int i = 0; i < rank; ++i) {
    if (i != channel_axis) dims[i] = 1;
  }
  const absl::StatusOr<Dims> placed = PlacedDims(addend, rank, axis);
  return placed.ok() && *placed == dims;
}

const Op& ProductOfSum(const Op& a, const Op& b) { return a.IsBefore(b) ? b : a; }

FoldOrReason DecideFold(const Op& op, const ProductResult& result, const RunFacts& facts) {
  const OpTraits& traits = TraitsOf(op);
  if (!traits.sum && !traits.stage) return IntegerReason::kNotAfterProduct;
  FoldOrReason decision =
      traits.sum ? DecideSum(op, result, facts) : DecideStage(op, result, facts);
  if (const auto* const fold = std::get_if<FoldedOp>(&decision)) {
    if (const auto reason = facts.WhyNotFolded(op, *fold->output)) return *reason;
  }
  return decision;
}

std::vector<FoldedOp> FindFoldedOps(ProductResult result, const RunFacts& facts) {
  std::vector<FoldedOp> folded;
  for (;;) {
    const Op* const next = facts.OnlyReader(*result.value);
    if (next == nullptr) return folded;
    FoldOrReason decision = DecideFold(*next, result, facts);
    auto* const fold = std::get_if<FoldedOp>(&decision);
    if (fold == nullptr) return folded;
    result.value = fold->output->value();
    result.product.reset();
    folded.push_back(std::move(*fold));
  }
}

}  // namespace fixpoint
