// The message about a quantizer that does not exist.

#ifndef FIXPOINT_TRANSPILER_PLAN_UNKNOWN_QUANTIZER_H_
#define FIXPOINT_TRANSPILER_PLAN_UNKNOWN_QUANTIZER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"

namespace fixpoint {

// `there is no quantizer "absmax"; did you mean abs_max?` or, if no name is near, all that there
// are and the flag by which the tools read others.
std::string UnknownQuantizer(absl::string_view name, const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_UNKNOWN_QUANTIZER_H_
