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
  for (std::string& type :
       TypesWith([](const OpTraits& op) { return op.product.has_value() || op.sum.has_value(); })) {
    types.insert(std::move(type));
  }
  return types;
}

std::string GradientSlot(absl::string_view slot) { return absl::StrCat(slot, kGradientSuffix); }

bool IsBackward(const Op& op) { return (op.role() & kBackward) != 0; }

// What writes the value of an input; null if no op does.
const Op* WriterOf(const Argument& input) {
  return input.value() == nullptr || input.value()->written_by() == nullptr ? nullptr
                                                                            : input.value()->op();
}

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

// Whether an input, and nothing else, reads what an output writes; neither if one is null.
bool GoesTo(const Argument* output, const Argument* input) {
  return output != nullptr && input != nullptr && input->value() == output->value() &&
         output->value()->readers().size() == 1;
}

// Why an input of the forward part is not the only one there that reads its value; "" if it is.
std::string WhyNotAlone(const Argument& input) {
  for (const Argument* reader : input.value()->readers()) {
    if (&reader->op() == &input.op() || IsBackward(reader->op())) continue;
    return absl::StrCat("is not alone in reading \"", std::string(input.name()), "\", which ",
                        Describe(reader->op()), " reads too");
  }
  return "";
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

  if (std::string why = WhyNotSum(found); !why.empty()) return why;
  const Argument& x =
      found->sum == nullptr ? *norm.Input("X") : *found->sum->Input(TraitsOf(*found->sum).sum->x);
  const Op* const product = WriterOf(x);
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
  if (std::string why = WhyNotAlone(x); !why.empty()) return why;
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
  if (found->sum == nullptr) return "";
  const std::optional<Dims> of_bias = DimsOf(*found->bias);
  const int64_t axis =
      OpAttributes::Of(found->sum->desc(), era_)->Int(TraitsOf(*found->sum).sum->axis);
  if (of_bias != of_scale || (axis < 0 ? rank - 1 : axis) != channel_axis) {
    return absl::StrCat("follows \"", std::string(found->bias->name()),
                        "\", which is not a bias for each channel");
  }
  return "";
}

std::string FoldableBatchNorms::WhyNotSum(FoldableBatchNorm* found) {
  const Argument& x = *found->norm->Input("X");
  const Op* const sum = WriterOf(x);
  if (sum == nullptr || !TraitsOf(*sum).sum || &sum->block() != &found->norm->block()) return "";
  const SumTrait& trait = *TraitsOf(*sum).sum;
  const Argument* const bias = sum->Input(trait.y);
  if (bias == nullptr || sum->Input(trait.x) == nullptr || !OpAttributes::Of(sum->desc(), era_) ||
      bias->value() == nullptr || bias->value()->origin() != Value::Origin::kEntry ||
      !parameters_.IsParameter(*bias->variable())) {
    return absl::StrCat("reads \"", std::string(x.name()), "\", which ", Describe(*sum),
                        " adds up from more than a bias");
  }
  if (sum->Input(trait.x)->variable() == x.variable()) {
    return absl::StrCat("reads \"", std::string(x.name()), "\", which ", Describe(*sum),
                        " reads and writes");
  }
  found->sum = sum;
  found->bias = bias;
  return WhyNotAlone(x);
}

std::string FoldableBatchNorms::WhyNotBackward(FoldableBatchNorm* found) const {
  const struct {
    const Op* forward;
    const Op** gradient;
  } ops[] = {{found->norm, &found->norm_gradient},
             {found->sum, &found->sum_gradient},
             {found->product, &found->product_gradient}};
  for (const auto& [forward, gradient] : ops) {
    if (forward == nullptr) continue;
    const auto of_op = links_.GradientsOf(*forward);
    if (links_.UncertainGradientOf(*forward) != nullptr || of_op.size() > 1) {
      return forward == found->norm ? "has a gradient op that is not certainly its own"
                                    : absl::StrCat("follows ", Describe(*forward),
                                                   ", whose gradient op is not certainly its own");
    }
    if (of_op.empty() || &of_op[0]->block() != &found->norm->block()) {
      return absl::StrCat("is not trained: ", Describe(*forward), " has no gradient op");
    }
    *gradient = of_op[0];
  }
  for (const char* slot : {"X", "Scale", "Bias"}) {
    if (WrittenIn(*found->norm_gradient, GradientSlot(slot)) == nullptr) {
      return absl::StrCat("is not trained: ", Describe(*found->norm_gradient), " gives ", slot,
                          " no gradient");
    }
  }
  const ProductTrait& trait = *TraitsOf(*found->product).product;
  const Op& last = *found->product_gradient;
  found->weight_gradient = WrittenIn(last, GradientSlot(trait.weight));
  found->input_gradient = WrittenIn(last, GradientSlot(trait.activation));
  found->result_gradient = last.Input(GradientSlot(trait.output));
  if (found->weight_gradient == nullptr) {
    return "follows a weight that is not trained";
  }
  const Argument* const repeated = last.Input(trait.weight);
  if (repeated == nullptr || repeated->value() != found->weight->value()) {
    return absl::StrCat("has a gradient op ", Describe(last),
                        " after it that reads another weight");
  }
  const Argument* of_read = WrittenIn(*found->norm_gradient, GradientSlot("X"));
  if (found->sum != nullptr) {
    const SumTrait& of_sum = *TraitsOf(*found->sum).sum;
    found->bias_gradient = WrittenIn(*found->sum_gradient, GradientSlot(of_sum.y));
    if (found->bias_gradient == nullptr) return "follows a bias that is not trained";
    const Argument* const bias = found->sum_gradient->Input(of_sum.y);
    if (bias == nullptr || bias->value() != found->bias->value()) {
      return absl::StrCat("has a gradient op ", Describe(*found->sum_gradient),
                          " after it that reads another bias");
    }
    if (!GoesTo(of_read, found->sum_gradient->Input(GradientSlot(of_sum.output)))) {
      return absl::StrCat("has a gradient that does not go to ", Describe(*found->sum_gradient),
                          " alone");
    }
    of_read = WrittenIn(*found->sum_gradient, GradientSlot(of_sum.x));
  }
  if (!GoesTo(of_read, found->result_gradient)) {
    return absl::StrCat("has a gradient that does not go to ", Describe(last), " alone");
  }
  for (const Argument* early :
       {WrittenIn(*found->norm_gradient, GradientSlot("Scale")), found->bias_gradient}) {
    if (early == nullptr) continue;
    for (const Argument* reader : early->value()->readers()) {
      if (&reader->op().block() == &last.block() && last.IsBefore(reader->op())) continue;
      return absl::StrCat("has a gradient \"", std::string(early->name()), "\" that ",
                          Describe(reader->op()), " reads before that of the weight is there");
    }
  }
  return "";
}

}  // namespace fixpoint
