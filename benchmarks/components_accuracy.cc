// What ranges of the components of composites gain over ranges of their results alone, on MNIST:
// an LSTM that reads an image row by row, and an encoder. Both are trained in float, expanded,
// calibrated, and quantized without training. The table of docs/composites.md.
//
//   bazel run --config=opt //benchmarks:components_accuracy -- FOLDER [seeds [float_epochs]]

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "benchmarks/accuracy.h"
#include "benchmarks/component_networks.h"
#include "benchmarks/networks.h"
#include "ops/quantizer_table.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/comparison.h"
#include "runtime/data/batcher.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/training/fed_batches.h"
#include "runtime/training/network_variables.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/plan/target.h"
#include "transpiler/quantize/simulated_model.h"

namespace fixpoint {
namespace {

using executor::Executor;

constexpr int64_t kSamples = 256;        // for ranges
constexpr int64_t kComparedBatches = 8;  // for the noise of the scores
constexpr int64_t kComparedBatchSize = 128;
constexpr int kRows = 28;  // of an image

// A machine that holds as codes whatever it multiplies, adds or looks up.
constexpr char kTarget[] = R"(
  name: "codes_inside"
  doc: "Operands of products, sums and gates are codes, per tensor."
  conventions { era: PADDLE_2 scale_suffix: "@scale" copy_op_role: true weight_scales_persist: true }
  weights {
    quantizer: "channel_wise_abs_max" bits: 8 signedness: SIGNED rounding: HALF_TO_EVEN
    form: SEPARATE
  }
  activations {
    quantizer: "moving_average_abs_max" bits: 8 signedness: SIGNED rounding: HALF_TO_EVEN
    form: SEPARATE
  }
  weight_abilities { min_bits: 2 max_bits: 8 signedness: SIGNED roundings: HALF_TO_EVEN }
  activation_abilities {
    min_bits: 2 max_bits: 16 granularities: PER_TENSOR roundings: HALF_TO_EVEN
  }
  ops {
    types: "conv2d"
    inputs { name: "Input" role: ACTIVATION }
    inputs { name: "Filter" role: WEIGHT }
  }
  ops {
    types: "mul" types: "matmul_v2"
    inputs { name: "X" role: WEIGHT_OR_ACTIVATION }
    inputs { name: "Y" role: WEIGHT_OR_ACTIVATION }
  }
  ops {
    types: "elementwise_add" types: "elementwise_mul" types: "elementwise_sub"
    no_weight: true
    inputs { name: "X" role: ACTIVATION }
    inputs { name: "Y" role: ACTIVATION }
  }
  ops {
    types: "sigmoid" types: "tanh"
    no_weight: true
    inputs { name: "X" role: ACTIVATION }
  }
)";

using Entries = absl::flat_hash_map<std::string, const RangeProfile::Entry*>;

// A result of each composite that was observed, by the names of the components inside.
absl::flat_hash_map<std::string, std::string> ResultsOfComponents(const Program& program,
                                                                  const Entries& observed) {
  absl::flat_hash_map<std::string, std::string> results;
  const auto map = ReadCompositeMap(program);
  CHECK(map.ok()) << map.status();
  for (const CompositeMap::Composite& composite : map->composites()) {
    OpDesc op;
    CHECK(op.ParseFromString(composite.op()));
    absl::flat_hash_set<std::string> written;
    for (const OpDesc::Var& slot : op.outputs()) {
      written.insert(slot.arguments().begin(), slot.arguments().end());
    }
    std::string result;
    for (const CompositeMap::Component& component : composite.components()) {
      const std::string& name = component.variable();
      if (result.empty() && written.contains(name) && observed.contains(name)) result = name;
    }
    for (const CompositeMap::Component& component : composite.components()) {
      if (!written.contains(component.variable())) results[component.variable()] = result;
    }
  }
  return results;
}

// What a composite's result was is taken for what its components were.
RangeProfile ProfileOfResults(const Program& program, const RangeProfile& by_component) {
  Entries entries;
  for (const RangeProfile::Entry& entry : by_component.entries()) {
    entries[entry.variable()] = &entry;
  }
  const auto results = ResultsOfComponents(program, entries);
  RangeProfile profile = by_component;
  for (RangeProfile::Entry& entry : *profile.mutable_entries()) {
    const auto result = results.find(entry.variable());
    if (result == results.end()) continue;
    const auto known = entries.find(result->second);
    CHECK(known != entries.end()) << result->second << " was not observed";
    const std::string variable = entry.variable();
    entry = *known->second;
    entry.set_variable(variable);
  }
  return profile;
}

// How much stronger the scores are than what quantizing changed in them, in dB.
double SignalToNoise(const Program& quantized, Scope* state, const Program& test, Scope* trained,
                     const std::string& scores, const AccuracyTask& task) {
  const auto variables = FindNetworkVariables(test);
  CHECK(variables.ok()) << variables.status();
  BatchOptions options;
  options.batch_size = kComparedBatchSize;
  auto batches = FedBatches::Create(test, &task.test, *variables, options);
  CHECK(batches.ok()) << batches.status();
  const auto run = Executor::Create(quantized, state);
  const auto expected = Executor::Create(test, trained);
  CHECK(run.ok() && expected.ok()) << run.status() << expected.status();
  auto comparison = Comparison::Create({&quantized, run->get(), state, /*in_one_run=*/true},
                                       {&test, expected->get(), trained, /*in_one_run=*/true});
  CHECK(comparison.ok()) << comparison.status();
  for (int64_t i = 0; i < kComparedBatches; ++i) {
    auto batch = batches->batcher().Next();
    CHECK(batch.ok()) << batch.status();
    const absl::Status status = comparison->Run(batches->FeedsOf(*batch));
    CHECK(status.ok()) << status;
  }
  for (const ComparedVariable& variable : comparison->variables()) {
    if (variable.name == scores) return variable.SignalToNoise();
  }
  LOG(FATAL) << scores << " is not written by both programs";
}

void RunNetwork(const std::string& name, const AccuracyCommand& command) {
  const auto target = ParseTarget(kTarget, "codes_inside", QuantizerTable());
  CHECK(target.ok()) << target.status();
  for (int seed = 1; seed <= command.seeds; ++seed) {
    const Network network =
        name == "lstm" ? BuildLstm(kComparedBatchSize, kRows) : BuildFloatNetwork(name);
    Scope trained = TrainInFloat(network, command.task, seed);
    auto test = MakeTestProgram(network.main);
    CHECK(test.ok()) << test.status();
    absl::PrintF("| %s | float | | | %.2f |\n", name, AccuracyOf(*test, command.task, &trained));
    if (name != "lstm") ExpandComposites(&*test);
    const RangeProfile by_component =
        ProfileOf(*test, command.task, ObservedOutputs::kAll, kSamples, &trained);
    const RangeProfile of_results = ProfileOfResults(*test, by_component);
    for (const int bits : {8, 4}) {
      for (const bool knows_components : {false, true}) {
        auto state = CopyOf(trained);
        CHECK(state.ok()) << state.status();
        TranspileOptions options;
        options.target = *target;
        options.config.mutable_activations()->set_bits(bits);
        const auto simulated =
            Simulate(*test, knows_components ? by_component : of_results, options, &*state);
        CHECK(simulated.ok()) << simulated.status();
        absl::PrintF("| %s | %d | %s | %.1f | %.2f |\n", name, bits,
                     knows_components ? "of components" : "of results",
                     SignalToNoise(simulated->program, &*state, *test, &trained, network.scores,
                                   command.task),
                     AccuracyOf(simulated->program, command.task, &*state));
        std::fflush(stdout);
      }
    }
  }
}

void Run(const AccuracyCommand& command) {
  absl::PrintF(
      "| network | bits of activations | ranges | signal to noise of the scores, dB | accuracy, %% "
      "|\n|---|---|---|---|---|\n");
  for (const char* name : {"lstm", "encoder"}) RunNetwork(name, command);
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunAccuracyCommand("encoder", argc, argv, fixpoint::Run);
}
