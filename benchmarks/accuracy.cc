#include "benchmarks/accuracy.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/text_format.h"
#include "proto/base/status_macros.h"
#include "proto/config/quant_config.pb.h"
#include "proto/program/program.h"
#include "runtime/calibration/calibration_run.h"
#include "runtime/data/data_set.h"
#include "runtime/data/image_set.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/network_variables.h"
#include "runtime/training/rate_schedule.h"
#include "runtime/training/trainer.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr int64_t kBatch = 128;
constexpr int64_t kStepsThatFollowRanges = 100;

BatchRunOptions OptionsOf(const Program& program, uint64_t seed) {
  BatchRunOptions options;
  const auto variables = FindNetworkVariables(program);
  CHECK(variables.ok()) << variables.status();
  options.variables = *variables;
  options.backend_options.seed = seed;
  options.batches.batch_size = kBatch;
  options.batches.seed = seed;
  options.batches.drop_last = true;
  return options;
}

void Train(const Network& network, const AccuracyTask& task, int64_t steps, double rate,
           uint64_t seed, Scope* scope) {
  auto trainer = Trainer::Create(network.main, scope, &task.train, OptionsOf(network.main, seed));
  CHECK(trainer.ok()) << trainer.status();
  const auto variable = FindFedRate(network.main);
  CHECK(variable.ok()) << variable.status();
  trainer->FeedRate({*variable, *RateSchedule::Parse(absl::StrCat("cosine:", rate)), steps});
  for (int64_t step = 0; step < steps; ++step) {
    const auto result = trainer->Step();
    CHECK(result.ok()) << result.status();
  }
}

void CopyParameters(const Program& program, const Scope& from, Scope* to) {
  for (const auto& [name, value] : from) {
    const Variable* variable = program.Find(program.block(0), name);
    if (variable == nullptr || variable->desc() == nullptr) continue;
    if (variable->desc()->is_parameter()) to->Set(name, *Scope::CloneOf(value));
  }
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Scope Initialized(const Network& network, uint64_t seed) {
  Scope scope;
  const absl::Status status = Initialize(network.startup, &scope, OptionsOf(network.main, seed));
  CHECK(status.ok()) << status;
  return scope;
}

int64_t Steps(const AccuracyTask& task, int epochs) {
  return epochs * (task.train.size() / kBatch);
}

absl::StatusOr<AccuracyCommand> ParseArguments(const std::string& network, int argc, char** argv) {
  if (argc < 2 || argc > 6) {
    return absl::InvalidArgumentError(
        absl::StrCat("usage: ", argv[0], " FOLDER [seeds [float_epochs [epochs [rows]]]]"));
  }
  const DataSetName name{DataSetKind::kMnist, argv[1]};
  // Mean 0.1307 and deviation 0.3081 of the pixels become 0 and 1.
  const PixelValues values = {1.0f / 255 / 0.3081f, -0.1307f / 0.3081f};
  ASSIGN_OR_RETURN(ImageSet train_images, LoadTrainingSet(name));
  ASSIGN_OR_RETURN(ImageSamples train, ImageSamples::Create(std::move(train_images), values));
  ASSIGN_OR_RETURN(ImageSet test_images, LoadTestSet(name));
  ASSIGN_OR_RETURN(ImageSamples test, ImageSamples::Create(std::move(test_images), values));
  AccuracyCommand command{{network, std::move(train), std::move(test)}};
  int* const numbers[] = {&command.seeds, &command.task.float_epochs, &command.task.epochs};
  for (int i = 2; i < std::min(argc, 5); ++i) {
    if (!absl::SimpleAtoi(argv[i], numbers[i - 2]) || *numbers[i - 2] < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", argv[i], "\" is no number of seeds or epochs; want 1 or more"));
    }
  }
  if (argc > 5) command.rows = argv[5];
  return command;
}

}  // namespace

Network BuildFloatNetwork(const std::string& name) {
  return BuildNetwork(name, kBatch, Training::kAdam);
}

