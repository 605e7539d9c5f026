#include "tools/bench_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/peak_memory.h"
#include "runtime/predictor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/evaluator.h"
#include "tools/integer_speed.h"
#include "tools/json.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"

namespace fixpoint {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Measurement {
  // Seconds from the first byte that is read, not counting the time to make the inputs.
  double first_output = 0;
  std::vector<double> latencies;  // seconds, the shortest first
  double seconds = 0;             // all of them
  int64_t batch_size = 0;
  int64_t peak_memory = 0;
  int64_t parameters = 0;  // bytes
  int64_t constants = 0;   // bytes
  int64_t moved = 0;       // bytes that a run reads and writes

  // By nearest rank.
  double Percentile(int percent) const {
    const auto rank =
        static_cast<size_t>(std::ceil(percent / 100.0 * static_cast<double>(latencies.size())));
    return latencies[std::max<size_t>(rank, 1) - 1];
  }
  double Throughput() const {
    return static_cast<double>(batch_size) * static_cast<double>(latencies.size()) / seconds;
  }
};

// What is fed: zeros where that is integers, so that labels and rows of tables are valid.
absl::StatusOr<Tensor> MadeUp(const Variable& variable, int64_t batch_size, uint64_t seed) {
  ASSIGN_OR_RETURN(
      std::vector<int64_t> dims,
      FedDims(variable, batch_size, absl::StrCat("--feeds=", variable.name(), "=FILE.npy")));
  absl::StatusOr<Tensor> allocated =
      Tensor::Allocate(variable.tensor()->data_type(), std::move(dims));
  if (!allocated.ok()) {
    return AtPlace(absl::StrCat("\"", variable.name(), "\", which is fed"), allocated.status());
  }
  Tensor tensor = *std::move(allocated);
  std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), 0);
  if (tensor.dtype() == VarType::FP32) {
    const RandomStream random(seed, 0, 0);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
    }
  }
  return tensor;
}

// The first batch of the data, by the variables that it is fed to.
absl::StatusOr<FirstBatch> LoadFirstBatch(const BenchCommand& command, const Program& program) {
  if (!command.data) return FirstBatch();
  ASSIGN_OR_RETURN(
      const NetworkVariables variables,
      FindVariablesForFlags(program, command.program, command.variables, InputsOf(*command.data)));
  return FirstBatchOf(*command.data, program, command.program, variables, command.batch_size);
}

struct Inputs {
  std::vector<Tensor> values;
  int64_t batch_size = 1;
};

absl::StatusOr<Inputs> MakeInputs(const BenchCommand& command, const Program& program,
                                  const std::vector<std::string>& names) {
  std::vector<Tensor> inputs;
  ASSIGN_OR_RETURN(FirstBatch batch, LoadFirstBatch(command, program));
  const std::vector<std::string> fed = NamesOf(FedVariables(program));
  for (const NamedFile& feed : command.feeds) {
    if (std::find(fed.begin(), fed.end(), feed.name) != fed.end()) continue;
    return UsageError(
        absl::StrCat("--feeds: ", command.program, " is not fed \"", feed.name, "\""));
  }
  for (const std::string& name : names) {
    const Variable* variable = program.Find(program.block(0), name);
    const auto feed = std::find_if(command.feeds.begin(), command.feeds.end(),
                                   [&name](const NamedFile& feed) { return feed.name == name; });
    if (Scope::Value* const given = batch.values.FindOrNull(name)) {
      inputs.push_back(std::move(std::get<Tensor>(*given)));
      continue;
    }
    ASSIGN_OR_RETURN(Tensor input,
                     feed != command.feeds.end()
                         ? LoadFeed(*feed, *variable)
                         : MadeUp(*variable, command.batch_size, /*seed=*/inputs.size()));
    inputs.push_back(std::move(input));
  }
  const bool has_rows = !inputs.empty() && !inputs.front().dims().empty();
  const int64_t rows = has_rows ? inputs.front().dims().front() : 1;
  return Inputs{std::move(inputs), command.data ? batch.samples : rows};
}

std::string MeasurementText(const Measurement& measured, int threads) {
  std::string text = absl::StrFormat("runs          %d, batch size %d, threads %d\n",
                                     measured.latencies.size(), measured.batch_size, threads);
  absl::StrAppendFormat(&text, "latency       p50 %.3f ms, p90 %.3f ms, p99 %.3f ms\n",
                        1e3 * measured.Percentile(50), 1e3 * measured.Percentile(90),
                        1e3 * measured.Percentile(99));
  absl::StrAppendFormat(&text, "throughput    %.1f samples a second\n", measured.Throughput());
  absl::StrAppendFormat(&text, "first output  %.3f ms\n", 1e3 * measured.first_output);
  absl::StrAppendFormat(&text, "peak memory   %d bytes\n", measured.peak_memory);
  absl::StrAppendFormat(&text, "bytes moved   %d a run, %.1f GB/s\n", measured.moved,
                        1e-9 * static_cast<double>(measured.moved) / measured.Percentile(50));
  absl::StrAppendFormat(&text, "parameters    %d bytes\n", measured.parameters);
  absl::StrAppendFormat(&text, "constants     %d bytes\n", measured.constants);
  return text;
}

