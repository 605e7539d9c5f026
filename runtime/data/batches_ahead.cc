#include "runtime/data/batches_ahead.h"

#include <system_error>
#include <utility>

#include "proto/base/status_macros.h"

namespace fixpoint {

BatchesAhead::~BatchesAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  has_news_.notify_one();
  thread_.join();
}

absl::StatusOr<Batch> BatchesAhead::At(BatchPosition position) {
  std::future<absl::StatusOr<Batch>> next = std::move(next_);
  if (next.valid()) next.wait();
  absl::StatusOr<Batch> batch = [&]() -> absl::StatusOr<Batch> {
    if (next.valid() && next_position_ == position) return next.get();
    RETURN_IF_ERROR(batcher_->Seek(position));
    return batcher_->Next();
  }();
  if (batch.ok() && !batcher_->IsAtEnd()) BeginNext();
  return batch;
}

void BatchesAhead::EndAt(BatchPosition end) {
  if (next_.valid()) next_.wait();
  batcher_->EndAt(end);
}

void BatchesAhead::BeginNext() {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { RunTasks(); });
    } catch (const std::system_error&) {
      return;  // Without a thread it is made when it is asked for.
    }
  }
  next_position_ = batcher_->Position();
  Task task([this] { return batcher_->Next(); });
  next_ = task.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    task_ = std::move(task);
  }
  has_news_.notify_one();
}

void BatchesAhead::RunTasks() {
  for (;;) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      has_news_.wait(lock, [this] { return is_ending_ || task_.valid(); });
      if (is_ending_) return;
      task = std::move(task_);
    }
    task();
  }
}

}  // namespace fixpoint
