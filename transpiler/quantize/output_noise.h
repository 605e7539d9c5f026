// By how much the outputs of a quantized program differ from those of the float one.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_OUTPUT_NOISE_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_OUTPUT_NOISE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

class OutputNoise {
 public:
  // Runs the float program on the first `samples` samples of those that the options' seed orders,
  // and keeps its outputs. The set outlives this. Errors: those of BatchRunner.
  static absl::StatusOr<OutputNoise> Create(const Program& program, Scope* scope,
                                            const SampleSet* set, std::vector<std::string> outputs,
                                            int64_t samples, const BatchRunOptions& options);

  // The sum over outputs of floats of the squares of differences, relative to the squares of what
  // the float program gives. 0 for a program whose outputs are the same. Errors: those of
  // BatchRunner; kInvalidArgument: an output has other extents.
  absl::StatusOr<double> Of(const Program& program, Scope* scope) const;

 private:
  OutputNoise(const SampleSet* set, std::vector<std::string> outputs, int64_t batches,
              const BatchRunOptions& options)
      : set_(set), outputs_(std::move(outputs)), batches_(batches), options_(options) {}

  // The outputs of each batch.
  absl::StatusOr<std::vector<std::vector<Tensor>>> Run(const Program& program, Scope* scope) const;

  const SampleSet* set_;
  std::vector<std::string> outputs_;
  int64_t batches_;
  BatchRunOptions options_;
  std::vector<std::vector<Tensor>> floats_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_OUTPUT_NOISE_H_
