#include "runtime/kernels/sums_problem.h"

#include "absl/strings/str_cat.h"
#include "ops/sums_of_codes.h"

namespace fixpoint::kernels {

absl::Status CheckSums(const std::string& what, int64_t products, const SumCoding& coding) {
  const SumOfProducts sum = coding.Sum(products);
  if (SumsFit(sum)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " with ", products,
                   " products in a sum; want fewer, so that a sum of products of codes fits in 32 "
                   "bits",
                   sum.has_bias ? " with its bias" : ""));
}

}  // namespace fixpoint::kernels
