#include "transpiler/quantize/plan_search.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/lower/lower.h"
#include "transpiler/quantize/simulated_model.h"

namespace fixpoint {
namespace {

constexpr char kNoise[] = "noise";

}  // namespace

absl::StatusOr<std::unique_ptr<PlanSearch>> PlanSearch::Create(const SearchedNetwork& network,
                                                               Measurements* measurements) {
  std::unique_ptr<PlanSearch> search(new PlanSearch(network, measurements));
  ASSIGN_OR_RETURN(const SimulatedModel simulated, Simulate(*network.program, *network.profile,
                                                            network.transpile, network.parameters));
  search->layers_ = LayerLevels::Of(*network.program, simulated.plan);
  if (!search->layers_.layers().empty()) return search;
  return absl::FailedPreconditionError(absl::StrCat(
      network.program->name(), ": nothing is quantized, so that there is nothing to search"));
}

absl::StatusOr<SimulatedModel> PlanSearch::SimulateWith(const Levels& levels,
                                                        Scope* parameters) const {
  TranspileOptions options = network_.transpile;
  options.config = layers_.Apply(options.config, levels);
  return Simulate(*network_.program, *network_.profile, std::move(options), parameters);
}

absl::StatusOr<Measured> PlanSearch::MetricOf(const Metric& metric, const Levels& levels) {
  return measurements_.Get("metric", levels, [&] { return MeasureMetric(metric, levels); });
}

absl::StatusOr<Measured> PlanSearch::EstimateOf(const Metric& metric, const Levels& levels) {
  return measurements_.Get("estimate", levels, [&] { return MeasureEstimate(metric, levels); });
}

absl::StatusOr<double> PlanSearch::Number(absl::string_view what, const Levels& levels,
                                          const std::function<absl::StatusOr<double>()>& measure) {
  ASSIGN_OR_RETURN(const Measured measured,
                   measurements_.Get(what, levels, [&]() -> absl::StatusOr<Measured> {
                     ASSIGN_OR_RETURN(const double number, measure());
                     return Measured{number};
                   }));
  return measured.value;
}

absl::StatusOr<double> PlanSearch::NoiseOf(const Levels& levels) {
  return Number(kNoise, levels, [&] { return MeasureNoise(levels); });
}

absl::StatusOr<double> PlanSearch::CostOf(Budget::Of what, const Levels& levels) {
  return Number(what == Budget::Of::kBytes ? "bytes" : "ms", levels,
                [&] { return MeasureCost(what, levels); });
}

absl::StatusOr<Measured> PlanSearch::MeasureMetric(const Metric& metric, const Levels& levels) {
  if (IsFloat(levels)) {
    return metric.Measure(*network_.program, network_.parameters, *network_.measured, network_.run);
  }
  if (!network_.change_weights) return MeasureEstimate(metric, levels);
  ASSIGN_OR_RETURN(Scope parameters, CopyOf(*network_.parameters));
  ASSIGN_OR_RETURN(const SimulatedModel simulated, SimulateWith(levels, &parameters));
  RETURN_IF_ERROR(network_.change_weights(simulated, &parameters));
  return metric.MeasureOrWorst(simulated.program, &parameters, *network_.measured, network_.run);
}

absl::StatusOr<Measured> PlanSearch::MeasureEstimate(const Metric& metric, const Levels& levels) {
  ASSIGN_OR_RETURN(const SimulatedModel simulated, SimulateWith(levels, network_.parameters));
  return metric.MeasureOrWorst(simulated.program, network_.parameters, *network_.measured,
                               network_.run);
}

absl::StatusOr<double> PlanSearch::MeasureNoise(const Levels& levels) {
  if (!noise_) {
    ASSIGN_OR_RETURN(noise_,
                     OutputNoise::Create(*network_.program, network_.parameters, network_.samples,
                                         network_.outputs, kNoiseSamples, network_.run));
  }
  ASSIGN_OR_RETURN(const SimulatedModel simulated, SimulateWith(levels, network_.parameters));
  return noise_->Of(simulated.program, network_.parameters);
}

absl::StatusOr<double> PlanSearch::MeasureCost(Budget::Of what, const Levels& levels) {
  const auto cost = [&](const Program& program, const Scope& scope) -> absl::StatusOr<double> {
    if (what == Budget::Of::kBytes) return static_cast<double>(ParameterBytes(program, scope));
    ASSIGN_OR_RETURN(const executor::InferenceRequest request,
                     RequestForOne(*network_.program, network_.run.variables, network_.outputs,
                                   *network_.samples));
    ASSIGN_OR_RETURN(const NetworkCost cost,
                     CostOfNetwork(program, scope, request, /*with_times=*/true));
    return cost.milliseconds.value_or(0);
  };
  if (IsFloat(levels)) return cost(*network_.program, *network_.parameters);
  ASSIGN_OR_RETURN(const SimulatedModel simulated, SimulateWith(levels, network_.parameters));
  // Some ops are quantized only beside others that are.
  if (simulated.plan.sites().empty()) return cost(*network_.program, *network_.parameters);
  FreezeOptions freeze;
  freeze.fetches = network_.outputs;
  freeze.quantizers = network_.transpile.quantizers;
  ASSIGN_OR_RETURN(const FrozenModel portable,
                   Freeze(simulated.program, *network_.parameters, freeze));
  ASSIGN_OR_RETURN(const LoweredModel lowered, Lower(portable.program, portable.scope));
  return cost(lowered.program, lowered.scope);
}

LevelSpace PlanSearch::Space() {
  LevelSpace space;
  space.layers = static_cast<int>(layers_.layers().size());
  space.levels = layers_.levels();
  space.noise = [this](const Levels& levels) { return NoiseOf(levels); };
  return space;
}

FoundPlan PlanSearch::PlanOf(const FoundLevels& found) const {
  FoundPlan plan;
  plan.config = layers_.Apply(network_.transpile.config, found.levels);
  plan.layers = static_cast<int>(found.levels.size());
  LevelSpace space;
  space.layers = plan.layers;
  space.levels = layers_.levels();
  for (size_t i = 0; i < found.levels.size(); ++i) {
    if (found.levels[i] == 0) {
      const auto noise = measurements_.Find(kNoise, space.Alone(static_cast<int>(i), 0));
      if (noise) plan.noise.push_back({layers_.layers()[i].output, noise->value});
      continue;
    }
    plan.raised.push_back({layers_.layers()[i].output, layers_.NameOf(found.levels[i]),
                           found.levels[i] == layers_.levels() - 1});
  }
  plan.reached = found.reached;
  plan.holds = found.holds;
  plan.measurements = measurements_.count();
  return plan;
}

absl::StatusOr<FoundPlan> PlanSearch::ForDrop(const Metric& metric, double most) {
  ASSIGN_OR_RETURN(const Measured before, MetricOf(metric, AllFloat()));
  const auto drop = [&](const Levels& levels) -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const Measured after, MetricOf(metric, levels));
    return metric.Drop(before.value, after.value);
  };
  const auto estimate = [&](const Levels& levels) -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const Measured after, EstimateOf(metric, levels));
    return metric.Drop(before.value, after.value);
  };
  ASSIGN_OR_RETURN(const FoundLevels found,
                   network_.change_weights
                       ? FindLevelsForEstimatedDrop(Space(), most, estimate, drop)
                       : FindLevelsForDrop(Space(), most, drop));
  FoundPlan plan = PlanOf(found);
  ASSIGN_OR_RETURN(const Measured after, MetricOf(metric, found.levels));
  plan.measured = {before, after, plan.reached, network_.measured->size()};
  return plan;
}

absl::StatusOr<FoundPlan> PlanSearch::ForBudget(const Budget& budget) {
  const auto cost = [&](const Levels& levels) { return CostOf(budget.of, levels); };
  ASSIGN_OR_RETURN(const double of_floats, cost(AllFloat()));
  if (of_floats <= budget.most) {
    return absl::FailedPreconditionError(
        absl::StrCat(network_.program->name(), ": the float network takes ",
                     CostText(budget.of, of_floats), ", which is within the budget of ",
                     CostText(budget.of, budget.most), "; want a smaller budget"));
  }
  ASSIGN_OR_RETURN(const FoundLevels found, FindLevelsForBudget(Space(), budget.most, cost));
  return PlanOf(found);
}

}  // namespace fixpoint
