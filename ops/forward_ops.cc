#include "ops/forward_ops.h"

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"

namespace fixpoint {

std::string ForwardTypeOf(const std::string& type) {
  const OpSchema* schema = FindOpSchema(type);
  if (schema != nullptr) return schema->gradient_of();
  absl::string_view stem = type;
  while (absl::ConsumeSuffix(&stem, "_grad")) {
    const OpSchema* forward = FindOpSchema(stem);
    if (forward != nullptr && forward->gradient_of().empty()) return std::string(stem);
  }
  return stem == type ? "" : std::string(stem);
}

bool IsForward(const Op& op) {
  return IsForwardRole(op.role()) && ForwardTypeOf(op.type()).empty();
}

}  // namespace fixpoint
