// What the elements of a tensor are, in a few numbers.

#ifndef FIXPOINT_RUNTIME_TENSOR_SUMMARY_H_
#define FIXPOINT_RUNTIME_TENSOR_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/tensor.h"

namespace fixpoint {

struct TensorSummary {
  struct Range {
    double smallest = 0;
    double largest = 0;
    double mean = 0;
  };
  std::optional<Range> range;  // of the elements that are finite, if there are any
  int64_t not_finite = 0;      // how many elements are not
  std::vector<double> first;   // elements
};

// Of any element type; 64-bit integers are rounded to doubles, and a BOOL is 0 or 1. Complex
// numbers, which have no order, have neither a range nor first elements. `first`: how many elements
// to give, if the tensor has as many.
TensorSummary Summarize(const Tensor& tensor, int64_t first);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TENSOR_SUMMARY_H_
