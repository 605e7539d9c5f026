// A tensor: element type, extents, offsets of sequences and elements, row major. It can be moved
// but not copied; Clone copies explicitly.

#ifndef FIXPOINT_RUNTIME_TENSOR_H_
#define FIXPOINT_RUNTIME_TENSOR_H_

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/lod.h"
#include "proto/wire/program.pb.h"
#include "runtime/memory.h"

namespace fixpoint {

// Bytes of one element; 0 for a type that is no element type (LOD_TENSOR, STRING, ...).
size_t ElementSize(VarType::Type dtype);

// The product of the extents; 1 for a scalar, which has none. kInvalidArgument where an extent is
// negative, or where the product of those that are not 0 exceeds int64.
absl::StatusOr<int64_t> TensorSize(absl::Span<const int64_t> dims);

// Bytes of the elements. kInvalidArgument as TensorSize, or where dtype is not one of elements.
absl::StatusOr<int64_t> TensorBytes(VarType::Type dtype, absl::Span<const int64_t> dims);

// The data type whose elements are of the C++ type T. FP16 and BF16 have no C++ type: their tensors
// are read as bytes().
template <typename T>
constexpr VarType::Type DataTypeOf() = delete;
template <>
constexpr VarType::Type DataTypeOf<bool>() {
  return VarType::BOOL;
}
template <>
constexpr VarType::Type DataTypeOf<int8_t>() {
  return VarType::INT8;
}
template <>
constexpr VarType::Type DataTypeOf<uint8_t>() {
  return VarType::UINT8;
}
template <>
constexpr VarType::Type DataTypeOf<int16_t>() {
  return VarType::INT16;
}
template <>
constexpr VarType::Type DataTypeOf<int32_t>() {
  return VarType::INT32;
}
template <>
constexpr VarType::Type DataTypeOf<int64_t>() {
  return VarType::INT64;
}
template <>
constexpr VarType::Type DataTypeOf<uint64_t>() {
  return VarType::SIZE_T;
}
template <>
constexpr VarType::Type DataTypeOf<float>() {
  return VarType::FP32;
}
template <>
constexpr VarType::Type DataTypeOf<double>() {
  return VarType::FP64;
}
template <>
constexpr VarType::Type DataTypeOf<std::complex<float>>() {
  return VarType::COMPLEX64;
}
template <>
constexpr VarType::Type DataTypeOf<std::complex<double>>() {
  return VarType::COMPLEX128;
}

class Tensor {
 public:
  // Elements start at a multiple of this many bytes.
  static constexpr size_t kAlignment = kMemoryAlignment;

  // A tensor whose elements are not initialised, in memory of its own or, while there is some left,
  // from a block. kInvalidArgument as TensorBytes; kFailedPrecondition if the system has no such
  // memory.
  static absl::StatusOr<Tensor> Allocate(VarType::Type dtype, std::vector<int64_t> dims,
                                         MemoryBlock* block = nullptr);

  // REQUIRES: as many values as dims have elements.
  template <typename T>
  static Tensor FromValues(std::vector<int64_t> dims, absl::Span<const T> values) {
    Tensor tensor = AllocateOrDie(DataTypeOf<T>(), std::move(dims), values.size());
    std::copy(values.begin(), values.end(), tensor.mutable_data<T>().begin());
    return tensor;
  }

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  // A copy. kFailedPrecondition where the system has no memory for it.
  absl::StatusOr<Tensor> Clone() const;

  VarType::Type dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t size() const { return size_; }

  const LoD& lod() const { return lod_; }
  void set_lod(LoD lod) { lod_ = std::move(lod); }

  // The elements as they lie in memory.
  absl::Span<const uint8_t> bytes() const { return {memory_.get(), byte_size()}; }
  absl::Span<uint8_t> mutable_bytes() { return {memory_.get(), byte_size()}; }

  // REQUIRES: dtype() is DataTypeOf<T>().
  template <typename T>
  absl::Span<const T> data() const {
    CheckHolds(DataTypeOf<T>());
    // Not in braces: a pointer and a size are two elements of a Span<const bool> there.
    return absl::Span<const T>(reinterpret_cast<const T*>(memory_.get()),
                               static_cast<size_t>(size_));
  }
  template <typename T>
  absl::Span<T> mutable_data() {
    CheckHolds(DataTypeOf<T>());
    return {reinterpret_cast<T*>(memory_.get()), static_cast<size_t>(size_)};
  }

 private:
  Tensor(VarType::Type dtype, std::vector<int64_t> dims, int64_t size,
         std::shared_ptr<uint8_t> memory);

  static Tensor AllocateOrDie(VarType::Type dtype, std::vector<int64_t> dims, size_t size);

  size_t byte_size() const { return static_cast<size_t>(size_) * ElementSize(dtype_); }
  void CheckHolds(VarType::Type wanted) const;

  VarType::Type dtype_;
  std::vector<int64_t> dims_;
  int64_t size_;
  LoD lod_;
  std::shared_ptr<uint8_t> memory_;  // that no other tensor has
};

// The rows `rows` of a tensor [height, ...], all others 0; `value` is [rows.size(), ...]. A row
// that is named twice is the sum of both.
struct SelectedRows {
  std::vector<int64_t> rows;
  int64_t height;
  Tensor value;

  // As Tensor::Clone.
  absl::StatusOr<SelectedRows> Clone() const;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TENSOR_H_
