#include "transpiler/train/foldable_batch_norm.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/forward_ops.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/window.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr char kBatchNorm[] = "batch_norm";

absl::flat_hash_set<std::string> LinkedTypes() {
  absl::flat_hash_set<std::string> types = {kBatchNorm};
  for (std::string& type : TypesWith([](const OpTraits& op) { return op.product.has_value(); })) {
    types.insert(std::move(type));
  }
  return types;
}

std::string GradientSlot(absl::string_view slot) { return absl::StrCat(slot, kGradientSuffix); }

// The output's argument; null if there is none, or it is kEmptyArgument.
const Argument* WrittenIn(const Op& op, absl::string_view slot) {
  const Argument* const output = op.Output(slot);
  return output != nullptr && output->value() != nullptr ? output : nullptr;
}

std::optional<Dims> DimsOf(const Argument& argument) {
  const VarType::TensorDesc* const tensor = argument.variable()->tensor();
  if (tensor == nullptr || tensor->data_type() != VarType::FP32) return std::nullopt;
  return Dims(tensor->dims().begin(), tensor->dims().end());
}

}  // namespace

FoldableBatchNorms::FoldableBatchNorms(const Program& program)
    : program_(program), era_(EraOf(program)), links_(program, LinkedTypes()) {}

std::vector<const Op*> FoldableBatchNorms::Candidates() const {
  std::vector<const Op*> norms;
  for (const Op& op : program_.ops()) {
    if (op.type() != kBatchNorm || !IsForward(op)) continue;
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era_);
    if (attributes && UsesGivenStatistics(*attributes, attributes->Bool(kIsTest))) continue;
    norms.push_back(&op);
  }
  return norms;
}

std::variant<FoldableBatchNorm, std::string> FoldableBatchNorms::Find(const Op& norm) {
  FoldableBatchNorm found;
  found.norm = &norm;
  std::string why = WhyNotForward(&found);
  if (why.empty()) why = WhyNotBackward(&found);
  if (!why.empty()) return why;
  return found;
}

