#include "transpiler/quantize/network_report.h"

#include <set>
#include <string>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "transpiler/report/report_values.h"
#include "transpiler/report/run_report.h"

namespace fixpoint {
namespace {

using ReportOps = absl::flat_hash_map<std::string, RunReport::Op*>;

void AddForm(const char* name, const NetworkCost& cost, RunReport* report) {
  RunReport::Form& form = *report->add_forms();
  form.set_name(name);
  form.set_parameter_bytes(cost.parameter_bytes);
  form.set_activation_bytes(cost.activation_bytes);
  form.set_multiply_adds(cost.multiply_adds);
  form.set_integer_multiply_adds(cost.integer_multiply_adds);
  if (cost.milliseconds) form.set_milliseconds(*cost.milliseconds);
}

void AddNoise(absl::Span<const ComparedVariable> noise, const ReportOps& ops) {
  for (const ComparedVariable& variable : noise) {
    const auto found = ops.find(variable.name);
    if (found != ops.end()) AddDifference(variable, found->second);
  }
}

void AddTimes(const NetworkCost& cost, RunReport::Cost* (RunReport::Op::*form)(),
              const ReportOps& ops) {
  for (const auto& [output, of_op] : cost.by_output) {
    const auto found = ops.find(output);
    if (found == ops.end()) continue;
    RunReport::Cost& reported = *(found->second->*form)();
    reported.set_multiply_adds(of_op.multiply_adds);
    if (of_op.milliseconds) reported.set_milliseconds(*of_op.milliseconds);
  }
}

// The bytes of the parameters that each op reads, in float and with the plan's weights as codes.
void AddParameterBytes(const ReportedNetwork& network, const ReportOps& ops) {
  std::set<std::string> codes;  // weights that are stored as such
  for (const QuantPlan::Site& site : network.plan.sites()) {
    if (site.role() == SlotRole::WEIGHT) codes.insert(site.value().variable());
  }
  for (const Op& op : network.floats.ops()) {
    if (op.outputs().empty()) continue;
    const auto found = ops.find(std::string(op.outputs().front()->name()));
    if (found == ops.end()) continue;
    int64_t before = 0;
    int64_t after = 0;
    for (const Argument* input : op.inputs()) {
      const Scope::Value* const value = network.parameters.FindOrNull(input->name());
      const auto* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
      if (tensor == nullptr) continue;
      before += static_cast<int64_t>(tensor->bytes().size());
      const bool is_code = codes.count(std::string(input->name())) > 0;
      after += is_code ? tensor->size() : static_cast<int64_t>(tensor->bytes().size());
    }
    if (before == 0) continue;
    found->second->mutable_before()->set_parameter_bytes(before);
    found->second->mutable_after()->set_parameter_bytes(after);
  }
}

}  // namespace

absl::StatusOr<RunReport> ReportOf(const ReportedNetwork& network) {
  RunReport report;
  AddOps(network.floats, &report);
  AddPlan(network.plan, network.floats, &report);
  RETURN_IF_ERROR(AddProfile(network.profile, &report));
  AddWeights(network.parameters, &report);
  AddLowering(network.lowered_ops, &report);
  AddForm("float", network.float_cost, &report);
  AddForm("lowered", network.lowered_cost, &report);
  const ReportOps ops = WritersIn(&report);
  AddNoise(network.noise, ops);
  AddTimes(network.float_cost, &RunReport::Op::mutable_before, ops);
  AddTimes(network.portable_cost, &RunReport::Op::mutable_after, ops);
  AddParameterBytes(network, ops);
  report.set_target(network.plan.target());
  return report;
}

void AddMetric(const Metric& metric, const MeasuredDrop& measured, std::optional<double> max_drop,
               RunReport* report) {
  RunReport::Metric& added = *report->add_metrics();
  added.set_name(metric.name());
  added.set_higher_is_better(metric.IsBetter(1, 0));
  added.set_before(measured.before.value);
  added.set_after(measured.after.value);
  if (measured.before.standard_error) added.set_standard_error(*measured.before.standard_error);
  added.set_samples(measured.samples);
  if (!metric.unit().empty()) added.set_unit(std::string(metric.unit()));
  if (max_drop) {
    added.set_bound(added.higher_is_better() ? added.before() - *max_drop
                                             : added.before() + *max_drop);
  }
}

void AddSensitivity(absl::Span<const LayerNoise> layers, RunReport* report) {
  const ReportOps ops = WritersIn(report);
  for (const LayerNoise& layer : layers) {
    const auto found = ops.find(layer.output);
    if (found != ops.end()) found->second->set_sensitivity(layer.noise);
  }
}

void AddDifference(const ComparedVariable& variable, RunReport::Op* op) {
  op->set_signal_to_noise(variable.SignalToNoise());
  RunReport::Difference& difference = *op->mutable_difference();
  difference.set_elements(variable.elements);
  difference.set_different(variable.different);
  if (variable.UnitSaysHowMuch()) {
    difference.set_largest(variable.largest);
    difference.set_in_steps(variable.unit == DifferenceUnit::kSteps);
  } else {
    difference.set_largest(variable.largest_as_number);
    difference.set_as_number(true);
  }
}

}  // namespace fixpoint
