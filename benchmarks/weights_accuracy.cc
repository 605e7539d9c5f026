// What the methods of docs/weights.md gain on MNIST without training with quantizers: each row is a
// float network, quantized with the ranges of some training samples. The tables of docs/results.md.
//
//   bazel run --config=opt //benchmarks:weights_accuracy -- FOLDER [seeds [float_epochs [epochs
//   [rows]]]]
//
// `epochs` is not used. "Spread" and "outliers" are made by MakeUnlike.

#include <glog/logging.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/accuracy.h"
#include "benchmarks/networks.h"
#include "google/protobuf/text_format.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/data/batcher.h"
#include "runtime/scope.h"
#include "runtime/training/fed_batches.h"
#include "runtime/training/network_variables.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/prepare/scalable_channels.h"
#include "transpiler/quantize/simulated_model.h"
#include "transpiler/weights/correct_biases.h"
#include "transpiler/weights/round_weights.h"
#include "transpiler/weights/smooth_activations.h"

namespace fixpoint {
namespace {

constexpr int64_t kSamples = 512;  // for ranges
constexpr uint64_t kSeedOfSamples = 1;

enum Methods : unsigned {
  kNone = 0,
  kEqualize = 1,
  kSmooth = 2,
  kRound = 4,
  kCorrect = 8,
};

// How channels are made unlike.
enum class Unlike { kNone, kSpread, kOutliers };

// How many times the range of the first channel the last one's becomes.
constexpr double kSpread = 300;
// Which channels of a layer norm become so many times as large.
constexpr int64_t kOutlierEvery = 16;
constexpr double kOutlier = 100;

struct WeightRow {
  const char* name;
  const char* config;
  unsigned methods = kNone;
};

constexpr char kPerTensor[] = "target: 'onednn_int8' weights { quantizer: 'abs_max' }";
constexpr char kPerChannel[] =
    "target: 'onednn_int8' weights { quantizer: 'channel_wise_abs_max' }";
constexpr char kFourBits[] =
    "target: 'onednn_int8' weights { quantizer: 'channel_wise_abs_max' bits: 4 }";
constexpr char kThreeBits[] =
    "target: 'onednn_int8' weights { quantizer: 'channel_wise_abs_max' bits: 3 }";

FedBatches BatchesOf(const Program& program, const AccuracyTask& task, int64_t batch_size) {
  const auto variables = FindNetworkVariables(program);
  CHECK(variables.ok()) << variables.status();
  BatchOptions options;
  options.batch_size = batch_size;
  options.seed = kSeedOfSamples;
  auto batches = FedBatches::Create(program, &task.train, *variables, options);
  CHECK(batches.ok()) << batches.status();
  return *std::move(batches);
}

// Multiplies channels where they are computed, and divides them where they are read, so that the
// network stays the same function.
void MakeUnlike(Unlike unlike, const Program& program, Scope* scope) {
  const EditedParameters parameters(scope);
  const FindParameter find = [&parameters](const Argument* read) {
    return FindConstant(read, parameters);
  };
  ScaledParameters scaled(find);
  for (const ScalableChannels& value : FindScalableChannels(program, find)) {
    if (value.is_of_product != (unlike == Unlike::kSpread)) continue;
    std::vector<double> factors(value.channels, 1);
    std::vector<double> inverses(value.channels, 1);
    for (int64_t c = 0; c < value.channels; ++c) {
      if (unlike == Unlike::kSpread) {
        factors[c] = std::pow(kSpread, static_cast<double>(c) / value.channels);
      } else if (c % kOutlierEvery == 0) {
        factors[c] = kOutlier;
      }
      inverses[c] = 1 / factors[c];
    }
    for (const ChannelParameter& parameter : value.divided) scaled.Scale(parameter, factors);
    for (const ChannelParameter& weight : value.multiplied) scaled.Scale(weight, inverses);
  }
  for (const Argument* read : scaled.scaled()) {
    auto tensor = scaled.Result(read);
    CHECK(tensor.ok()) << tensor.status();
    scope->Set(read->name(), *std::move(tensor));
  }
}

PreparedModel Prepared(const Program& program, const Scope& parameters,
                       const PrepareOptions& options) {
  auto prepared = Prepare(program, parameters, options);
  CHECK(prepared.ok()) << prepared.status();
  return *std::move(prepared);
}

double AccuracyOfRow(const WeightRow& row, Unlike unlike, const Program& test, const Scope& trained,
                     const AccuracyTask& task) {
  PrepareOptions options;
  options.fold_batch_norm = true;
  options.split_layer_norms = true;
  PreparedModel prepared = Prepared(test, trained, options);
  if (unlike != Unlike::kNone) MakeUnlike(unlike, prepared.program, &prepared.scope);
  options.equalize_weights = (row.methods & kEqualize) != 0;
  options.add_biases = (row.methods & kCorrect) != 0;
  prepared = Prepared(prepared.program, prepared.scope, options);
  FedBatches batches = BatchesOf(prepared.program, task, 32);
  MethodRun run;
  run.batches = &batches;
  if ((row.methods & kSmooth) != 0) {
    const auto smoothed = SmoothActivations(prepared.program, &prepared.scope, {}, run);
    CHECK(smoothed.ok()) << smoothed.status();
  }
  Scope state;
  for (const auto& [name, value] : prepared.scope) state.Set(name, *Scope::CloneOf(value));
  TranspileOptions transpile;
  CHECK(google::protobuf::TextFormat::ParseFromString(row.config, &transpile.config)) << row.config;
  const RangeProfile profile =
      ProfileOf(prepared.program, task, ObservedOutputs::kNone, kSamples, &prepared.scope);
  const auto simulated = Simulate(prepared.program, profile, transpile, &state);
  CHECK(simulated.ok()) << simulated.status();
  const NetworkPair networks = {prepared.program, &prepared.scope, simulated->program, &state};
  if ((row.methods & kRound) != 0) {
    const auto rounded = RoundWeights(networks, {}, run);
    CHECK(rounded.ok()) << rounded.status();
    for (const RoundedLayer& layer : *rounded) {
      LOG(INFO) << layer.output << ": error " << layer.nearest_error << " to "
                << layer.learned_error << ", " << layer.changed << " of " << layer.elements
                << " codes changed " << layer.why_not;
    }
  }
  if ((row.methods & kCorrect) != 0) {
    const auto corrected = CorrectBiases(networks, run);
    CHECK(corrected.ok()) << corrected.status();
  }
  return AccuracyOf(simulated->program, task, &state);
}

struct Variant {
  const char* network;
  const char* title;
  Unlike unlike;
  std::vector<WeightRow> rows;
};

std::vector<Variant> Variants() {
  const auto few_bits = [](const char* config) {
    return std::vector<WeightRow>{{"nearest", config},
                                  {"biases corrected", config, kCorrect},
                                  {"learned", config, kRound},
                                  {"learned, biases corrected", config, kRound | kCorrect}};
  };
  const std::vector<WeightRow> equalized = {
      {"nearest", kPerTensor},
      {"biases corrected", kPerTensor, kCorrect},
      {"equalized", kPerTensor, kEqualize},
      {"equalized, biases corrected", kPerTensor, kEqualize | kCorrect}};
  const std::vector<WeightRow> smoothed = {{"nearest", kPerChannel},
                                           {"smoothed", kPerChannel, kSmooth}};
  std::vector<Variant> variants;
  const std::pair<const char*, const char*> bits[] = {{"4-bit weights", kFourBits},
                                                      {"3-bit weights", kThreeBits}};
  for (const char* network : {"lenet5", "small_separable"}) {
    for (const auto& [name, config] : bits) {
      variants.push_back({network, name, Unlike::kNone, few_bits(config)});
    }
  }
  variants.push_back({"small_separable", "8 bits, per tensor", Unlike::kNone, equalized});
  variants.push_back({"small_separable", "spread", Unlike::kSpread, equalized});
  variants.push_back({"encoder", "8 bits", Unlike::kNone, smoothed});
  variants.push_back({"encoder", "outliers", Unlike::kOutliers, smoothed});
  return variants;
}

void Run(const AccuracyCommand& command) {
  for (const char* name : {"lenet5", "small_separable", "encoder"}) {
    AccuracyTable table;
    for (int seed = 1; seed <= command.seeds; ++seed) {
      const Network network = BuildFloatNetwork(name);
      Scope trained = TrainInFloat(network, command.task, seed);
      const auto test = MakeTestProgram(network.main);
      CHECK(test.ok()) << test.status();
      table.Add("float", AccuracyOf(*test, command.task, &trained));
      for (const Variant& variant : Variants()) {
        if (variant.network != absl::string_view(name)) continue;
        for (const WeightRow& row : variant.rows) {
          const std::string full = absl::StrCat(variant.title, ", ", row.name);
          if (!absl::StrContains(absl::StrCat(name, ": ", full), command.rows)) continue;
          table.Add(full, AccuracyOfRow(row, variant.unlike, *test, trained, command.task));
        }
      }
    }
    table.Print(name);
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunAccuracyCommand("lenet5", argc, argv, fixpoint::Run);
}
