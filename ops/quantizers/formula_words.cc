#include "ops/quantizers/formula_words.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/activation.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quantizers/formula_groups.h"
#include "ops/surrogate.h"
#include "ops/written_op.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

// Names and types are those of either era.
constexpr Era kAnyEra = Era::kPaddle2;

constexpr absl::string_view kNumbers[] = {kBits, "largest", "lowest", kCount};
constexpr const char* kGradientAttrs[] = {kStraightThroughAttr, kStopGradientAttr};

template <typename... Parts>
absl::Status Error(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Whether the op computes a function whose gradient is 0 almost everywhere.
bool IsStep(const OpDesc& op) {
  const std::vector<std::string> activations = ActivationTypes();
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op, kAnyEra);
  if (!attributes || std::count(activations.begin(), activations.end(), op.type()) == 0) {
    return false;
  }
  switch (ActivationOf(op.type(), *attributes).function) {
    case ActivationFunction::kCeil:
    case ActivationFunction::kFloor:
    case ActivationFunction::kRound:
    case ActivationFunction::kSign:
      return true;
    default:
      return false;
  }
}

absl::Status CheckGradientWords(const OpDesc& op, bool has_gradient) {
  const auto not_here = [](absl::string_view word) {
    return Error(word,
                 " is for ops that have a gradient, and no op of initial: and update: has one");
  };
  if (!has_gradient && op.type() == kScaleGradient) return not_here(kScaleGradient);
  for (const char* word : kGradientAttrs) {
    const OpDesc::Attr* const attr = FindAttr(op, word);
    if (attr == nullptr) continue;
    if (attr->type() != AttrType::BOOLEAN) return Error(word, " is true or false");
    if (!has_gradient) return not_here(word);
  }
  const bool is_straight = BoolAttr(op, kStraightThroughAttr).value_or(false);
  if (!is_straight || IsStep(WithoutWords(op))) return absl::OkStatus();
  return Error(kStraightThroughAttr, " is for round, ceil, floor and sign; ", op.type(),
               " has a gradient of its own");
}

// What an op that quantizes, or that is the gradient of one, leaves to the spec.
absl::Status CheckCodes(const OpDesc& op) {
  if (FindOpSchema(op.type())->FindAttr(kSurrogateAttr, kAnyEra) == nullptr) {
    return absl::OkStatus();
  }
  for (const char* name : {"round_type", "quant_axis", "unsigned_codes"}) {
    if (FindAttr(op, name) == nullptr) continue;
    return Error(op.type(), " has the ", name, " of the spec; leave the attribute out");
  }
  const OpDesc::Attr* const bits = FindAttr(op, "bit_length");
  if (bits == nullptr) return absl::OkStatus();
  const std::string of_spec = absl::StrCat("$", kBits);
  if (StandsForNumber(*bits) &&
      (bits->s() == of_spec || absl::StartsWith(bits->s(), absl::StrCat(of_spec, "+")))) {
    return absl::OkStatus();
  }
  return Error(op.type(), " has the bits of the spec; leave bit_length out, or say how many more, ",
               "like bit_length=\"", of_spec, "+1\"");
}

absl::Status CheckReshape(const OpDesc& op) {
  const auto is_one = [](const Slots& slots, absl::string_view name) {
    return slots.size() == 1 && slots[0].parameter() == name && slots[0].arguments_size() == 1;
  };
  if (is_one(op.inputs(), "X") && is_one(op.outputs(), "Out") && op.attrs_size() == 0) {
    return absl::OkStatus();
  }
  return Error("want ", op.type(), "(X=NAME) -> (Out=NAME)");
}

}  // namespace

bool QuantizesFormula(const OpDesc& op) {
  return op.type() == kQuantizeAtRange || op.type() == kQuantizeAffine;
}

absl::Span<const absl::string_view> NumbersOfSpec() { return kNumbers; }

bool IsNumberOfSpec(absl::string_view name) {
  return std::find(std::begin(kNumbers), std::end(kNumbers), name) != std::end(kNumbers);
}

OpDesc WithoutWords(OpDesc op) {
  auto& attrs = *op.mutable_attrs();
  attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                             [](const OpDesc::Attr& attr) {
                               return std::count(std::begin(kGradientAttrs),
                                                 std::end(kGradientAttrs), attr.name()) > 0;
                             }),
              attrs.end());
  return op;
}

absl::StatusOr<OpDesc> ReadFormulaOp(const OpDesc& op, bool has_gradient) {
  if (op.type() == kSplitGroups || op.type() == kJoinGroups) {
    RETURN_IF_ERROR(CheckReshape(op));
    return op;
  }
  ASSIGN_OR_RETURN(OpDesc read, ReadWrittenOp(WithoutWords(op), kAnyEra));
  RETURN_IF_ERROR(CheckGivenAttributes(read));
  RETURN_IF_ERROR(CheckCodes(read));
  RETURN_IF_ERROR(CheckGradientWords(op, has_gradient));
  for (const char* word : kGradientAttrs) {
    const OpDesc::Attr* const attr = FindAttr(op, word);
    if (attr != nullptr) *read.add_attrs() = *attr;
  }
  return read;
}

}  // namespace fixpoint
