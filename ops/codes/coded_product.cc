#include "ops/codes/coded_product.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/window.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

using SumsOrReason = std::variant<ProductSums, IntegerReason>;

// The product of dimensions; 0 where one is not known or none is left, INT64_MAX where an int64
// does not hold it.
int64_t VolumeOf(DimsView dims) {
  const absl::StatusOr<int64_t> count = ElementCount(dims);
  return count.ok() ? std::max<int64_t>(*count, 0) : INT64_MAX;
}

// An op of a form, with the attributes that its trait names.
struct Form {
  const ProductTrait& trait;
  const OpAttributes& attributes;

  bool Says(const std::string& attribute) const {
    return !attribute.empty() && attributes.Bool(attribute);
  }
  int64_t Rows(const std::string& attribute) const {
    return attribute.empty() ? 1 : attributes.Int(attribute);
  }
  bool is_channels_last() const {
    return trait.gives_images() && IsChannelsLast(attributes.String(trait.data_format));
  }
  bool is_times_one() const { return trait.factor.empty() || attributes.Float(trait.factor) == 1; }
};

SumsOrReason SumsOfConvolution(const Form& form, const Dims& weight) {
  const int64_t groups = form.attributes.Int("groups");
  if (groups < 1) return IntegerReason::kAttributes;
  constexpr size_t kRankOfVolumes = 5;  // no kernel of codes convolves them
  if (weight.size() == kRankOfVolumes) return IntegerReason::kNoRule;
  ProductSums sums;
  sums.channel_axis = *form.trait.WeightAxis(form.attributes, /*is_weight=*/true, 4);
  if (form.trait.form == ProductTrait::Form::kTransposedConvolution) sums.channel_groups = groups;
  if (weight.size() != 4) return sums;
  Dims taps = weight;
  taps[sums.channel_axis] = 1;
  sums.products = VolumeOf(taps) / sums.channel_groups;
  return sums;
}

SumsOrReason SumsOfFlattened(const Form& form, const Dims& activation, const Dims& weight) {
  if (activation.empty() || weight.empty()) return IntegerReason::kUnknownShape;
  const auto rank = static_cast<int>(weight.size());
  const int64_t rows = form.Rows(form.trait.weight_rows);
  // The columns are the last axis.
  if (rows < 1 || rows >= rank || VolumeOf(DimsView(weight).subspan(rows, rank - 1 - rows)) != 1) {
    return IntegerReason::kAttributes;
  }
  ProductSums sums;
  sums.channel_axis = rank - 1;
  sums.products = VolumeOf(DimsView(weight).first(rows));
  sums.is_plain = rank == 2 && activation.size() >= 2 && form.is_times_one();
  return sums;
}

// Whether no operand is repeated for the matrices of the other: both have as many, or the weight is
// one, with which all rows of the activation are multiplied.
bool HaveSameMatrices(Dims x, Dims y, bool transposes_x) {
  x.resize(x.size() - std::min<size_t>(x.size(), 2));
  y.resize(y.size() - 2);
  const auto is_one = [](int64_t dim) { return dim == 1; };
  if (std::all_of(y.begin(), y.end(), is_one) && !transposes_x) return true;
  const size_t rank = std::max(x.size(), y.size());
  x.insert(x.begin(), rank - x.size(), 1);
  y.insert(y.begin(), rank - y.size(), 1);
  return x == y;
}

// The same by what the program declares, where it does, so that a run with a batch of 1 is computed
// like others, and like the lowered program.
bool MayHaveSameMatrices(const Op& op, const Form& form) {
  const Dims activation = DeclaredDims(op, form.trait.activation);
  const Dims weight = DeclaredDims(op, form.trait.weight);
  return activation.empty() || weight.size() < 2 ||
         HaveSameMatrices(activation, weight, form.Says(form.trait.transposes_activation));
}

SumsOrReason SumsOfMatrices(const Form& form, const Dims& activation, const Dims& weight) {
  if (activation.empty() || weight.empty()) return IntegerReason::kUnknownShape;
  const auto rank = static_cast<int>(weight.size());
  const bool transposes_x = form.Says(form.trait.transposes_activation);
  const bool transposes_y = form.Says(form.trait.transposes_weight);
  if (rank < 2 || !HaveSameMatrices(activation, weight, transposes_x)) {
    return IntegerReason::kAttributes;
  }
  ProductSums sums;
  sums.channel_axis = *form.trait.WeightAxis(form.attributes, /*is_weight=*/true, rank);
  sums.products = VolumeOf({weight[rank - (transposes_y ? 1 : 2)]});
  sums.is_plain =
      rank == 2 && activation.size() >= 2 && !transposes_x && !transposes_y && form.is_times_one();
  return sums;
}

