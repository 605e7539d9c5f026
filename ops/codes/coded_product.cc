#include "ops/codes/coded_product.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"

namespace fixpoint {
namespace {

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
  bool is_times_one() const { return trait.factor.empty() || attributes.Float(trait.factor) == 1; }
};

SumsOrReason SumsOfConvolution(const Form& form, const Dims& weight) {
  const int64_t groups = form.attributes.Int("groups");
  if (groups < 1) return IntegerReason::kAttributes;
  ProductSums sums;
  if (form.trait.form == ProductTrait::Form::kTransposedConvolution) {
    sums.channel_axis = 1;
    sums.channel_groups = groups;
  }
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
  sums.channel_axis = rank - (transposes_y ? 2 : 1);
  sums.products = VolumeOf({weight[rank - (transposes_y ? 1 : 2)]});
  sums.is_plain =
      rank == 2 && activation.size() >= 2 && !transposes_x && !transposes_y && form.is_times_one();
  return sums;
}

}  // namespace

SumsOrReason SumsOfProduct(const Op& op, const OpAttributes& attributes, const Dims& activation,
                           const Dims& weight) {
  const Form form = {*TraitsOf(op).product, attributes};
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

SumOfProducts CodedProduct::Sum(bool has_bias) const {
  SumOfProducts sum;
  sum.products = sums.products;
  sum.is_unsigned = activation.is_unsigned;
  sum.has_zero_point = activation.has_zero_point;
  sum.has_bias = has_bias;
  sum.has_weight_zero_points = has_weight_zero_points();
  return sum;
}

std::optional<IntegerReason> CodedProduct::WhyNotOnIntegers() const {
  if (activation.channel_axis) return IntegerReason::kGranularity;
  if (weight.has_channel_zero_points && !sums.is_plain) return IntegerReason::kZeroPoint;
  if (weight.channel_axis && weight.channel_axis != sums.channel_axis) {
    return IntegerReason::kGranularity;
  }
  if (weight.is_unsigned && !has_weight_zero_points()) return IntegerReason::kUnsignedOperand;
  return SumsFit(Sum()) ? std::nullopt : std::optional(IntegerReason::kSumsTooLarge);
}

BiasKind CodedProduct::KindOfBias(BiasForm form) const {
  if (form == BiasForm::kNone) return BiasKind::kNone;
  const bool fits = sums.products > 0 && SumsFit(Sum(/*has_bias=*/true));
  if (form == BiasForm::kCodesOfSums && fits) return BiasKind::kToSums;
  return weight.has_channel_zero_points ? BiasKind::kRoundedToSums : BiasKind::kToFloats;
}

}  // namespace fixpoint
