#include "transpiler/plan/requantized_sums.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/activation.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/held_codes.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/value_flow.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

using SumsOrWhy = std::variant<RequantizedSums, std::string>;

const Op* WriterOf(const Value* value) {
  return value != nullptr && value->origin() == Value::Origin::kWrite ? value->op() : nullptr;
}

bool IsRelu(const Op& op, Era era) {
  const OpTraits& traits = TraitsOf(op);
  if (!traits.activation) return false;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  return attributes && traits.activation(*attributes).function == ActivationFunction::kRelu;
}

bool IsBias(const Argument* input, const SiteFacts& facts) {
  const Site* const site = facts.FindSite(input);
  return site != nullptr && site->role == SlotRole::BIAS;
}

// The axis of a product's result that has its channels; nothing where its shape is not known.
std::optional<int> ChannelAxisOf(const Op& product, const OpAttributes& attributes) {
  const Dims dims = DeclaredDims(*product.outputs().front());
  if (dims.empty()) return std::nullopt;
  return TraitsOf(product).product->ChannelAxis(attributes, static_cast<int>(dims.size()));
}

SumsOrWhy SumsOf(const Op& product, bool has_bias, const SiteFacts& facts,
                 const QuantizerTable& quantizers) {
  const OpTraits& traits = TraitsOf(product);
  const std::optional<OpAttributes> attributes = OpAttributes::Of(product.desc(), facts.era());
  RequantizedSums sums;
  sums.operands = SitesOfProduct(product, facts);
  if (!attributes || product.outputs().size() != 1 || !sums.operands.are_both()) {
    return "the product has an operand that is not quantized";
  }
  for (const Block* block : {&product.block(), &sums.operands.activation->value->block(),
                             &sums.operands.weight->value->block()}) {
    if (block->index() != 0) return "the product is in a block that an op runs";
  }
  const Quantizer* const quantizer = quantizers.Find(sums.operands.activation->spec.quantizer());
  if (quantizer == nullptr || quantizer->is_dynamic()) {
    return "the range of the product's input is found anew at every run";
  }
  const ProductOrReason decision = DecideProductOfSites(product, *attributes, facts, quantizers);
  const auto* const decided = std::get_if<CodedProduct>(&decision);
  if (decided == nullptr || decided->why_not_lowered || decided->is_wide() ||
      decided->has_weight_zero_points()) {
    return "the product is not computed on integers";
  }
  const bool has_own_bias =
      decided->own.bias != nullptr && IsBias(product.Input(traits.product->bias), facts);
  const bool does_more = decided->own.residual != nullptr || !decided->own.stages.empty() ||
                         decided->own.function.has_value() ||
                         (decided->own.bias != nullptr && !has_own_bias);
  if (does_more || (has_bias && has_own_bias) || (!has_own_bias && !decided->gives_sums)) {
    return "the product does more than add up";
  }
  const std::optional<int> axis = ChannelAxisOf(product, *attributes);
  if (!axis) return "the shape of the product is not declared";
  sums.channel_axis = *axis;
  return sums;
}

// From a value back over the ops that wrote it, as far as each of them alone reads what it reads.
class WayBack {
 public:
  WayBack(const Site& site, const SiteFacts& facts) : facts_(facts), op_(WriterOf(site.value)) {
    for (const Argument* reader : site.value->readers()) {
      is_shared_ |= facts.IsForward(reader->op()) && facts.FindSite(reader) != &site;
    }
  }

  // The last op that was reached; null where there is none.
  const Op* op() const { return op_; }
  // Whether another op reads a value on the way too, so that a run has it as floats.
  bool is_shared() const { return is_shared_; }

  void GoOn(absl::string_view slot) { GoOn(op_->Input(slot)); }
  // The same by an input of the op; null: there is no way back.
  void GoOn(const Argument* input) {
    const Value* const value = input != nullptr ? input->value() : nullptr;
    is_shared_ |= value != nullptr && facts_.OnlyReader(*value) != op_;
    op_ = WriterOf(value);
  }

 private:
  const SiteFacts& facts_;
  const Op* op_;
  bool is_shared_ = false;
};

}  // namespace

SumsOrWhy FindRequantizedSums(const Site& site, const SiteFacts& facts,
                              const QuantizerTable& quantizers, Era target) {
  const Quantizer* const quantizer = quantizers.Find(site.spec.quantizer());
  if (quantizer == nullptr || FindObserver(*quantizer, facts.era(), target) == nullptr) {
    return absl::StrCat("quantizer ", site.spec.quantizer(), " has no observer");
  }
  if (site.has_own_gradient) return "its quantizer has a gradient of its own";
  if (!site.shared_scale.empty()) return "it shares a scale";
  if (!CodesHeldOf(StoredSpec(*quantizer, site.spec), facts.IsNeverNegative(*site.value))) {
    return "its codes have more than 8 bits";
  }
  std::vector<const Op*> moves;
  WayBack way(site, facts);
  while (way.op() != nullptr && MovesValues(*way.op(), facts.era())) {
    moves.push_back(way.op());
    way.GoOn(FindMoved(*way.op(), facts.era()));
  }
  if (way.op() != nullptr && IsRelu(*way.op(), facts.era())) way.GoOn("X");
  const std::optional<SumTrait> sum = way.op() != nullptr ? TraitsOf(*way.op()).sum : std::nullopt;
  const bool has_bias = sum && IsBias(way.op()->Input(sum->y), facts);
  if (has_bias) {
    if (SiteOfAddedSums(*way.op()->Input(sum->y), facts) != nullptr) {
      return "its sums are rounded before the bias is added";
    }
    way.GoOn(sum->x);
  }
  const Op* const op = way.op();
  if (op == nullptr || !TraitsOf(*op).product) return "it is no sum of products of codes";
  if (way.is_shared()) return "another op reads it, or what it is made of, as floats";
  SumsOrWhy sums = SumsOf(*op, has_bias, facts, quantizers);
  if (const auto* const found = std::get_if<RequantizedSums>(&sums)) {
    const bool keep = std::all_of(moves.begin(), moves.end(), [&](const Op* move) {
      return KeepsChannels(*move, found->channel_axis, facts.era());
    });
    if (!keep) return "an op before it moves channels";
  }
  return sums;
}

}  // namespace fixpoint
