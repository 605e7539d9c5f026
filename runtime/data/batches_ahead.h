// Batches of which the next one is made on a thread of its own while the caller works with the one
// before. They are those of a batcher, bit for bit.

#ifndef FIXPOINT_RUNTIME_DATA_BATCHES_AHEAD_H_
#define FIXPOINT_RUNTIME_DATA_BATCHES_AHEAD_H_

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "runtime/data/batcher.h"

namespace fixpoint {

class BatchesAhead {
 public:
  // `batcher` outlives this, and nobody else moves it meanwhile.
  explicit BatchesAhead(Batcher* batcher) : batcher_(batcher) {}
  // Waits for a batch that is being made.
  ~BatchesAhead();
  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;

  // The batch at `position`; the one after it, unless it is at the end, is made from then on.
  // Errors: those of Batcher::Seek and Batcher::Next; what is wrong with a batch is said where it
  // is asked for.
  absl::StatusOr<Batch> At(BatchPosition position);

  // No batch from `end` on will be asked for, so that none is made.
  void EndAt(BatchPosition end);

 private:
  using Task = std::packaged_task<absl::StatusOr<Batch>()>;

  // Makes the batch where the batcher is.
  void BeginNext();
  void RunTasks();

  Batcher* const batcher_;  // the thread's, while a batch is being made
  BatchPosition next_position_;
  std::future<absl::StatusOr<Batch>> next_;  // not valid: none is made ahead

  std::mutex mutex_;
  std::condition_variable has_news_;
  Task task_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_BATCHES_AHEAD_H_
