// What the parameters of an inference program decide.

#ifndef FIXPOINT_TRANSPILER_PREPARE_CONSTANTS_H_
#define FIXPOINT_TRANSPILER_PREPARE_CONSTANTS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "ops/norm_factors.h"
#include "proto/program/program_fwd.h"
#include "runtime/tensor.h"
#include "transpiler/pipeline/edited_parameters.h"

namespace fixpoint {

// The tensor that an input reads in every run: that of a parameter that no op writes, or only
// `passes_on`, which gives the statistics that it reads. Null where there is none, and for null.
const Tensor* FindConstant(const Argument* input, const EditedParameters& parameters,
                           const Op* passes_on = nullptr);

// The factors of a batch norm by given statistics that are constants; nothing for any other op, and
// where something reads another of its outputs than its result.
std::optional<std::vector<NormFactors>> FindNormFactors(const Op& op, Era era,
                                                        const EditedParameters& parameters);

// Whether the op computes the same whenever it reads the same, and nothing else: the reference
// interpreter has a kernel for it, it draws no random numbers, and it runs no block.
bool IsFunction(const Op& op);
// Whether it is one of constants alone.
bool IsConstant(const Op& op, const EditedParameters& parameters);

// What a constant op computes, by the reference interpreter: the tensors of `outputs`, in that
// order. Errors: those of the interpreter. REQUIRES: IsConstant(op).
absl::StatusOr<std::vector<Tensor>> Evaluate(const Program& program, const Op& op,
                                             absl::Span<const Argument* const> outputs,
                                             const EditedParameters& parameters);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PREPARE_CONSTANTS_H_
