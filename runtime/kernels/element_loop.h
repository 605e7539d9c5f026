// Loops over elements that can run on any part of a tensor, so that several of them can run one
// after the other on a part that stays in the cache (fused_loops.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_ELEMENT_LOOP_H_
#define FIXPOINT_RUNTIME_KERNELS_ELEMENT_LOOP_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// How a tensor repeats for the elements of a larger one, which are numbered as they lie in memory:
// element i of that goes with element i / inner % count of the tensor, which has `count` elements.
struct Repetition {
  int64_t count = 1;
  int64_t inner = 1;

  friend bool operator==(const Repetition& a, const Repetition& b) {
    return a.count == b.count && a.inner == b.inner;
  }
};

// How the terms that a loop computes are combined, where they are not what is wanted: in double, as
// ParallelFold does (parallel_for.h) if `places` is 1; else as LaneFold does (lane_sums.h) for each
// of so many runs of equally many terms. The result, a float for each place, is what they combine
// to times `factor`.
struct Folding {
  enum class How { kAdd, kMultiply, kMax, kMin };
  How how = How::kAdd;
  int64_t places = 1;
  double factor = 1;
};

// What a loop sees of its tensors.
class ElementBlock {
 public:
  struct Operand {
    const uint8_t* elements;
    int64_t size;  // that of the block; or 1: an element that repeats; or of a tensor that is whole
  };
  ElementBlock(absl::Span<const Operand> operands, int64_t size, uint8_t* result)
      : operands_(operands), size_(size), result_(result) {}

  // REQUIRES, here and below: T is the type of the elements.
  template <typename T>
  absl::Span<const T> In(int operand) const {
    return absl::Span<const T>(reinterpret_cast<const T*>(operands_[operand].elements),
                               static_cast<size_t>(operands_[operand].size));
  }
  template <typename T>
  absl::Span<T> Out() const {
    return absl::Span<T>(reinterpret_cast<T*>(result_), static_cast<size_t>(size_));
  }

 private:
  absl::Span<const Operand> operands_;
  int64_t size_;
  uint8_t* result_;
};

// Computes the elements of a block's result, each from those of its operands at its place, which it
// may overwrite; or rows of elements from such rows. For any number of threads at once.
using BlockLoop = std::function<void(const ElementBlock&)>;

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ELEMENT_LOOP_H_
