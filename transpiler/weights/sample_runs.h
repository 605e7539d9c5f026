// Runs of a program of inference on the samples of a method.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_SAMPLE_RUNS_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_SAMPLE_RUNS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/weights/method_run.h"

namespace fixpoint {

// Takes in what the variables that were fetched hold after a batch.
using TakeBatch = std::function<absl::Status(std::vector<Tensor> fetched)>;

// Runs the program on the batches of `run`, each on one thread, several at once, and calls `take`
// for each in their order; so what it sees does not depend on the number of threads. Errors: those
// of `take`, of CheckThreadCount, CheckWritesNoParameters (runtime/shared_program.h), samples, and
// Executor::Create and Run.
absl::Status RunOnSamples(const Program& program, Scope* parameters, const MethodRun& run,
                          absl::Span<const std::string> fetches, const TakeBatch& take);

// Calls `work` for 0 to count - 1, on at most so many threads; the first error in this order.
absl::Status RunOnThreads(int threads, int count, const std::function<absl::Status(int)>& work);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_SAMPLE_RUNS_H_
