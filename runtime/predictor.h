// Runs an inference program for callers on any number of threads: they share its parameters, and
// what is computed from those alone.

#ifndef FIXPOINT_RUNTIME_PREDICTOR_H_
#define FIXPOINT_RUNTIME_PREDICTOR_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/executor/executor.h"
#include "runtime/loop_bound.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct PredictorOptions {
  // Variables; none: the program's feeds and fetches (proto/program/feeds_and_fetches.h).
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  // For one run, as in BackendOptions (backends.h).
  int threads = 1;
  int64_t max_iterations = kDefaultMaxIterations;
  // Whether the time of each step is measured.
  bool profile = false;
};

// Every set of shapes of the inputs is planned when it is first seen, and the last plans are kept.
// There are as many runs at once as there are callers; each has its own plans and memory for
// values, which a later run reuses.
class Predictor {
 public:
  // Loads what LoadInferenceModel (inference_model.h) finds there. Errors: those of it and of
  // Create.
  static absl::StatusOr<std::unique_ptr<Predictor>> Load(const std::string& path,
                                                         const PredictorOptions& options = {});
  // Errors: kFailedPrecondition: there is no output, or a parameter is not in the scope;
  // kInvalidArgument: an op writes a parameter that is read before, as in training; those of
  // Executor::Create. A write that only the plan of a run shows is an error of the run.
  static absl::StatusOr<std::unique_ptr<Predictor>> Create(Program program, Scope scope,
                                                           const PredictorOptions& options = {});
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // Names of variables.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const Program& program() const { return program_; }

  // Computes outputs from inputs, in their orders. For any number of threads at once. Errors:
  // kInvalidArgument: the number of inputs is not the program's; those of Backend::Run.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs);
  // The same into tensors that the caller keeps: one that has the output's type and dimensions is
  // written over, so that a run allocates no memory.
  absl::Status Run(absl::Span<const Tensor> inputs, std::vector<Tensor>* outputs);

  // Bytes that the steps of such a run read and write; the run is planned if it is new. Errors:
  // those of Run.
  absl::StatusOr<int64_t> BytesMoved(absl::Span<const Tensor> inputs);

  // Bytes of what is computed from parameters alone, and of the parameters.
  int64_t constant_bytes() const { return constants_.bytes(); }
  int64_t parameter_bytes() const;

  // For the executor that ran last (executor.h).
  std::string PlanText();
  std::string ProfileText();
  CodedProducts CountCodedProducts();
  std::vector<executor::ProfileRow> ProfileRows();

 private:
  Predictor(Program program, Scope scope, const PredictorOptions& options);

  absl::Status NameInputsAndOutputs();
  // The feeds of executors. Error (kInvalidArgument): the number of inputs is not the program's.
  using Feeds = absl::InlinedVector<Feed, 4>;
  absl::StatusOr<Feeds> FeedsOf(absl::Span<const Tensor> inputs) const;
  absl::Status CheckParameters() const;
  // An executor with a program of its own, which threads cannot share.
  struct Runner {
    explicit Runner(Program copy) : program(std::move(copy)) {}
    const Program program;
    std::unique_ptr<executor::Executor> executor;
  };
  absl::StatusOr<std::unique_ptr<Runner>> TakeRunner();
  void GiveBack(std::unique_ptr<Runner> runner);

  const Program program_;
  Scope scope_;
  const PredictorOptions options_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  executor::ConstantStore constants_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Runner>> idle_;  // the last was given back last
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_PREDICTOR_H_
