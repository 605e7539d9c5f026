// A set of samples that tells what is read of it.

#ifndef FIXPOINT_TESTS_TESTING_WATCHED_SAMPLES_H_
#define FIXPOINT_TESTS_TESTING_WATCHED_SAMPLES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {

class WatchedSamples final : public SampleSet {
 public:
  // What is called before samples are read, on the thread that reads them; its error is that of
  // reading them.
  using OnRead = std::function<absl::Status(absl::Span<const int64_t> samples)>;
  // Likewise where samples are told to be read next.
  using OnWillRead = std::function<void(absl::Span<const int64_t> samples)>;

  // `set` outlives this.
  WatchedSamples(
      const SampleSet* set, OnRead on_read,
      OnWillRead on_will_read = [](absl::Span<const int64_t>) {})
      : set_(set), on_read_(std::move(on_read)), on_will_read_(std::move(on_will_read)) {}

  int64_t size() const override { return set_->size(); }
  absl::Span<const SampleField> fields() const override { return set_->fields(); }
  std::string NameOf(int64_t sample) const override { return set_->NameOf(sample); }
  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                           absl::Span<const FieldForm> forms) const override {
    const absl::Status status = on_read_(samples);
    if (!status.ok()) return status;
    return set_->Read(samples, forms);
  }
  void WillRead(absl::Span<const int64_t> samples) const override { on_will_read_(samples); }
  absl::StatusOr<uint64_t> Checksum() const override { return set_->Checksum(); }

 private:
  const SampleSet* set_;
  const OnRead on_read_;
  const OnWillRead on_will_read_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_WATCHED_SAMPLES_H_