std::string FoldableBatchNorms::WhyNotForward(FoldableBatchNorm* found) {
  const Op& norm = *found->norm;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(norm.desc(), era_);
  if (!attributes || attributes->Bool("fuse_with_relu") || !norm.Inputs("MomentumTensor").empty()) {
    return "has attributes that cannot be read, a relu of its own or a momentum that is computed";
  }
  for (const char* slot : {"X", "Scale", "Bias", "Mean", "Variance"}) {
    const Argument* const input = norm.Input(slot);
    if (input == nullptr || input->value() == nullptr) {
      return absl::StrCat("has no input ", slot);
    }
  }
  for (const char* slot : {"Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    if (WrittenIn(norm, slot) == nullptr) return absl::StrCat("has no output ", slot);
  }
  for (const char* slot : {"Scale", "Bias"}) {
    if (!parameters_.IsWeight(*norm.Input(slot)->value())) {
      return absl::StrCat("has a ", slot, " that is no parameter");
    }
  }
  if (norm.Output("MeanOut")->variable() != norm.Input("Mean")->variable() ||
      norm.Output("VarianceOut")->variable() != norm.Input("Variance")->variable()) {
    return "does not keep its statistics in the variables that it reads";
  }

  const Argument& x = *norm.Input("X");
  const Op* const product = x.value()->written_by() == nullptr ? nullptr : x.value()->op();
  if (product == nullptr || !TraitsOf(*product).product || &product->block() != &norm.block()) {
    return absl::StrCat("reads \"", std::string(x.name()),
                        "\", which is not the result of a product");
  }
  const ProductTrait& trait = *TraitsOf(*product).product;
  const std::optional<OpAttributes> of_product = OpAttributes::Of(product->desc(), era_);
  const absl::StatusOr<OwnWork> own_work =
      of_product ? OwnWorkOf(*product, *of_product) : OwnWork();
  found->product = product;
  found->result = product->Output(trait.output);
  found->weight = product->Input(trait.weight);
  if (!of_product || !own_work.ok() || own_work->any() || product->outputs().size() != 1 ||
      found->result == nullptr || found->weight == nullptr) {
    return absl::StrCat("follows ", Describe(*product), ", which computes more than a product");
  }
  for (const Argument* reader : x.value()->readers()) {
    if (&reader->op() == &norm || (reader->op().role() & kBackward) != 0) continue;
    return absl::StrCat("is not alone in reading \"", std::string(x.name()), "\", which ",
                        Describe(reader->op()), " reads too");
  }
  const std::string weight(found->weight->name());
  if (found->weight->value() == nullptr ||
      found->weight->value()->origin() != Value::Origin::kEntry ||
      !parameters_.IsParameter(*found->weight->variable())) {
    return absl::StrCat("follows a product with \"", weight, "\", which is no parameter");
  }
  const std::optional<Dims> dims = DimsOf(x);
  const std::optional<Dims> of_weight = DimsOf(*found->weight);
  const std::optional<Dims> of_scale = DimsOf(*norm.Input("Scale"));
  if (of_weight) {
    found->weight_axis =
        trait.WeightAxis(*of_product, true, static_cast<int>(of_weight->size())).value_or(-1);
  }
  if (!dims || dims->size() < 2 || !of_weight || found->weight_axis < 0 || !of_scale ||
      of_scale->size() != 1) {
    return absl::StrCat("follows a product with \"", weight,
                        "\", the axis of whose channels is not declared");
  }
  const int rank = static_cast<int>(dims->size());
  const int channel_axis = IsChannelsLast(attributes->String("data_layout")) ? rank - 1 : 1;
  if (trait.ChannelAxis(*of_product, rank) != channel_axis ||
      (*of_weight)[found->weight_axis] != (*of_scale)[0]) {
    return absl::StrCat("normalizes other channels than \"", weight, "\" has");
  }
  return "";
}

std::string FoldableBatchNorms::WhyNotBackward(FoldableBatchNorm* found) const {
  const ProductTrait& trait = *TraitsOf(*found->product).product;
  const Op* gradients[2];
  const Op* const forward[2] = {found->norm, found->product};
  for (int i = 0; i < 2; ++i) {
    const auto of_op = links_.GradientsOf(*forward[i]);
    if (links_.UncertainGradientOf(*forward[i]) != nullptr || of_op.size() > 1) {
      return absl::StrCat("has a gradient op, or ", Describe(*found->product),
                          " has, that is not certainly its own");
    }
    if (of_op.empty() || &of_op[0]->block() != &found->norm->block()) {
      return absl::StrCat("is not trained: ", Describe(*forward[i]), " has no gradient op");
    }
    gradients[i] = of_op[0];
  }
  found->norm_gradient = gradients[0];
  found->product_gradient = gradients[1];
  for (const char* slot : {"X", "Scale", "Bias"}) {
    if (WrittenIn(*gradients[0], GradientSlot(slot)) == nullptr) {
      return absl::StrCat("is not trained: ", Describe(*gradients[0]), " gives ", slot,
                          " no gradient");
    }
  }
  found->weight_gradient = WrittenIn(*gradients[1], GradientSlot(trait.weight));
  found->input_gradient = WrittenIn(*gradients[1], GradientSlot(trait.activation));
  found->result_gradient = gradients[1]->Input(GradientSlot(trait.output));
  if (found->weight_gradient == nullptr) {
    return "follows a weight that is not trained";
  }
  const Argument* const repeated = gradients[1]->Input(trait.weight);
  if (repeated == nullptr || repeated->value() != found->weight->value()) {
    return absl::StrCat("has a gradient op ", Describe(*gradients[1]),
                        " after it that reads another weight");
  }
  const Value& between = *WrittenIn(*gradients[0], GradientSlot("X"))->value();
  if (found->result_gradient == nullptr || found->result_gradient->value() != &between ||
      between.readers().size() != 1) {
    return absl::StrCat("has a gradient that does not go to ", Describe(*gradients[1]), " alone");
  }
  for (const Argument* reader :
       WrittenIn(*gradients[0], GradientSlot("Scale"))->value()->readers()) {
    if (&reader->op().block() == &gradients[1]->block() && gradients[1]->IsBefore(reader->op())) {
      continue;
    }
    return absl::StrCat("has a gradient of Scale that ", Describe(reader->op()),
                        " reads before that of the weight is there");
  }
  return "";
}

}  // namespace fixpoint
