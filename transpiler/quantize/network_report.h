// The report of a network that was quantized after training (proto/config/run_report.proto).

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_NETWORK_REPORT_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_NETWORK_REPORT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/run_report.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/comparison.h"
#include "runtime/scope.h"
#include "runtime/training/metric.h"
#include "transpiler/lower/lowered_op.h"
#include "transpiler/quantize/network_cost.h"
#include "transpiler/quantize/plan_search.h"

namespace fixpoint {

// What is known of a network, whose float program was prepared.
struct ReportedNetwork {
  const Program& floats;
  const Scope& parameters;
  const QuantPlan& plan;
  const RangeProfile& profile;
  absl::Span<const LoweredOp> lowered_ops;
  absl::Span<const ComparedVariable> noise;  // beside the float program
  const NetworkCost& float_cost;
  const NetworkCost& portable_cost;  // for ops, which the lowered program no longer has one by one
  const NetworkCost& lowered_cost;
};

// The ops, values and forms; metrics, settings and notes are the caller's. Errors: those of
// AddProfile.
absl::StatusOr<RunReport> ReportOf(const ReportedNetwork& network);

// `max_drop`: the bound that was asked for, if one was.
void AddMetric(const Metric& metric, const MeasuredDrop& measured, std::optional<double> max_drop,
               RunReport* report);

// What each layer that a search looked at costs alone.
void AddSensitivity(absl::Span<const LayerNoise> layers, RunReport* report);

// How far what an op writes is from what it writes in the other program.
void AddDifference(const ComparedVariable& variable, RunReport::Op* op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_NETWORK_REPORT_H_
