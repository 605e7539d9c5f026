#include "transpiler/weights/sample_rows.h"

#include <algorithm>

#include "proto/base/status_macros.h"

namespace fixpoint {

void SampleRows::Append(const Tensor& tensor) {
  if (tensor.dtype() != VarType::FP32 || tensor.dims().empty()) {
    why_not_ = "what it reads or computes is no FP32 with an axis of samples";
    return;
  }
  const std::vector<int64_t> dims(tensor.dims().begin() + 1, tensor.dims().end());
  const int64_t rows = tensor.dims().front();
  if (rows == 0) return;
  if (size_ == 0) {
    dims_ = dims;
    row_size_ = tensor.size() / rows;
  } else if (dims != dims_) {
    why_not_ = "its samples have unlike extents";
    return;
  }
  const int64_t row_bytes = row_size_ * static_cast<int64_t>(sizeof(float));
  const int64_t most = row_bytes == 0 ? 1 : std::max<int64_t>(most_bytes_ / row_bytes, 1);
  const int64_t taken = std::min(rows, most - size_);
  const absl::Span<const float> values = tensor.data<float>().subspan(0, taken * row_size_);
  values_.insert(values_.end(), values.begin(), values.end());
  size_ += taken;
  appended_ += rows;
}

absl::StatusOr<Tensor> SampleRows::Gather(absl::Span<const int64_t> rows) const {
  std::vector<int64_t> dims = {static_cast<int64_t>(rows.size())};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(VarType::FP32, std::move(dims)));
  float* to = batch.mutable_data<float>().data();
  for (const int64_t row : rows) {
    to = std::copy_n(values_.data() + row * row_size_, row_size_, to);
  }
  return batch;
}

void SampleRows::AddTo(Checksum* checksum) const {
  checksum->Add({reinterpret_cast<const uint8_t*>(values_.data()), values_.size() * sizeof(float)});
}

}  // namespace fixpoint
