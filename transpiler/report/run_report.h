// The report of a run (proto/config/run_report.proto), filled from what the stages decided and
// did. Ops come first; what the report has no op or value for is passed over.

#ifndef FIXPOINT_TRANSPILER_REPORT_RUN_REPORT_H_
#define FIXPOINT_TRANSPILER_REPORT_RUN_REPORT_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/run_report.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "transpiler/lower/lowered_op.h"

namespace fixpoint {

// The forward ops of a program, and which of them each one reads. Ops that feed, fetch, quantize or
// dequantize are left out: who reads codes reads the op that computed the value. Linear in the
// program.
void AddOps(const Program& program, RunReport* report);

// The decisions of a plan, and the values that it quantizes or observes, with the ranges that it
// has for them. REQUIRES: it was made for `program`, whose ops the report has.
void AddPlan(const QuantPlan& plan, const Program& program, RunReport* report);

// The simulated quantizations of the program of the ops, in test mode, with the ranges that
// training stored. Errors: those of FindQuantizationSites.
absl::Status AddQuantizers(const Program& program, const Scope& trained,
                           const QuantizerTable& quantizers, RunReport* report);

// What became of the ops in a lowered program.
void AddLowering(absl::Span<const LoweredOp> ops, RunReport* report);

// The last op that writes each variable as its first output. They point into the report.
absl::flat_hash_map<std::string, RunReport::Op*> WritersIn(RunReport* report);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_RUN_REPORT_H_