std::string MeasurementJson(const std::string& program, const Measurement& measured, int threads) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(program);
  json.Key("runs").Int(static_cast<int64_t>(measured.latencies.size()));
  json.Key("batch_size").Int(measured.batch_size);
  json.Key("threads").Int(threads);
  json.Key("latency_ms").BeginObject();
  for (const int percent : {50, 90, 99}) {
    json.Key(absl::StrCat("p", percent)).Double(1e3 * measured.Percentile(percent));
  }
  json.EndObject();
  json.Key("samples_per_second").Double(measured.Throughput());
  json.Key("first_output_ms").Double(1e3 * measured.first_output);
  json.Key("peak_memory_bytes").Int(measured.peak_memory);
  json.Key("bytes_moved").Int(measured.moved);
  json.Key("parameter_bytes").Int(measured.parameters);
  json.Key("constant_bytes").Int(measured.constants);
  json.EndObject();
  return json.Take();
}

}  // namespace

absl::StatusOr<ExitCode> RunBenchCommand(const BenchCommand& command) {
  const Clock::time_point begin = Clock::now();
  std::vector<std::string> files = {command.program, command.params};
  for (const NamedFile& feed : command.feeds) files.push_back(feed.file);
  RETURN_IF_ERROR(CheckInputs(files));
  ASSIGN_OR_RETURN(NamedProgram named, LoadNamedProgram(command.program));
  const absl::Status does_not_train = CheckDoesNotTrain(named.program);
  if (!does_not_train.ok()) return InFile(command.program, does_not_train);
  RETURN_IF_ERROR(CheckEndsAreDeclared(named.program, command.program));
  ASSIGN_OR_RETURN(Scope scope,
                   LoadScope(named.program, command.program, "params", command.params));
  PredictorOptions options;
  options.threads = command.threads;
  options.max_iterations = command.max_iterations;
  options.profile = command.profile;
  ASSIGN_OR_RETURN(const NetworkEnds ends,
                   FindNetworkEnds(named.program, command.program, command.fetches,
                                   command.variables, "--fetches=NAME"));
  options.inputs = ends.inputs;
  options.outputs = ends.outputs;
  const Clock::time_point before_inputs = Clock::now();
  ASSIGN_OR_RETURN(const Inputs inputs, MakeInputs(command, named.program, options.inputs));
  const double seconds_of_inputs = SecondsSince(before_inputs);
  absl::StatusOr<std::unique_ptr<Predictor>> predictor =
      Predictor::Create(std::move(named.program), std::move(scope), options);
  if (!predictor.ok()) return InFile(command.program, predictor.status());
  std::vector<Tensor> outputs;
  const absl::Status first = (*predictor)->Run(inputs.values, &outputs);
  if (!first.ok()) return InFile(command.program, first);
  RETURN_IF_ERROR(WriteReport(IntegerSpeedNote((*predictor)->CountCodedProducts(), command.program),
                              /*output_is_taken=*/true));

  Measurement measured;
  measured.first_output = SecondsSince(begin) - seconds_of_inputs;
  do {
    const Clock::time_point run = Clock::now();
    RETURN_IF_ERROR((*predictor)->Run(inputs.values, &outputs));
    measured.latencies.push_back(SecondsSince(run));
    measured.seconds += measured.latencies.back();
  } while (measured.seconds < command.seconds);
  std::sort(measured.latencies.begin(), measured.latencies.end());
  measured.batch_size = inputs.batch_size;
  measured.peak_memory = PeakMemoryBytes();
  measured.parameters = (*predictor)->parameter_bytes();
  measured.constants = (*predictor)->constant_bytes();
  ASSIGN_OR_RETURN(measured.moved, (*predictor)->BytesMoved(inputs.values));

  RETURN_IF_ERROR(WriteReport(command.json
                                  ? MeasurementJson(command.program, measured, command.threads)
                                  : MeasurementText(measured, command.threads),
                              /*output_is_taken=*/false));
  RETURN_IF_ERROR(WriteReport(
      absl::StrCat(command.dump_plan ? (*predictor)->PlanText() : "", (*predictor)->ProfileText()),
      /*output_is_taken=*/command.json));
  return kDone;
}

}  // namespace fixpoint
