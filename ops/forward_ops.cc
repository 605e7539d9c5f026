#include "ops/forward_ops.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"

namespace fixpoint {

std::string ForwardTypeOf(const std::string& type) {
  const OpSchema* schema = FindOpSchema(type);
  if (schema != nullptr) return schema->gradient_of();
  // The type with all but `level` of its suffixes removed; no op has more than a few.
  constexpr absl::string_view kSuffix = "_grad";
  constexpr int kMostLevels = 3;
  absl::string_view stem = type;
  int levels = 0;
  while (absl::ConsumeSuffix(&stem, kSuffix)) ++levels;
  if (levels == 0) return "";
  for (int level = std::min(levels, kMostLevels) - 1; level > 0; --level) {
    const std::string forward = type.substr(0, stem.size() + level * kSuffix.size());
    const OpSchema* known = FindOpSchema(forward);
    if (known != nullptr && known->gradient_of().empty()) return forward;
  }
  return std::string(stem);
}

bool IsForward(const Op& op) {
  return IsForwardRole(op.role()) && ForwardTypeOf(op.type()).empty();
}

}  // namespace fixpoint
