#include "tools/interruptible_samples.h"

#include "absl/status/status.h"
#include "tools/interruption.h"

namespace fixpoint {

absl::StatusOr<std::vector<Tensor>> InterruptibleSamples::Read(
    absl::Span<const int64_t> samples, absl::Span<const FieldForm> forms) const {
  if (IsInterrupted()) return absl::CancelledError("interrupted");
  return set_->Read(samples, forms);
}

}  // namespace fixpoint
