#include "runtime/kernels/integer_sums_plan.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/sums_of_codes.h"
#include "proto/status_macros.h"
#include "runtime/kernels/finished_sums.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

// What `plan` makes with the machine's instructions; null where there are none.
template <typename Sums>
absl::StatusOr<std::unique_ptr<Sums>> PlanInstructions(
    const std::string& what, const std::function<std::unique_ptr<Sums>()>& plan) {
  if (!HasExactIntegerProducts()) return nullptr;
  auto sums = Planned(what, plan);
  if (absl::IsUnimplemented(sums.status())) return nullptr;
  return sums;
}

}  // namespace

absl::Status CheckSums(const std::string& what, int64_t products, const SumCoding& coding) {
  SumOfProducts sum;
  sum.products = products;
  sum.is_unsigned = coding.inputs.type == CodeType::kUint8;
  sum.has_zero_point = coding.inputs.has_zero_point;
  sum.has_weight_zero_points = coding.has_weight_zero_points;
  // With zero points of weights, the bias may be as large as 32 bits leave room for.
  sum.has_bias = coding.has_bias && !coding.has_weight_zero_points;
  if (SumsFit(sum)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " with ", products,
                   " products in a sum; want fewer, so that a sum of products of codes fits in 32 "
                   "bits",
                   sum.has_bias ? " with its bias" : ""));
}

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(const std::string& what,
                                                      const WaysToSum& ways,
                                                      const SumCoding& coding, int64_t input_size,
                                                      const SumsShape& shape,
                                                      const Epilogue& epilogue, OutputType output) {
  const std::string of_codes = absl::StrCat(what, " of codes");
  if (!coding.has_weight_zero_points) {
    ASSIGN_OR_RETURN(auto fused, PlanInstructions(of_codes, ways.fused));
    if (fused != nullptr) return fused;
  }
  ASSIGN_OR_RETURN(auto plain, PlanInstructions(of_codes, ways.plain));
  return Planned(of_codes, [&] {
    if (plain == nullptr) plain = ways.floats();
    return FinishedSums(std::move(plain), coding, input_size, shape,
                        coding.has_weight_zero_points ? ways.input_sums() : nullptr, epilogue,
                        output);
  });
}

}  // namespace fixpoint::kernels
