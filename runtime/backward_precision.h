// The numbers that a backward pass multiplies: the operands of the gradients of convolutions and
// products (docs/numerics.md). Sums and gradients are floats in either.

#ifndef FIXPOINT_RUNTIME_BACKWARD_PRECISION_H_
#define FIXPOINT_RUNTIME_BACKWARD_PRECISION_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

enum class BackwardPrecision { kFloat, kBfloat16 };

// As users write them: "f32", "bf16".
inline absl::string_view BackwardPrecisionName(BackwardPrecision precision) {
  return precision == BackwardPrecision::kFloat ? "f32" : "bf16";
}

// kNotFound: there is none of that name; the message lists those that exist.
inline absl::StatusOr<BackwardPrecision> BackwardPrecisionOfName(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const auto precision : {BackwardPrecision::kFloat, BackwardPrecision::kBfloat16}) {
    names.push_back(BackwardPrecisionName(precision));
    if (name == names.back()) return precision;
  }
  return absl::NotFoundError(absl::StrCat("no precision is called \"", name, "\"; there are ",
                                          absl::StrJoin(names, ", ")));
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_BACKWARD_PRECISION_H_
