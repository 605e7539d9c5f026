#include "transpiler/weights/sample_runs.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/data/batcher.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/executor.h"
#include "runtime/shared_program.h"
#include "runtime/thread_count.h"

namespace fixpoint {
namespace {

// An executor with a program of its own, which threads cannot share.
struct Worker {
  explicit Worker(Program copy) : program(std::move(copy)) {}

  const Program program;
  std::unique_ptr<executor::Executor> executor;
};

int64_t BatchesOf(const MethodRun& run, int64_t batch_size) {
  const int64_t wanted = (run.samples + batch_size - 1) / batch_size;
  return std::min(std::max<int64_t>(wanted, 1), run.batches->batcher().BatchesPerEpoch());
}

}  // namespace

absl::Status RunOnThreads(int threads, int count, const std::function<absl::Status(int)>& work) {
  std::vector<absl::Status> results(count);
  std::atomic<int> next{0};
  const auto run = [&] {
    for (int i = next++; i < count; i = next++) results[i] = work(i);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(threads, count); ++i) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  for (absl::Status& result : results) RETURN_IF_ERROR(std::move(result));
  return absl::OkStatus();
}

absl::Status RunOnSamples(const Program& program, Scope* parameters, const MethodRun& run,
                          absl::Span<const std::string> fetches, const TakeBatch& take) {
  RETURN_IF_ERROR(CheckThreadCount(run.threads));
  Program shared = program.Clone();
  DropPersistableOfOneRun(&shared);
  RETURN_IF_ERROR(CheckWritesNoParameters(shared));
  executor::ConstantStore constants;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < run.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(shared.Clone()));
    executor::ExecutorOptions options;
    options.constants = &constants;
    options.scope_is_shared = true;
    ASSIGN_OR_RETURN(workers.back()->executor,
                     executor::Executor::Create(workers.back()->program, parameters, options));
  }
  RETURN_IF_ERROR(run.batches->batcher().Seek({0, 0}));
  int64_t left = 1;
  bool is_first = true;
  while (left > 0) {
    std::vector<Batch> batches;
    for (int i = 0; i < run.threads && left > 0; ++i) {
      ASSIGN_OR_RETURN(Batch batch, run.batches->batcher().Next());
      if (std::exchange(is_first, false)) {
        left = BatchesOf(run, static_cast<int64_t>(batch.samples.size()));
      }
      batches.push_back(std::move(batch));
      --left;
    }
    const auto count = static_cast<int>(batches.size());
    std::vector<std::vector<Tensor>> fetched(count);
    RETURN_IF_ERROR(RunOnThreads(run.threads, count, [&](int i) {
      return workers[i]->executor->RunInto(run.batches->FeedsOf(batches[i]), fetches, /*step=*/0,
                                           &fetched[i]);
    }));
    for (std::vector<Tensor>& of_batch : fetched) RETURN_IF_ERROR(take(std::move(of_batch)));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