// What an op adds up where its operands have these dimensions, {} where they are not known; or why
// its sums are not those of integers.
SumsOrReason SumsOfProduct(const Op& op, const Form& form, const Dims& activation,
                           const Dims& weight) {
  switch (form.trait.form) {
    case ProductTrait::Form::kConvolution:
    case ProductTrait::Form::kTransposedConvolution:
      return SumsOfConvolution(form, weight);
    case ProductTrait::Form::kFlattened:
      return SumsOfFlattened(form, activation, weight);
    case ProductTrait::Form::kMatrices:
      if (!MayHaveSameMatrices(op, form)) return IntegerReason::kAttributes;
      return SumsOfMatrices(form, activation, weight);
  }
  return IntegerReason::kAttributes;
}

std::optional<IntegerReason> WhyNotInWideSums(const Form& form, const CodedProduct& product) {
  if (form.trait.form == ProductTrait::Form::kTransposedConvolution) {
    return IntegerReason::kTooManyBits;
  }
  if (product.activation.has_zero_point || product.has_weight_zero_points()) {
    return IntegerReason::kZeroPoint;
  }
  const bool fit = product.sums.products <= kMostWideProducts;
  return fit ? std::nullopt : std::optional(IntegerReason::kSumsTooLarge);
}

// Why sums of such codes are not computed on integers; nothing: they are.
std::optional<IntegerReason> WhyNotOnIntegers(const Form& form, const CodedProduct& product) {
  const OperandCodes& weight = product.weight;
  if (product.activation.channel_axis) return IntegerReason::kGranularity;
  if (weight.has_channel_zero_points && !product.sums.is_plain) return IntegerReason::kZeroPoint;
  if (weight.channel_axis && weight.channel_axis != product.sums.channel_axis) {
    return IntegerReason::kGranularity;
  }
  if (weight.is_unsigned && !product.has_weight_zero_points()) {
    return IntegerReason::kUnsignedOperand;
  }
  if (product.is_wide()) return WhyNotInWideSums(form, product);
  return SumsFit(product.Sum()) ? std::nullopt : std::optional(IntegerReason::kSumsTooLarge);
}

std::optional<IntegerReason> WhyNotLowered(const Form& form, const OwnWork& own,
                                           const Dims& activation) {
  if (own.function) return IntegerReason::kFusedWork;
  // A vector is no matrix there.
  const bool is_vector = form.trait.form == ProductTrait::Form::kMatrices && activation.size() < 2;
  return form.is_channels_last() || is_vector ? std::optional(IntegerReason::kAttributes)
                                              : std::nullopt;
}

}  // namespace

SumOfProducts CodedProduct::Sum(bool has_bias) const {
  SumOfProducts sum;
  sum.products = sums.products;
  sum.is_unsigned = activation.is_unsigned;
  sum.has_zero_point = activation.has_zero_point;
  sum.has_bias = has_bias;
  sum.has_weight_zero_points = has_weight_zero_points();
  return sum;
}

BiasKind CodedProduct::KindOfBias(BiasForm form) const {
  if (form == BiasForm::kNone) return BiasKind::kNone;
  if (is_wide()) return BiasKind::kToFloats;
  const bool fits = sums.products > 0 && SumsFit(Sum(/*has_bias=*/true));
  if (form == BiasForm::kCodesOfSums && fits) return BiasKind::kToSums;
  return weight.has_channel_zero_points ? BiasKind::kRoundedToSums : BiasKind::kToFloats;
}

ProductOrReason DecideProduct(
    const Op& op, const OpAttributes& attributes,
    absl::FunctionRef<OperandOrReason(const Argument& operand)> operand_of) {
  const ProductTrait& trait = *TraitsOf(op).product;
  const absl::StatusOr<OwnWork> own = OwnWorkOf(op, attributes);
  if (!own.ok()) return IntegerReason::kFusedWork;
  const Argument* const activation = op.Input(trait.activation);
  const Argument* const weight = op.Input(trait.weight);
  if (activation == nullptr || weight == nullptr) return IntegerReason::kAttributes;
  const Form form = {trait, attributes};
  const OperandOrReason read_activation = operand_of(*activation);
  if (const auto* const why = std::get_if<IntegerReason>(&read_activation)) return *why;
  const OperandOrReason read_weight = operand_of(*weight);
  if (const auto* const why = std::get_if<IntegerReason>(&read_weight)) return *why;
  const auto& a = std::get<CodedOperand>(read_activation);
  const auto& w = std::get<CodedOperand>(read_weight);
  const SumsOrReason sums = SumsOfProduct(op, form, a.dims, w.dims);
  if (const auto* const why = std::get_if<IntegerReason>(&sums)) return *why;
  CodedProduct product = {std::get<ProductSums>(sums), a.codes, w.codes, *own};
  product.gives_sums = !own->any() && form.is_times_one();
  product.why_not_lowered = WhyNotLowered(form, *own, a.dims);
  if (const auto why = WhyNotOnIntegers(form, product)) return *why;
  return product;
}

}  // namespace fixpoint
