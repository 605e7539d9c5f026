#include "transpiler/exchange/op_thresholds.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kSuffix = "_threshold";

// "Output0_threshold" -> "Output", 0. Nothing for an attribute without a number, as ops have of
// their own (score_threshold).
struct Place {
  absl::string_view slot;
  int index = 0;
};
std::optional<Place> PlaceOf(absl::string_view attribute) {
  if (!absl::ConsumeSuffix(&attribute, kSuffix)) return std::nullopt;
  size_t digits = attribute.size();
  while (digits > 0 && absl::ascii_isdigit(attribute[digits - 1])) --digits;
  Place place{attribute.substr(0, digits)};
  if (digits == 0 || !absl::SimpleAtoi(attribute.substr(digits), &place.index)) {
    return std::nullopt;
  }
  return place;
}

const Argument* ArgumentAt(const Op& op, const Place& place) {
  for (const auto& arguments : {op.Outputs(place.slot), op.Inputs(place.slot)}) {
    if (place.index < static_cast<int>(arguments.size())) return arguments[place.index];
  }
  return nullptr;
}

class Reader {
 public:
  explicit Reader(const Op& op) : op_(op) {}

  absl::StatusOr<std::vector<OpThreshold>> Read() {
    for (const OpDesc::Attr& attr : op_.desc().attrs()) {
      const std::optional<Place> place = PlaceOf(attr.name());
      if (!place) continue;
      const Argument* const argument = ArgumentAt(op_, *place);
      if (argument == nullptr) {
        return Wrong(attr, absl::StrCat("the op has no such argument; want an output or an input"));
      }
      RETURN_IF_ERROR(Add(attr, argument));
    }
    const OpDesc::Attr* const last = FindAttr(op_.desc(), kOutThreshold);
    const Argument* const output = LastFloatOutput(op_);
    if (last == nullptr || output == nullptr) return std::move(found_);
    RETURN_IF_ERROR(Add(*last, output));
    return std::move(found_);
  }

 private:
  absl::Status Wrong(const OpDesc::Attr& attr, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(op_), ": ", attr.name(), ": ", what));
  }

  absl::Status Add(const OpDesc::Attr& attr, const Argument* argument) {
    const std::optional<double> range = FloatValue(attr);
    if (!range || !std::isfinite(*range) || *range < 0) {
      return Wrong(attr, "want a finite number from 0, the largest magnitude of a value");
    }
    const auto known = std::find_if(
        found_.begin(), found_.end(),
        [argument](const OpThreshold& threshold) { return threshold.argument == argument; });
    if (known == found_.end()) {
      found_.push_back({argument, static_cast<float>(*range)});
    } else if (known->range != static_cast<float>(*range)) {
      return Wrong(attr, absl::StrCat("\"", argument->name(), "\" has ", *range, " here, and ",
                                      known->range, " by another attribute; want one range"));
    }
    return absl::OkStatus();
  }

  const Op& op_;
  std::vector<OpThreshold> found_;
};

}  // namespace

std::string ThresholdAttr(absl::string_view slot, int index) {
  return absl::StrCat(slot, index, kSuffix);
}

const Argument* LastFloatOutput(const Op& op) {
  const Argument* last = nullptr;
  for (const Argument* output : op.outputs()) {
    const Variable* const variable = output->variable();
    const auto* const tensor = variable == nullptr ? nullptr : variable->tensor();
    if (tensor != nullptr && tensor->data_type() == VarType::FP32) last = output;
  }
  return last;
}

absl::StatusOr<std::vector<OpThreshold>> ThresholdsOf(const Op& op) { return Reader(op).Read(); }

}  // namespace fixpoint
