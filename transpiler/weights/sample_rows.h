// The values of a variable for many samples, from which batches are put together.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_SAMPLE_ROWS_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_SAMPLE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/checksum.h"
#include "runtime/tensor.h"

namespace fixpoint {

class SampleRows {
 public:
  // Keeps at most so many bytes, and drops what is appended later; one row in any case.
  explicit SampleRows(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Appends the rows of a tensor along its first axis.
  void Append(const Tensor& tensor);

  // Why what was appended is no rows of one kind; "": it is.
  const std::string& why_not() const { return why_not_; }
  int64_t size() const { return size_; }
  // With those that were dropped.
  int64_t appended() const { return appended_; }

  // The rows of these indices, one after another. Error (kFailedPrecondition): there is no memory.
  absl::StatusOr<Tensor> Gather(absl::Span<const int64_t> rows) const;
  // Adds the values of all rows.
  void AddTo(Checksum* checksum) const;

 private:
  const int64_t most_bytes_;
  std::vector<int64_t> dims_;  // of a row
  int64_t row_size_ = 0;
  int64_t size_ = 0;
  int64_t appended_ = 0;
  std::string why_not_;
  std::vector<float> values_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_SAMPLE_ROWS_H_
