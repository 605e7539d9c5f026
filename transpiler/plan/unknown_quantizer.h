// What is said of a quantizer that there is not.

#ifndef FIXPOINT_TRANSPILER_PLAN_UNKNOWN_QUANTIZER_H_
#define FIXPOINT_TRANSPILER_PLAN_UNKNOWN_QUANTIZER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"

namespace fixpoint {

// `there is no quantizer "absmax"; did you mean abs_max?`, or, where no name is near, all there
// are.
std::string UnknownQuantizer(absl::string_view name, const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_UNKNOWN_QUANTIZER_H_
