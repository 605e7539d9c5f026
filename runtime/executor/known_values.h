// Values that are known while a plan is made: what steps compute from shapes and attributes alone.
// What depends on them, such as a shape that a tensor gives, can be planned.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_KNOWN_VALUES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_KNOWN_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "runtime/executor/plan.h"
#include "runtime/memory.h"

namespace fixpoint::executor {

class KnownValues {
 public:
  // Has to be told about each step of a plan, in order, with the plan's buffers. A step that reads
  // only known values and writes few elements is run at once, and its results are known.
  void Note(const Step& step, absl::Span<const BufferInfo> buffers);
  // Says what the elements of a buffer are. They are not known if it has not as many, or its type
  // does not hold them; or if they are integers that a double may have rounded.
  void Set(Buffer buffer, absl::Span<const double> numbers, absl::Span<const BufferInfo> buffers);
  void Forget(Buffer buffer) { elements_.erase(buffer.index); }
  // The elements of a buffer, as numbers; nothing if they are unknown.
  std::optional<std::vector<double>> Find(Buffer buffer,
                                          absl::Span<const BufferInfo> buffers) const;

 private:
  absl::flat_hash_map<int, Memory> elements_;  // of buffers, by number
  std::vector<uint8_t*> addresses_;  // of all buffers; those of the last step's buffers are set
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_KNOWN_VALUES_H_
