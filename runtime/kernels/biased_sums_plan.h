// A bias in int32 for every primitive that adds up products.

#ifndef FIXPOINT_RUNTIME_KERNELS_BIASED_SUMS_PLAN_H_
#define FIXPOINT_RUNTIME_KERNELS_BIASED_SUMS_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/kernels/biased_sums.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sum_parts.h"

namespace fixpoint::kernels {

// Sums with a bias, of kernels that `plan` makes. Errors: kInvalidArgument: 32 bits may not hold
// a sum with its bias; those of `plan`.
//
// Floats hold the bias, and up to 2^24 the sum: then both are added after a scale of 1, where the
// sum of two floats is rounded once as that of two integers is, and multiplied in the epilogue.
// Where the weights, once they are packed, are so large that a sum may be more, the sums of parts
// of them are added as integers.
absl::StatusOr<std::unique_ptr<BiasedSums>> PlanBiasedSums(
    absl::string_view what,
    const std::function<absl::StatusOr<std::unique_ptr<IntegerSums>>(const Epilogue&, OutputType)>&
        plan,
    const WeightsOfSums& weights, const InputCoding& inputs, int64_t channels, int64_t out_size,
    const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BIASED_SUMS_PLAN_H_
