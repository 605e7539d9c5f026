// Copies between tensors whose elements lie in memory in different orders: transposed, sliced,
// joined, split, expanded.

#ifndef FIXPOINT_RUNTIME_KERNELS_STRIDED_COPY_H_
#define FIXPOINT_RUNTIME_KERNELS_STRIDED_COPY_H_

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"

namespace fixpoint::kernels {

// Where element (i, j, ...) of some dims is in memory: offset + i * strides[0] + j * strides[1]
// + ..., in elements. A stride may be negative, and 0 where an element is read again and again.
struct StridedLayout {
  int64_t offset = 0;
  Dims strides;
};

// Elements of those dims one after the other, the last dimension fastest.
StridedLayout RowMajorLayout(DimsView dims);

// The layout of a transposition: the result's dimension i is x's dimension permutation[i].
StridedLayout TransposedLayout(DimsView x, DimsView permutation);

// The layout of a part of x: elements starts[i], starts[i] + steps[i], ... along dimension i.
// Joined tensors go to such parts.
StridedLayout SlicedLayout(DimsView x, DimsView starts, DimsView steps);

// to = from, element by element.
class StridedCopy {
 public:
  // Errors (kInvalidArgument): those of CheckExtents (extents.h); not one stride for each dim; a
  // layout reaches in front of its tensor.
  static absl::StatusOr<std::unique_ptr<StridedCopy>> Plan(DimsView dims, const StridedLayout& from,
                                                           const StridedLayout& to);

  // T is float, int64_t, int32_t, int16_t, int8_t or uint8_t. REQUIRES: the layouts stay inside of
  // the spans.
  template <typename T>
  void Run(absl::Span<const T> from, absl::Span<T> to) const;

 private:
  // Dimensions that both layouts traverse with one stride are merged.
  struct Level {
    int64_t size;
    int64_t from_stride;
    int64_t to_stride;
  };

  using Levels = absl::InlinedVector<Level, 9>;  // the two innermost are copied as one block

  StridedCopy() = default;

  template <typename T>
  static void CopyLevels(const Levels& levels, const T* from, T* to);

  Levels levels_;
  int64_t from_offset_ = 0;
  int64_t to_offset_ = 0;
  int64_t from_size_ = 0;  // the size that the layouts reach
  int64_t to_size_ = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_STRIDED_COPY_H_
