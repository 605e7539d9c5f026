// Samples that nobody reads any more once the process is interrupted: work that reads samples all
// the time then ends soon.

#ifndef FIXPOINT_TOOLS_INTERRUPTIBLE_SAMPLES_H_
#define FIXPOINT_TOOLS_INTERRUPTIBLE_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {

class InterruptibleSamples : public SampleSet {
 public:
  explicit InterruptibleSamples(std::unique_ptr<SampleSet> set) : set_(std::move(set)) {}

  int64_t size() const override { return set_->size(); }
  absl::Span<const SampleField> fields() const override { return set_->fields(); }
  std::string Note() const override { return set_->Note(); }
  std::string NameOf(int64_t sample) const override { return set_->NameOf(sample); }
  // Error: also kCancelled, after the first signal (tools/interruption.h).
  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                           absl::Span<const FieldForm> forms) const override;
  void WillRead(absl::Span<const int64_t> samples) const override { set_->WillRead(samples); }
  absl::StatusOr<uint64_t> Checksum() const override { return set_->Checksum(); }

 private:
  const std::unique_ptr<SampleSet> set_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INTERRUPTIBLE_SAMPLES_H_
