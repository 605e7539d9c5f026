// A small float network, its simulation, and samples, for tests of transpiler/weights.

#ifndef FIXPOINT_TESTS_TRANSPILER_SIMULATED_NET_H_
#define FIXPOINT_TESTS_TRANSPILER_SIMULATED_NET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/config/quant_plan.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/array_samples.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/weights/method_run.h"

namespace fixpoint {

// Numbers from -1 to 1 that depend on the seed.
Tensor RandomNumbers(std::vector<int64_t> dims, uint32_t seed);

struct SimulatedNet {
  // Random parameters, 64 samples of `x`, and the ranges of all values in them. REQUIRES: `text` is
  // a program that Transpile quantizes with `config`, fed the variable "x" alone.
  SimulatedNet(const char* text, const std::string& config);
  ~SimulatedNet();

  NetworkPair networks() { return {*network, &parameters, *simulated, &simulated_parameters}; }
  // A run over all samples.
  MethodRun run(int threads);

  // What a program computes for the samples.
  static std::vector<Tensor> Run(const Program& program, Scope* scope, const Tensor& x,
                                 const std::vector<std::string>& fetches);
  std::vector<Tensor> RunFloat(const std::vector<std::string>& fetches) {
    return Run(*network, &parameters, x, fetches);
  }
  std::vector<Tensor> RunSimulated(const std::vector<std::string>& fetches) {
    return Run(*simulated, &simulated_parameters, x, fetches);
  }

  std::unique_ptr<Program> network;
  Scope parameters;
  std::unique_ptr<Program> simulated;
  Scope simulated_parameters;
  QuantPlan plan;
  Tensor x;
  std::unique_ptr<ArraySamples> samples;
  std::unique_ptr<FedBatches> batches;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TRANSPILER_SIMULATED_NET_H_