Scope TrainInFloat(const Network& network, const AccuracyTask& task, uint64_t seed) {
  Scope scope = Initialized(network, seed);
  Train(network, task, Steps(task, task.float_epochs), 1e-3, seed, &scope);
  return scope;
}

double AccuracyOf(const Network& network, const AccuracyTask& task, Scope* scope) {
  const auto test = MakeTestProgram(network.main);
  CHECK(test.ok()) << test.status();
  return AccuracyOf(*test, task, scope);
}

double AccuracyOf(const Program& program, const AccuracyTask& task, Scope* scope) {
  auto evaluator = Evaluator::Create(program, scope, &task.test, OptionsOf(program, 0));
  CHECK(evaluator.ok()) << evaluator.status();
  const auto evaluation = evaluator->Run();
  CHECK(evaluation.ok()) << evaluation.status();
  return 100 * evaluation->accuracy.value();
}

RangeProfile ProfileOf(const Program& program, const AccuracyTask& task, ObservedOutputs observed,
                       int64_t samples, Scope* parameters) {
  CalibrationRunOptions options;
  const auto variables = FindNetworkVariables(program);
  CHECK(variables.ok()) << variables.status();
  options.variables = *variables;
  options.calibration.outputs = {variables->scores};
  options.calibration.observed = FindObservedVariables(program, observed);
  options.samples = samples;
  options.seed = 1;
  const auto run = CalibrationRun::Create(program, parameters, &task.train, options);
  CHECK(run.ok()) << run.status();
  const absl::Status status = (*run)->Run([] {});
  CHECK(status.ok()) << status;
  return (*run)->Profile();
}

double QuantizedAccuracy(const QuantizedRow& row, const Scope& trained, const AccuracyTask& task,
                         uint64_t seed) {
  Network network = BuildFloatNetwork(task.network);
  TranspileOptions options;
  CHECK(google::protobuf::TextFormat::ParseFromString(row.config, &options.config)) << row.name;
  options.startup = &network.startup;
  const auto transpiled = Transpile(&network.main, options);
  CHECK(transpiled.ok()) << transpiled.status();
  Scope scope = Initialized(network, seed);
  CopyParameters(network.main, trained, &scope);
  if (row.trains) {
    Train(network, task, Steps(task, task.epochs), 5e-4, seed + 1000, &scope);
  } else {
    Train(network, task, kStepsThatFollowRanges, /*rate=*/0, seed + 1000, &scope);
    // The statistics of batch norm have moved.
    CopyParameters(network.main, trained, &scope);
  }
  return AccuracyOf(network, task, &scope);
}

void AccuracyTable::Add(absl::string_view row, double accuracy) {
  LOG(INFO) << row << ": " << accuracy;
  const auto is_row = [&](const auto& known) { return known.first == row; };
  auto place = std::find_if(rows_.begin(), rows_.end(), is_row);
  if (place == rows_.end()) place = rows_.insert(place, {std::string(row), {}});
  place->second.push_back(accuracy);
}

void AccuracyTable::Print(absl::string_view title) const {
  if (rows_.empty()) return;
  const double baseline = Mean(rows_.front().second);
  absl::PrintF("| %s, %d seeds | mean | range | beside %s |\n|---|---|---|---|\n", title,
               rows_.front().second.size(), rows_.front().first);
  for (const auto& [name, accuracies] : rows_) {
    const double mean = Mean(accuracies);
    const auto [least, most] = std::minmax_element(accuracies.begin(), accuracies.end());
    absl::PrintF("| %-51s | %.2f | %.2f to %.2f | %+.2f |\n", name, mean, *least, *most,
                 mean - baseline);
  }
  std::fflush(stdout);
}

int RunAccuracyCommand(const std::string& network, int argc, char** argv,
                       void (*run)(const AccuracyCommand& command)) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  const auto command = ParseArguments(network, argc, argv);
  if (!command.ok()) {
    std::fprintf(stderr, "%s\n", std::string(command.status().message()).c_str());
    return absl::IsInvalidArgument(command.status()) ? 2 : 3;
  }
  run(*command);
  return 0;
}

}  // namespace fixpoint
