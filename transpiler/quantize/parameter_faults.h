// What may be wrong with the parameters of a network that is to be quantized.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_PARAMETER_FAULTS_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_PARAMETER_FAULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

// Error (kInvalidArgument): an op normalizes by a variance of which it cannot take the root, with
// the op, the variable and the first such channel.
absl::Status CheckVariances(const Program& program, const Scope& parameters);

// A sentence for the weights of a plan with channels that are 0 throughout; none if there are none.
std::vector<std::string> NotesOnDeadChannels(const QuantPlan& plan, const Scope& parameters);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_PARAMETER_FAULTS_H_
