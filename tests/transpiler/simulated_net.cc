#include "tests/transpiler/simulated_net.h"

#include <glog/logging.h>

#include <algorithm>

#include "google/protobuf/text_format.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program.h"
#include "runtime/backends.h"
#include "runtime/reference/interpreter.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr int64_t kSamples = 64;

Scope RandomParameters(const Program& program) {
  Scope scope;
  uint32_t seed = 11;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable()) continue;
    const auto& dims = variable->tensor()->dims();
    scope.Set(variable->name(), RandomNumbers({dims.begin(), dims.end()}, ++seed));
  }
  return scope;
}

// Neighbours are alike, and the mean is not 0, as in images.
Tensor RandomSamples(const Program& program) {
  const auto& dims = program.Find(program.block(0), "x")->tensor()->dims();
  std::vector<int64_t> of_samples(dims.begin(), dims.end());
  of_samples[0] = kSamples;
  Tensor samples = RandomNumbers(of_samples, 5);
  float before = 0;
  for (float& number : samples.mutable_data<float>()) {
    before = 0.75f * before + 0.5f * number;
    number = before + 0.5f;
  }
  return samples;
}

std::vector<std::string> ValuesOf(const Program& program) {
  std::vector<std::string> names;
  for (const Variable* variable : program.block(0).variables()) {
    const bool is_value = !variable->persistable() && variable->is_dense_tensor();
    if (is_value && variable->is_used()) names.push_back(variable->name());
  }
  return names;
}

}  // namespace

Tensor RandomNumbers(std::vector<int64_t> dims, uint32_t seed) {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(VarType::FP32, std::move(dims));
  CHECK(tensor.ok()) << tensor.status();
  for (float& number : tensor->mutable_data<float>()) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return *std::move(tensor);
}

SimulatedNet::SimulatedNet(const char* text, const std::string& config)
    : network(std::make_unique<Program>(ParsedProgram(text))),
      parameters(RandomParameters(*network)),
      simulated(std::make_unique<Program>(network->Clone())),
      simulated_parameters(RandomParameters(*network)),
      x(RandomSamples(*network)) {
  RangeProfile profile;
  const std::vector<std::string> names = ValuesOf(*network);
  const std::vector<Tensor> values = RunFloat(names);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto elements = values[i].data<float>();
    const auto [least, most] = std::minmax_element(elements.begin(), elements.end());
    RangeProfile::Entry& entry = *profile.add_entries();
    entry.set_variable(names[i]);
    entry.set_min(*least);
    entry.set_max(*most);
  }
  TranspileOptions options;
  CHECK(google::protobuf::TextFormat::ParseFromString(config, &options.config));
  options.profile = &profile;
  const absl::StatusOr<TranspileResult> result = Transpile(simulated.get(), options);
  CHECK(result.ok()) << result.status();
  plan = result->plan;
  CHECK(result->new_startup.has_value());
  auto interpreter = reference::Interpreter::Create(*result->new_startup, &simulated_parameters);
  CHECK(interpreter.ok()) << interpreter.status();
  const auto initialised = interpreter->Run({}, {}, /*step=*/0);
  CHECK(initialised.ok()) << initialised.status();

  std::vector<NamedArray> arrays;
  arrays.push_back({"x", StoredArray("samples", *x.Clone())});
  absl::StatusOr<ArraySamples> set = ArraySamples::Create("samples", std::move(arrays));
  CHECK(set.ok()) << set.status();
  samples = std::make_unique<ArraySamples>(*std::move(set));
  BatchOptions batch_options;
  batch_options.batch_size = 8;
  batch_options.shuffle = false;
  absl::StatusOr<FedBatches> fed = FedBatches::Create(*network, samples.get(), {}, batch_options);
  CHECK(fed.ok()) << fed.status();
  batches = std::make_unique<FedBatches>(*std::move(fed));
}

SimulatedNet::~SimulatedNet() = default;

MethodRun SimulatedNet::run(int threads) {
  MethodRun run;
  run.batches = batches.get();
  run.samples = kSamples;
  run.threads = threads;
  return run;
}

std::vector<Tensor> SimulatedNet::Run(const Program& program, Scope* scope, const Tensor& x,
                                      const std::vector<std::string>& fetches) {
  auto backend = MakeBackend(kDefaultBackend, program, scope);
  CHECK(backend.ok()) << backend.status();
  absl::StatusOr<std::vector<Tensor>> results = (*backend)->Run({{"x", &x}}, fetches, 0);
  CHECK(results.ok()) << results.status();
  return *std::move(results);
}

}  // namespace fixpoint
