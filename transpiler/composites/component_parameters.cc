#include "transpiler/composites/component_parameters.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr char kStep[] = "step";
constexpr char kRange[] = "range";

std::string NameOf(const Argument* argument) {
  return argument == nullptr ? "" : std::string(argument->name());
}

std::optional<ComponentParameters> Read(const OpDesc::Attr& attr) {
  if (!absl::StartsWith(attr.name(), kComponentAttrPrefix)) return std::nullopt;
  const std::optional<std::vector<std::string>> fields = StringsValue(attr);
  if (!fields || fields->size() != 6) return std::nullopt;
  ComponentParameters read;
  read.kind = attr.name().substr(std::string(kComponentAttrPrefix).size());
  read.variable = (*fields)[0];
  read.scale = (*fields)[1];
  read.zero_point = (*fields)[2];
  read.scale_is_step = (*fields)[5] == kStep;
  if (!absl::SimpleAtoi((*fields)[3], &read.bits) || !absl::SimpleAtoi((*fields)[4], &read.axis) ||
      (!read.scale_is_step && (*fields)[5] != kRange)) {
    return std::nullopt;
  }
  return read;
}

}  // namespace

ComponentParameters ParametersOf(const CodeOp& quantize, absl::string_view kind,
                                 absl::string_view variable) {
  return {std::string(kind),           std::string(variable), NameOf(quantize.scale),
          NameOf(quantize.zero_point), quantize.codes.bits,   quantize.axis.value_or(-1),
          quantize.scales_are_steps};
}

OpDesc::Attr ToAttribute(const ComponentParameters& parameters) {
  return MakeStringsAttr(
      absl::StrCat(kComponentAttrPrefix, parameters.kind),
      {parameters.variable, parameters.scale, parameters.zero_point, absl::StrCat(parameters.bits),
       absl::StrCat(parameters.axis), parameters.scale_is_step ? kStep : kRange});
}

std::vector<ComponentParameters> ReadComponentParameters(const Op& op) {
  std::vector<ComponentParameters> all;
  for (const OpDesc::Attr& attr : op.desc().attrs()) {
    if (std::optional<ComponentParameters> one = Read(attr)) all.push_back(*std::move(one));
  }
  return all;
}

}  // namespace fixpoint
