#include "runtime/tensor.h"

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// The product, or nothing where it exceeds int64. REQUIRES: neither is negative.
bool Multiply(int64_t a, int64_t b, int64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

}  // namespace

size_t ElementSize(VarType::Type dtype) {
  switch (dtype) {
    case VarType::BOOL:
    case VarType::INT8:
    case VarType::UINT8:
      return 1;
    case VarType::INT16:
    case VarType::FP16:
    case VarType::BF16:
      return 2;
    case VarType::INT32:
    case VarType::FP32:
      return 4;
    case VarType::INT64:
    case VarType::FP64:
    case VarType::SIZE_T:
    case VarType::COMPLEX64:
      return 8;
    case VarType::COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

absl::StatusOr<int64_t> TensorSize(absl::Span<const int64_t> dims) {
  // An empty tensor's other extents are bounded too, so that strides never overflow.
  int64_t count = 1;
  bool empty = false;
  for (const int64_t extent : dims) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dims ", DimsText(dims), ": the extent ", extent, " is negative"));
    }
    if (extent == 0) {
      empty = true;
    } else if (!Multiply(count, extent, &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dims ", DimsText(dims), ": the number of elements exceeds 2^63 - 1"));
    }
  }
  return empty ? 0 : count;
}

absl::StatusOr<int64_t> TensorBytes(VarType::Type dtype, absl::Span<const int64_t> dims) {
  const auto element_size = static_cast<int64_t>(ElementSize(dtype));
  if (element_size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("data type ", VarType::Type_Name(dtype), " is not one of tensor elements"));
  }
  ASSIGN_OR_RETURN(const int64_t count, TensorSize(dims));
  int64_t bytes;
  if (!Multiply(count, element_size, &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dims ", DimsText(dims), ": the number of bytes exceeds 2^63 - 1"));
  }
  return bytes;
}

absl::StatusOr<Tensor> Tensor::Allocate(VarType::Type dtype, std::vector<int64_t> dims,
                                        MemoryBlock* block) {
  ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(dtype, dims));
  std::shared_ptr<uint8_t> memory = block != nullptr ? block->Take(bytes) : nullptr;
  if (memory == nullptr && bytes > 0) {
    // aligned_alloc wants a multiple of the alignment.
    const size_t padded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    memory.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, padded)), FreeMemory());
    if (memory == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("dims ", DimsText(dims), ": there is no ", "memory for ", bytes, " bytes"));
    }
  }
  const int64_t size = bytes / static_cast<int64_t>(ElementSize(dtype));
  return Tensor(dtype, std::move(dims), size, std::move(memory));
}

Tensor::Tensor(VarType::Type dtype, std::vector<int64_t> dims, int64_t size,
               std::shared_ptr<uint8_t> memory)
    : dtype_(dtype), dims_(std::move(dims)), size_(size), memory_(std::move(memory)) {}

Tensor Tensor::AllocateOrDie(VarType::Type dtype, std::vector<int64_t> dims, size_t size) {
  absl::StatusOr<Tensor> tensor = Allocate(dtype, std::move(dims));
  CHECK(tensor.ok()) << tensor.status();
  CHECK_EQ(static_cast<size_t>(tensor->size()), size);
  return *std::move(tensor);
}

absl::StatusOr<Tensor> Tensor::Clone() const {
  ASSIGN_OR_RETURN(Tensor copy, Allocate(dtype_, dims_));
  const absl::Span<const uint8_t> from = bytes();
  std::copy(from.begin(), from.end(), copy.mutable_bytes().begin());
  copy.lod_ = lod_;
  return copy;
}

absl::StatusOr<SelectedRows> SelectedRows::Clone() const {
  ASSIGN_OR_RETURN(Tensor copy, value.Clone());
  return SelectedRows{rows, height, std::move(copy)};
}

void Tensor::CheckHolds(VarType::Type wanted) const {
  CHECK_EQ(dtype_, wanted) << "the tensor holds " << VarType::Type_Name(dtype_) << ", not "
                           << VarType::Type_Name(wanted);
}

}  // namespace fixpoint
