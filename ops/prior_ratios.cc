#include "ops/prior_ratios.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace fixpoint {

absl::StatusOr<std::vector<double>> PriorRatios(absl::Span<const double> aspect_ratios, bool flip) {
  constexpr double kNear = 1e-6;
  std::vector<double> ratios = {1};
  std::multiset<double> sorted = {1};
  const auto add = [&](double ratio) {
    ratios.push_back(ratio);
    sorted.insert(ratio);
  };
  for (const double ratio : aspect_ratios) {
    if (!(ratio > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("aspect_ratios has ", ratio, "; want positive numbers"));
    }
    const auto nearest = sorted.upper_bound(ratio - kNear);
    if (nearest != sorted.end() && *nearest - ratio < kNear) continue;
    add(ratio);
    // Single precision, as the reference has it.
    if (flip) add(static_cast<double>(1.0f / static_cast<float>(ratio)));
  }
  return ratios;
}

}  // namespace fixpoint
