// What is known before a run of the tensors that an array has.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_ARRAY_CONTENTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_ARRAY_CONTENTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/dims.h"

namespace fixpoint::executor {

struct ArrayContents {
  // The most places that it has; nothing: a run decides.
  std::optional<int64_t> most_size;
  // The extents of the tensor in each place, {} in one without; nothing: a run decides.
  std::optional<std::vector<Dims>> tensors;

  static ArrayContents Of(std::vector<Dims> tensors);
  // A tensor is written. Nothing: a run decides in which place; or what its extents are.
  void Write(std::optional<int64_t> place, const std::optional<Dims>& dims);
};

// Of an array that has one or the other.
ArrayContents OneOf(const ArrayContents& a, const ArrayContents& b);

// Of an array whose tensors are those of both, where it has none as long as they have.
ArrayContents Union(const ArrayContents& a, const ArrayContents& b);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_ARRAY_CONTENTS_H_
