// Copies of elements by their places along each axis: the nearest elements of resized images,
// padding, slices with steps, flips.

#ifndef FIXPOINT_RUNTIME_KERNELS_PLACED_COPY_H_
#define FIXPOINT_RUNTIME_KERNELS_PLACED_COPY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"

namespace fixpoint::kernels {

// Where the elements of a result along an axis come from; empty: each from its own place.
using Places = std::vector<int32_t>;
// What no element is copied to.
inline constexpr int32_t kNoPlace = -1;

// to[i, j, ...] = from[places[0][i], places[1][j], ...], and `filling` where one of them is
// kNoPlace.
class PlacedCopy {
 public:
  // `from`: the dims of what is copied, with places for each. Errors (kInvalidArgument): those of
  // CheckExtents (extents.h); a place is outside of its axis.
  static absl::StatusOr<std::unique_ptr<PlacedCopy>> Plan(DimsView from,
                                                          const std::vector<Places>& places);

  // T is uint8_t, int32_t or int64_t. REQUIRES: the sizes are those of the dims.
  template <typename T>
  void Run(absl::Span<const T> from, T filling, absl::Span<T> to) const;

 private:
  // Neighbours of the innermost axis that are neighbours in both tensors, or that have no place.
  struct Stretch {
    int64_t to;
    int64_t from;  // kNoPlace
    int64_t size;
  };
  struct Axis {
    Places places;  // empty: each its own
    int64_t size;
    int64_t stride;  // in `from`
  };

  PlacedCopy() = default;

  // A row has an element, or `inner` of them, for each place on the innermost axis.
  void SetRow(Places places, int64_t inner);

  // The first element of a row's source, or kNoPlace.
  int64_t SourceOf(int64_t row) const;
  template <typename T>
  void CopyRow(const T* from, T filling, T* to) const;

  std::vector<Axis> outer_;         // those around the innermost one
  std::vector<Stretch> stretches_;  // of a row
  Places gathered_;  // of the innermost axis, if its stretches are short and of single elements
  int64_t rows_ = 1;
  int64_t row_size_ = 1;
  int64_t from_size_ = 1;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PLACED_COPY_H_
