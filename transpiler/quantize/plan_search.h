// Searches the configuration of a network that is good enough, or small or fast enough: which of
// its layers are quantized as configured, which with 8 bits, and which not at all.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_PLAN_SEARCH_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_PLAN_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/measured.h"
#include "runtime/training/metric.h"
#include "transpiler/quantize/layer_levels.h"
#include "transpiler/quantize/measurements.h"
#include "transpiler/quantize/network_cost.h"
#include "transpiler/quantize/output_noise.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

struct SimulatedModel;  // simulated_model.h

// Outputs are compared with those of the float network on so many samples, or fewer.
inline constexpr int64_t kNoiseSamples = 64;

// The network, as it was prepared and calibrated. All that is pointed to outlives the search.
struct SearchedNetwork {
  const Program* program = nullptr;
  Scope* parameters = nullptr;
  const RangeProfile* profile = nullptr;
  TranspileOptions transpile;  // with the configuration from which the search starts
  std::vector<std::string> outputs;
  const SampleSet* samples = nullptr;   // on which noise is measured
  const SampleSet* measured = nullptr;  // on which the metric is
  BatchRunOptions run;
  // Methods that change the parameters of a simulated program before it is measured; null: there
  // are none. They take long.
  std::function<absl::Status(const SimulatedModel& simulated, Scope* parameters)> change_weights;
};

// A layer that is not quantized as configured.
struct RaisedLayer {
  std::string output;
  std::string level;  // "float" or "8 bits"
  bool is_float = false;
};

// The noise that a layer makes in the outputs if it alone is quantized, as configured; relative to
// the outputs.
struct LayerNoise {
  std::string output;
  double noise = 0;
};

// The metric of two networks.
struct MeasuredDrop {
  Measured before;  // in float
  Measured after;   // on integers
  double drop = 0;  // by how much that is worse
  int64_t samples = 0;
};

struct FoundPlan {
  QuantConfig config;
  std::vector<RaisedLayer> raised;
  std::vector<LayerNoise> noise;  // as far as it was needed
  int layers = 0;
  std::optional<MeasuredDrop> measured;  // of a search for a drop
  double reached = 0;                    // the drop of the metric, or what it takes
  bool holds = true;  // or else nothing that was tried meets the bound, and this is the best
  int measurements = 0;
};

class PlanSearch {
 public:
  // Finds the layers and runs the float network. Errors: those of Simulate and OutputNoise;
  // kFailedPrecondition: nothing is quantized.
  static absl::StatusOr<std::unique_ptr<PlanSearch>> Create(const SearchedNetwork& network,
                                                            Measurements* measurements);

  const LayerLevels& layers() const { return layers_; }

  // The metric with these levels, with what the methods do to the weights. Errors: those of
  // Simulate, of the methods and of Metric::Measure.
  absl::StatusOr<Measured> MetricOf(const Metric& metric, const Levels& levels);
  // The noise in the outputs with these levels, relative to the outputs.
  absl::StatusOr<double> NoiseOf(const Levels& levels);
  // What the lowered network takes. Errors: also those of Freeze and Lower.
  absl::StatusOr<double> CostOf(Budget::Of what, const Levels& levels);

  Levels AllFloat() const { return Levels(layers_.layers().size(), layers_.levels() - 1); }

  // The fewest layers that have to be raised for the metric to drop by at most `most`.
  absl::StatusOr<FoundPlan> ForDrop(const Metric& metric, double most);
  // The least noise within a budget. Error (kFailedPrecondition): the float network is within it.
  absl::StatusOr<FoundPlan> ForBudget(const Budget& budget);

 private:
  PlanSearch(const SearchedNetwork& network, Measurements* measurements)
      : network_(network), measurements_(*measurements) {}

  // The network with these levels, of which at least one is not float.
  absl::StatusOr<SimulatedModel> SimulateWith(const Levels& levels, Scope* parameters) const;
  bool IsFloat(const Levels& levels) const { return levels == AllFloat(); }
  // The metric with weights as they are, which is measured sooner.
  absl::StatusOr<Measured> EstimateOf(const Metric& metric, const Levels& levels);
  absl::StatusOr<Measured> MeasureMetric(const Metric& metric, const Levels& levels);
  absl::StatusOr<Measured> MeasureEstimate(const Metric& metric, const Levels& levels);
  // What is measured, or was, without an error of its own.
  absl::StatusOr<double> Number(absl::string_view what, const Levels& levels,
                                const std::function<absl::StatusOr<double>()>& measure);
  absl::StatusOr<double> MeasureNoise(const Levels& levels);
  absl::StatusOr<double> MeasureCost(Budget::Of what, const Levels& levels);
  LevelSpace Space();
  FoundPlan PlanOf(const FoundLevels& found) const;

  const SearchedNetwork network_;
  Measurements& measurements_;
  LayerLevels layers_;
  std::optional<OutputNoise> noise_;  // made when it is first needed
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_PLAN_SEARCH_H_
