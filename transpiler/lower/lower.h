// From a portable program to one that computes on integers: its ops name the exact sums of products
// of codes, and what is done with each sum before it is stored.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWER_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "transpiler/lower/lowered_op.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

class QuantizerTable;

inline constexpr char kLowerPipeline[] = "lower_to_integers,remove_dead_variables";

// The pipeline of a lowering. Errors (kInvalidArgument): those of Pipeline::Parse.
absl::StatusOr<Pipeline> ParseLowerPipeline(absl::string_view text, const PassTable& passes);

struct LowerOptions {
  // A user's own quantizers; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  // The passes and the pipeline; null and empty: the built-in passes, and kLowerPipeline of them.
  const PassTable* passes = nullptr;
  std::string pipeline;
  PipelineOptions pipeline_options;
};

struct LoweredModel {
  Program program;
  Scope scope;  // the program's parameters, and nothing else
  std::vector<LoweredOp>
      ops;  // what became of the portable program's ops (report/lowering_account.h)
  std::vector<std::string> notes;
};

// Error (kFailedPrecondition): there is nothing to lower in a program, whatever its parameters are:
// it is not frozen, was frozen in another form, or is lowered already; or its codes have more than
// 8 bits.
absl::Status CheckCanBeLowered(const Program& program);

// Lowers a portable program (Freeze) with its parameters; neither is changed. Codes of 8 bits and
// fewer become integers in variables of their own, and every op that a rule knows
// (transpiler/lower/rules) computes on them; the others stay in float. The result computes what the
// portable program computes on the same kernels, bit for bit; but quantizers that round ties away
// from zero, which a note counts, round them to even. Linear in the program and in the parameters.
//
// Errors name the op and the variable:
//   kFailedPrecondition  that of CheckCanBeLowered
//   kInvalidArgument     those of Pipeline::Parse; the program has an error that Verify finds; a
//                        range or codes that do not fit each other, or that are NaN, infinite or
//                        negative
//   kNotFound            the scope lacks a parameter
//   kInternal            what is lowered violates an invariant (lowered_invariants.h)
absl::StatusOr<LoweredModel> Lower(const Program& program, const Scope& scope,
                                   const LowerOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWER_H_
