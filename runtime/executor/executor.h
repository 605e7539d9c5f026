// The executor: runs a program on kernels made for it. For each set of shapes, and of offsets of
// sequences, that it is fed it makes a plan (plan.h) once, and then runs that.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_EXECUTOR_H_
#define FIXPOINT_RUNTIME_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/observation.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/schedule.h"
#include "runtime/loop_bound.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {

class PlanCache;
struct PlacedPlan;
struct PlannedRun;
struct ProfileRow;

struct ExecutorOptions {
  // The seed of random ops whose own seed is 0.
  uint64_t seed = 0;
  int threads = 1;
  BackwardPrecision backward = BackwardPrecision::kFloat;
  // The part of its expected time that a run may take longer, so that it needs less memory: values
  // are computed again instead of being held (recomputing.h), with the same bits.
  double recomputing = 0;
  // Whether a step that writes an FP32 that is not finite ends the run; no step then does the work
  // of two ops.
  bool check_finite = false;
  // How many iterations the loops of a run may make together before it ends with an error.
  int64_t max_iterations = kDefaultMaxIterations;
  // Whether the time of each step is measured.
  bool profile = false;
  // Not null: variables in the scope that the program does not write do not change, and what is
  // computed from them alone is computed once and shared by the executors with that store, which
  // outlives them.
  ConstantStore* constants = nullptr;
  // Not null: what runs show while they compute it (observation.h); it outlives the executor. No
  // step then does the work of the op that writes such a value and of one that reads it.
  const Observation* observation = nullptr;
  // Whether others use the scope too, so that a program that writes a variable of it is refused.
  bool scope_is_shared = false;
};

// Error (kFailedPrecondition): the machine has no instructions for such a backward pass.
absl::Status CheckBackward(BackwardPrecision precision);

// A run allocates memory for the tensors that it returns, and otherwise only for a few values: the
// multipliers of quantized channels, the phase of a schedule. Not for two threads at once.
class Executor final : public Backend {
 public:
  // Errors: those of CheckOps (planner.h), Schedule::Of, CheckThreadCount and CheckBackward.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Program& program, Scope* scope,
                                                          const ExecutorOptions& options = {});
  ~Executor() override;

  // Makes a plan when shapes or offsets of sequences are new, or variables of the scope have other
  // ones than the last time; the last plans are kept. Errors: also those of MakePlan (planner.h)
  // then; the scope is then as it was. kInvalidArgument: also a BOOL that is neither 0 nor 1, or a
  // write to a scope that is shared. Nothing is thrown. After an error of an op, the variables that
  // the scope held may have what the ops before it wrote, or their old values; it holds no new
  // ones.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Feed> feeds,
                                          absl::Span<const std::string> fetches,
                                          uint32_t step) override;

  // The same into tensors that the caller keeps, one for each fetch, or created: one that has the
  // type and dimensions of its fetch is written over.
  absl::Status RunInto(absl::Span<const Feed> feeds, absl::Span<const std::string> fetches,
                       uint32_t step, std::vector<Tensor>* fetched);

  std::string PlanText() const override;
  std::string ProfileText() const override;
  CodedProducts CountCodedProducts() const override;
  // The rows of its plans (profile.h), plan by plan, with what runs for pieces of the batch as
  // often as there are pieces; none unless times are measured.
  std::vector<ProfileRow> ProfileRows() const;

  // The plan of such a run, without the steps that run for pieces of the batch (pieces.h); it stays
  // valid until the next one is made or run.
  absl::StatusOr<const Plan*> PlanOf(absl::Span<const Feed> feeds,
                                     absl::Span<const std::string> fetches);
  // The bytes that the steps of such a run read and write (cost.h), of all pieces.
  absl::StatusOr<double> BytesMovedBy(absl::Span<const Feed> feeds,
                                      absl::Span<const std::string> fetches);

 private:
  Executor(const Program& program, Scope* scope, Schedule schedule, const ExecutorOptions& options);

  absl::Status RunUnguarded(absl::Span<const Feed> feeds, absl::Span<const std::string> fetches,
                            uint32_t step, std::vector<Tensor>* fetched);
  // What the plan writes and the scope lacks, which is moved to it when the run has ended.
  using NewTensors = std::vector<std::pair<std::string, Tensor>>;
  absl::Status Bind(PlannedRun* planned, NewTensors* created);
  absl::Status ComputeConstants(PlacedPlan* placed);
  std::shared_ptr<const Constant> FindConstant(const std::string& recipe);
  absl::Status Fetch(const PlannedRun& planned, std::vector<Tensor>* fetched) const;

  const Program& program_;
  Scope* scope_;
  const ExecutorOptions options_;
  const std::unique_ptr<PlanCache> plans_;
  MadeConstants constants_;  // those of its plans, which it finds without waiting for others
  const uint32_t op_count_;
  std::vector<uint32_t> block_runs_;  // RunState
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_EXECUTOR_H_
