// Accuracies of LeNet-5 on MNIST: trained in float, and trained on in simulated integers from there
// with each quantizer. The table of docs/results.md.
//
//   bazel run --config=opt //benchmarks:mnist_accuracy -- FOLDER [seeds [float_epochs [epochs
//   [rows]]]]
//
// FOLDER holds the four files of the data set, gzipped or not; `rows` is a part of the names of the
// rows that are wanted. "signed" are codes of both signs behind a relu too, as the reference has
// them. The recipe is one for all rows:
// Adam, batches of 128, a rate that falls from 0.001 (0.0005 behind the float training) to 0 along
// half a cosine.

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "benchmarks/networks.h"
#include "google/protobuf/text_format.h"
#include "proto/quant_config.pb.h"
#include "runtime/data/data_set.h"
#include "runtime/scope.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/network_variables.h"
#include "runtime/training/trainer.h"
#include "transpiler/quantize_transpiler.h"
#include "transpiler/test_program.h"

namespace fixpoint {
namespace {

struct Row {
  const char* name;
  const char* config;  // of quantization; nullptr: float
  bool trains = true;  // else ranges are only followed for some batches
};

// Learned ranges as the paper has them: the first and the last layer stay at 8 bits.
#define LEARNED(weight_bits, activation_bits)                                                \
  "target: 'onednn_int8' weights { bits: " weight_bits                                       \
  " quantizer: 'channel_wise_lsq' form: FUSED } activations { bits: " activation_bits        \
  " quantizer: 'lsq' form: FUSED } rules { name_pattern: 'conv2d_0.w_0' spec { bits: 8 } } " \
  "rules { name_pattern: 'fc_2.w_0' spec { bits: 8 } }"

constexpr Row kRows[] = {
    {"8 bits, abs_max", "target: 'onednn_int8' activations { quantizer: 'abs_max' }"},
    {"8 bits, moving_average_abs_max",
     "target: 'onednn_int8' activations { quantizer: 'moving_average_abs_max' }"},
    {"8 bits, range_abs_max", "target: 'onednn_int8' activations { quantizer: 'range_abs_max' }"},
    {"4 bits, moving_average_abs_max",
     "target: 'onednn_int8' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }"},
    {"4 bits, moving_average_abs_max, not trained",
     "target: 'onednn_int8' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }",
     /*trains=*/false},
    {"4 bits, moving_average_abs_max, signed",
     "target: 'paddle_2_6' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }"},
    {"4 bits, moving_average_abs_max, signed, not trained",
     "target: 'paddle_2_6' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }",
     /*trains=*/false},
    {"4 bits, lsq", LEARNED("4", "4")},
    {"2-bit weights, 8-bit activations, lsq", LEARNED("2", "8")},
    {"2 bits, lsq", LEARNED("2", "2")},
};

constexpr int64_t kBatch = 128;

// What is shared by all runs of one command.
struct Task {
  ImageSet train;
  ImageSet test;
  int float_epochs = 16;
  int epochs = 6;
  std::string rows = "";  // part of the names of those that are wanted
};

BatchRunOptions OptionsOf(const Program& program, uint64_t seed) {
  BatchRunOptions options;
  const auto variables = FindNetworkVariables(program);
  CHECK(variables.ok()) << variables.status();
  options.variables = *variables;
  options.backend_options.seed = seed;
  options.batches.batch_size = kBatch;
  options.batches.seed = seed;
  options.batches.drop_last = true;
  // Mean 0.1307 and deviation 0.3081 of the pixels become 0 and 1.
  options.batches.scale = 1.0f / 255 / 0.3081f;
  options.batches.offset = -0.1307f / 0.3081f;
  return options;
}

// The variable that the optimizer reads the learning rate from.
std::string LearningRateOf(const Program& program) {
  std::string name;
  for (const Op& op : program.block(0).ops()) {
    const Argument* rate = op.Input("LearningRate");
    if (rate != nullptr) name = std::string(rate->name());
  }
  CHECK(!name.empty()) << "a program without an optimizer";
  return name;
}

int64_t StepsPerEpoch(const Task& task) { return task.train.labels.size() / kBatch; }

void Train(const Network& network, const Task& task, int64_t steps, double rate, uint64_t seed,
           Scope* scope) {
  auto trainer = Trainer::Create(network.main, scope, &task.train, OptionsOf(network.main, seed));
  CHECK(trainer.ok()) << trainer.status();
  const std::string rate_name = LearningRateOf(network.main);
  for (int64_t step = 0; step < steps; ++step) {
    const double now = rate * (1 + std::cos(M_PI * static_cast<double>(step) / steps)) / 2;
    std::get<Tensor>(*scope->FindOrNull(rate_name)).mutable_data<float>()[0] =
        static_cast<float>(now);
    const auto result = trainer->Step();
    CHECK(result.ok()) << result.status();
  }
}

double AccuracyOf(const Network& network, const Task& task, Scope* scope) {
  const auto test = MakeTestProgram(network.main);
  CHECK(test.ok()) << test.status();
  BatchRunOptions options = OptionsOf(*test, 0);
  options.batches.shuffle = false;
  options.batches.drop_last = false;
  auto evaluator = Evaluator::Create(*test, scope, &task.test, options);
  CHECK(evaluator.ok()) << evaluator.status();
  const auto evaluation = evaluator->Run();
  CHECK(evaluation.ok()) << evaluation.status();
  return 100 * evaluation->accuracy.value();
}

Scope Initialized(const Network& network, uint64_t seed) {
  Scope scope;
  const absl::Status status = Initialize(network.startup, &scope, OptionsOf(network.main, seed));
  CHECK(status.ok()) << status;
  return scope;
}

bool IsParameter(const Program& program, const std::string& name) {
  const Variable* variable = program.Find(program.block(0), name);
  return variable != nullptr && variable->desc() != nullptr && variable->desc()->is_parameter();
}

// A network that starts from the parameters of the float one.
double QuantizedAccuracy(const Row& row, const Scope& trained, const Task& task, uint64_t seed) {
  Network network = BuildNetwork("lenet5", kBatch, Training::kAdam);
  TranspileOptions options;
  CHECK(google::protobuf::TextFormat::ParseFromString(row.config, &options.config)) << row.name;
  options.startup = &network.startup;
  const auto transpiled = Transpile(&network.main, options);
  CHECK(transpiled.ok()) << transpiled.status();
  Scope scope = Initialized(network, seed);
  for (const auto& [name, value] : trained) {
    if (IsParameter(network.main, name)) scope.Set(name, *Scope::CloneOf(value));
  }
  if (row.trains) {
    Train(network, task, task.epochs * StepsPerEpoch(task), 5e-4, seed + 1000, &scope);
  } else {
    // Steps of no length: the ranges follow, the parameters stay.
    Train(network, task, 100, 0, seed + 1000, &scope);
  }
  return AccuracyOf(network, task, &scope);
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void Print(const std::string& name, const std::vector<double>& accuracies, double baseline) {
  const double mean = Mean(accuracies);
  const auto [least, most] = std::minmax_element(accuracies.begin(), accuracies.end());
  absl::PrintF("| %-51s | %.2f | %.2f to %.2f | %+.2f |\n", name, mean, *least, *most,
               mean - baseline);
  std::fflush(stdout);
}

bool IsWanted(const Row& row, const Task& task) { return absl::StrContains(row.name, task.rows); }

void Run(const Task& task, int seeds) {
  std::vector<double> in_float;
  std::vector<std::vector<double>> quantized(std::size(kRows));
  for (int seed = 1; seed <= seeds; ++seed) {
    const Network network = BuildNetwork("lenet5", kBatch, Training::kAdam);
    Scope scope = Initialized(network, seed);
    Train(network, task, task.float_epochs * StepsPerEpoch(task), 1e-3, seed, &scope);
    in_float.push_back(AccuracyOf(network, task, &scope));
    LOG(INFO) << "seed " << seed << ", float: " << in_float.back();
    for (size_t i = 0; i < std::size(kRows); ++i) {
      if (!IsWanted(kRows[i], task)) continue;
      quantized[i].push_back(QuantizedAccuracy(kRows[i], scope, task, seed));
      LOG(INFO) << "seed " << seed << ", " << kRows[i].name << ": " << quantized[i].back();
    }
  }
  absl::PrintF("| LeNet-5, MNIST, %d seeds | mean | range | beside float |\n|---|---|---|---|\n",
               seeds);
  const double baseline = Mean(in_float);
  Print("float", in_float, baseline);
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (IsWanted(kRows[i], task)) Print(kRows[i].name, quantized[i], baseline);
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  if (argc < 2 || argc > 6) {
    std::fprintf(stderr, "usage: mnist_accuracy FOLDER [seeds [float_epochs [epochs [rows]]]]\n");
    return 2;
  }
  const fixpoint::DataSetName name{fixpoint::DataSetKind::kMnist, argv[1]};
  auto train = fixpoint::LoadTrainingSet(name);
  auto test = fixpoint::LoadTestSet(name);
  for (const absl::Status& status : {train.status(), test.status()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 3;
  }
  fixpoint::Task task{*std::move(train), *std::move(test)};
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (argc > 3) task.float_epochs = std::atoi(argv[3]);
  if (argc > 4) task.epochs = std::atoi(argv[4]);
  if (argc > 5) task.rows = argv[5];
  fixpoint::Run(task, seeds);
  return 0;
}
