// An array of tensors while a program runs. It keeps its memory from run to run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_TENSOR_ARRAY_H_
#define FIXPOINT_RUNTIME_EXECUTOR_TENSOR_ARRAY_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/lod.h"

namespace fixpoint::executor {

class TensorArray {
 public:
  // No array is longer: places come from files.
  static constexpr int64_t kMostElements = int64_t{1} << 20;

  struct Element {
    bool is_set = false;
    std::vector<int64_t> dims;
    LoD lod;
    std::vector<uint8_t> bytes;  // row major
  };

  void Clear();
  // Null if nothing was written there since Clear. Stays valid until then.
  const Element* Find(int64_t place) const;
  // The element to write. REQUIRES: 0 <= place < kMostElements.
  Element& Set(int64_t place);
  // One more than the last place that was written.
  int64_t size() const { return size_; }

 private:
  std::deque<Element> elements_;
  int64_t size_ = 0;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_TENSOR_ARRAY_H_
