#include "ops/written_op.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/nearest_name.h"

namespace fixpoint {
namespace {

template <typename Entries>
std::vector<std::string> NamesOf(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

absl::Status Unknown(const WrittenOp& op, absl::string_view what, absl::string_view name,
                     const std::vector<std::string>& known) {
  return absl::InvalidArgumentError(
      absl::StrCat(op.type, " has no ", what, " ", name, OfferNames(name, known)));
}

}  // namespace

absl::Status CheckNames(const WrittenOp& op, Era era) {
  const OpSchema* const schema = FindOpSchema(op.type);
  if (schema == nullptr) {
    std::vector<std::string> types;
    for (const OpSchema* known : AllOpSchemas()) types.push_back(known->type());
    return absl::InvalidArgumentError(
        absl::StrCat("there is no op ", op.type, DidYouMean(op.type, types)));
  }
  if (!schema->traits().captures.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(op.type, " runs a block; want ops that do not"));
  }
  for (const absl::string_view slot : op.inputs) {
    if (schema->FindInput(slot, era) != nullptr) continue;
    return Unknown(op, "input", slot, NamesOf(schema->inputs()));
  }
  for (const absl::string_view slot : op.outputs) {
    if (schema->FindOutput(slot, era) != nullptr) continue;
    return Unknown(op, "output", slot, NamesOf(schema->outputs()));
  }
  for (const absl::string_view attribute : op.attributes) {
    if (schema->FindAttr(attribute, era) != nullptr) continue;
    return Unknown(op, "attribute", attribute, NamesOf(schema->attrs()));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
