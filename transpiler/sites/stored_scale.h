// The range that training stored for a quantizer.

#ifndef FIXPOINT_TRANSPILER_SITES_STORED_SCALE_H_
#define FIXPOINT_TRANSPILER_SITES_STORED_SCALE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "transpiler/pipeline/edited_parameters.h"

namespace fixpoint {

struct StoredScale {
  float value = 0;
  // The persistable variable of one element that holds it; null if there is none, because it is
  // computed from others or is the first element of several.
  const Variable* variable = nullptr;
  // The variables of the scope whose largest value it is.
  std::vector<const Variable*> read;
};

// The scale that a quantize op reads, in a program in test mode: element 0 of a persistable
// variable that only quantizers write, or the largest of such (elementwise_max), which is how
// quantizers share one: each passes on to the next what it read. Errors start with the op:
// kNotFound: the scope has no such variable; kInvalidArgument: it is not FP32, is empty, negative,
// NaN or infinite; kFailedPrecondition: it is computed in another way.
absl::StatusOr<StoredScale> FindStoredScale(const Argument& scale,
                                            const EditedParameters& parameters,
                                            const QuantizerTable& quantizers);
inline absl::StatusOr<StoredScale> FindStoredScale(const Argument& scale, const Scope& scope,
                                                   const QuantizerTable& quantizers) {
  return FindStoredScale(scale, EditedParameters(&scope), quantizers);
}

// The same for a quantizer that stores a range for each channel: all elements of a variable, which
// no other quantizer shares.
absl::StatusOr<std::vector<float>> FindStoredScales(const Argument& scale,
                                                    const EditedParameters& parameters,
                                                    const QuantizerTable& quantizers);
inline absl::StatusOr<std::vector<float>> FindStoredScales(const Argument& scale,
                                                           const Scope& scope,
                                                           const QuantizerTable& quantizers) {
  return FindStoredScales(scale, EditedParameters(&scope), quantizers);
}

// Element 0 of a variable that holds a range, with the errors above, which do not name the op:
// describing one takes time linear in its block, and only the first error may be reported.
absl::StatusOr<float> ReadRange(const Variable& variable, const EditedParameters& parameters);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_SITES_STORED_SCALE_H_
