// The largest elements along an axis, and whether the label is among them.

#ifndef FIXPOINT_RUNTIME_KERNELS_RANKING_H_
#define FIXPOINT_RUNTIME_KERNELS_RANKING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::kernels {

// The first k elements of each line in order, and where they were: the largest first, or the
// smallest. Equal ones stay as they stand; a NaN is above all. Not for two threads at once.
class TopK {
 public:
  enum class Order { kDescending, kAscending };

  // Errors (kInvalidArgument): k is not 1 to the length; those of CheckExtents (extents.h).
  static absl::StatusOr<std::unique_ptr<TopK>> Plan(const Lines& lines, int64_t k, Order order);

  // REQUIRES, here and below: x and dx have the lines' size, all others k elements for each line:
  // [outer, k, inner].
  void Run(absl::Span<const float> x, absl::Span<float> values, absl::Span<int64_t> indices);
  void Backward(absl::Span<const int64_t> indices, absl::Span<const float> dvalues,
                absl::Span<float> dx) const;

 private:
  TopK(const Lines& lines, int64_t k, Order order);

  const Lines lines_;
  const int64_t k_;
  const Order order_;
  std::vector<int64_t> places_;  // in a line
};

// The place of the first of the largest elements of each line; a NaN is largest where it is first,
// and else never. T: int32_t, int64_t. REQUIRES: the sizes are the lines'.
template <typename T>
void ArgMax(const Lines& lines, absl::Span<const float> x, absl::Span<T> places);
// The same for the smallest.
template <typename T>
void ArgMin(const Lines& lines, absl::Span<const float> x, absl::Span<T> places);

// How many rows of [rows, k] have their label among the k. REQUIRES: k indices for each label.
int64_t CountCorrect(absl::Span<const int64_t> indices, int64_t k,
                     absl::Span<const int64_t> labels);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RANKING_H_
