#include "runtime/kernels/sums_problem.h"

#include "absl/strings/str_cat.h"
#include "ops/sums_of_codes.h"

namespace fixpoint::kernels {

absl::Status CheckSums(const std::string& what, int64_t products, const SumCoding& coding) {
  SumOfProducts sum;
  sum.products = products;
  sum.is_unsigned = coding.inputs.type == CodeType::kUint8;
  sum.has_zero_point = coding.inputs.has_zero_point;
  sum.has_weight_zero_points = coding.has_weight_zero_points;
  // With zero points of weights there is a bias of what 32 bits have left.
  sum.has_bias = coding.has_bias && !coding.has_weight_zero_points;
  if (SumsFit(sum)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " with ", products,
                   " products in a sum; want fewer, so that a sum of products of codes fits in 32 "
                   "bits",
                   sum.has_bias ? " with its bias" : ""));
}

}  // namespace fixpoint::kernels
