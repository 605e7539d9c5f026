// A prepared program with the quantizers that a configuration asks for and the ranges of a profile:
// what each plan that is tried runs as, and what is frozen in the end.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_SIMULATED_MODEL_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_SIMULATED_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

struct SimulatedModel {
  Program program;
  QuantPlan plan;
  std::vector<std::string> notes;
};

// Quantizes a float program for inference with the ranges of a profile. `parameters` are its
// parameters; the state of its quantizers is added to them, or replaces that of another
// configuration. Errors: those of Transpile and of the reference interpreter.
absl::StatusOr<SimulatedModel> Simulate(const Program& program, const RangeProfile& profile,
                                        TranspileOptions options, Scope* parameters);

// A copy of all values. Error (kFailedPrecondition): there is no memory.
absl::StatusOr<Scope> CopyOf(const Scope& scope);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_SIMULATED_MODEL_H_
