#include "ops/op_traits.h"

#include <glog/logging.h>

#include <cmath>

#include "ops/op_schema.h"
#include "ops/window_axes.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// 0 where it is not known.
int RankOf(const Op& op, absl::string_view slot) {
  const Argument* argument = op.Input(slot);
  if (argument == nullptr || argument->variable() == nullptr) return 0;
  const VarType::TensorDesc* tensor = argument->variable()->tensor();
  return tensor != nullptr ? tensor->dims_size() : 0;
}

// Where several axes are flattened to the channels, no single axis holds them.
std::optional<int> FlattenedAxis(int rank, bool is_weight, int64_t rows) {
  if (is_weight) return rows >= 1 && rows == rank - 1 ? std::optional<int>(rank - 1) : std::nullopt;
  return rank > 1 && rows == 1 ? std::optional(0) : std::nullopt;
}

}  // namespace

int ProductTrait::ChannelAxis(const OpAttributes& attributes, int rank) const {
  const bool are_on_1 =
      gives_images() && (data_format.empty() || !AreChannelsLast(attributes.String(data_format)));
  return are_on_1 ? 1 : rank - 1;
}

std::optional<int> ProductTrait::WeightAxis(const Op& op, const OpAttributes& attributes,
                                            absl::string_view slot) const {
  const bool is_weight = slot == weight;
  if (!is_weight && slot != activation) return std::nullopt;
  return WeightAxis(attributes, is_weight, RankOf(op, slot));
}

std::optional<int> ProductTrait::WeightAxis(const OpAttributes& attributes, bool is_weight,
                                            int rank) const {
  switch (form) {
    case Form::kConvolution:
      return is_weight ? std::optional(0) : std::nullopt;
    case Form::kTransposedConvolution:
      return is_weight ? std::optional(1) : std::nullopt;
    case Form::kFlattened: {
      const std::string& rows = is_weight ? weight_rows : activation_rows;
      return FlattenedAxis(rank, is_weight, rows.empty() ? 1 : attributes.Int(rows));
    }
    case Form::kMatrices: {
      // A vector has none.
      if (rank < 2) return std::nullopt;
      const std::string& transposes = is_weight ? transposes_weight : transposes_activation;
      const bool transposed = !transposes.empty() && attributes.Bool(transposes);
      return is_weight == transposed ? rank - 2 : rank - 1;
    }
  }
  return std::nullopt;
}

absl::StatusOr<OwnWork> OwnWorkOf(const Op& product, const OpAttributes& attributes) {
  const ProductTrait& trait = *TraitsOf(product).product;
  return trait.own_work != nullptr ? trait.own_work(product, attributes) : OwnWork();
}

std::optional<StageTrait::Stages> StagesOf(const Activation& activation) {
  using Kind = EpilogueStage::Kind;
  using Stages = StageTrait::Stages;
  switch (activation.function) {
    case ActivationFunction::kRelu:
      return Stages{{{Kind::kRelu}}};
    case ActivationFunction::kReluKeepingNan:
      return Stages{{{Kind::kRelu}}, /*in_codes_alone=*/true};
    case ActivationFunction::kClip:
      // The stage turns a NaN into the lower bound.
      if (activation.a != 0 || !(activation.b >= 0)) return std::nullopt;
      return Stages{{{Kind::kClip, activation.a, activation.b}}, /*in_codes_alone=*/true};
    case ActivationFunction::kLeakyRelu:
      if (!std::isfinite(activation.a)) return std::nullopt;
      // A negative infinity times 0 is NaN too.
      if (activation.a == 0) return Stages{{{Kind::kRelu}}, /*in_codes_alone=*/true};
      return Stages{{{Kind::kLeakyRelu, activation.a}}, /*in_codes_alone=*/activation.a < 0};
    case ActivationFunction::kHardSwish:
      // x * min(max(x + c, 0), a) / b
      if (activation.a != activation.b || !(activation.b > 0)) return std::nullopt;
      return Stages{{{Kind::kHardSwish, 1 / activation.b, activation.c / activation.b}}};
    default:
      return std::nullopt;
  }
}

const OpTraits& TraitsOf(const Op& op) {
  static const OpTraits* const none = new OpTraits();
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr ? schema->traits() : *none;
}

bool IsOnIntegers(const Op& op) { return TraitsOf(op).is_on_integers; }

std::vector<std::string> TypesWith(const std::function<bool(const OpTraits& traits)>& has) {
  std::vector<std::string> types;
  for (const OpSchema* schema : AllOpSchemas()) {
    if (has(schema->traits())) types.push_back(schema->type());
  }
  return types;
}

std::vector<std::string> ActivationTypes() {
  return TypesWith([](const OpTraits& traits) { return traits.activation != nullptr; });
}

Activation ActivationOf(absl::string_view type, const OpAttributes& attributes) {
  const OpSchema* const schema = CHECK_NOTNULL(FindOpSchema(type));
  CHECK(schema->traits().activation != nullptr) << type;
  return schema->traits().activation(attributes);
}

}  // namespace fixpoint
