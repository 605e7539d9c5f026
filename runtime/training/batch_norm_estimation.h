// Statistics of batch norm that are averages over batches of the network as it is now. Running
// averages are of the network as it was while they were gathered: where weights oscillate between
// codes, another one (Nagel et al., arXiv 2203.11086).

#ifndef FIXPOINT_RUNTIME_TRAINING_BATCH_NORM_ESTIMATION_H_
#define FIXPOINT_RUNTIME_TRAINING_BATCH_NORM_ESTIMATION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"

namespace fixpoint {

// Error (kFailedPrecondition): no batch norm of the program goes by the statistics of its batch.
absl::Status CheckHasBatchNorm(const Program& program);

// Runs `program`, which does not train and whose batch norms go by the statistics of their batch
// (transpiler/freeze/estimation_program.h), on the first `batches` batches of an order, and sets
// the running mean and variance of each of these batch norms to the averages over the batches; the
// variance, like that of training, is biased. Everything else in the scope is as it was. Returns
// how many batch norms there are.
//
// Errors: those of BatchRunner, KeptState, CheckHasBatchNorm and CheckDoesNotTrain (evaluator.h);
// kFailedPrecondition: a statistic is not finite. After an error the scope is as it was. REQUIRES:
// batches >= 1.
absl::StatusOr<int> EstimateBatchNorm(const Program& program, int64_t batches, const SampleSet* set,
                                      const BatchRunOptions& options, Scope* scope);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_BATCH_NORM_ESTIMATION_H_
