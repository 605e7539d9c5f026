// A plan: what one run of a program on tensors of known shapes consists of. Steps in order, over
// buffers whose place in memory is decided. It says all that a run needs; nothing is looked up,
// allocated or made while it runs.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLAN_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLAN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/program.h"
#include "proto/program.pb.h"
#include "runtime/random.h"

namespace fixpoint::executor {

struct TensorType {
  VarType::Type dtype = VarType::FP32;
  Dims dims;

  // Elements; the largest int64 of dims that no tensor can have (TensorSize).
  int64_t size() const;

  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.dims == b.dims;
  }
  friend bool operator!=(const TensorType& a, const TensorType& b) { return !(a == b); }
};

// How the elements of a tensor lie in memory. kChannelsLast is of [batch, channels, height, width]
// alone: the channels of one place lie beside each other.
enum class Layout { kRowMajor, kChannelsLast };

// Elements in memory, by their number in the plan.
struct Buffer {
  int index = -1;
  int64_t size = 0;  // elements

  friend bool operator==(const Buffer& a, const Buffer& b) { return a.index == b.index; }
  friend bool operator!=(const Buffer& a, const Buffer& b) { return !(a == b); }
};

struct BufferInfo {
  enum class Place {
    kArena,  // memory of the executor that buffers take in turn
    kScope,  // a persistable variable's tensor
    kFeed,   // what a run is given
  };
  std::string name;  // of the variable, with what it holds of it where that is not the value itself
  TensorType type;
  Layout layout = Layout::kRowMajor;
  Place place = Place::kArena;
  // Of kArena. The steps between which it holds something, and where; -1: no step touches it.
  int first_step = -1;
  int last_step = -1;
  int64_t offset = -1;

  // REQUIRES: TensorBytes has no error.
  int64_t bytes() const;
};

// What a step sees while it runs.
class StepContext {
 public:
  StepContext(absl::Span<uint8_t* const> addresses, uint64_t seed, uint32_t step)
      : addresses_(addresses), seed_(seed), step_(step) {}

  // REQUIRES: T is the C++ type of the buffer's elements.
  template <typename T>
  absl::Span<T> Of(Buffer buffer) const {
    return absl::Span<T>(reinterpret_cast<T*>(addresses_[buffer.index]),
                         static_cast<size_t>(buffer.size));
  }
  absl::Span<float> Floats(Buffer buffer) const { return Of<float>(buffer); }

  // The numbers that op `op` of the program draws: those of its own `seed`, the same in every run
  // and in every op with it; where that is 0, numbers of its own in each run.
  RandomStream Random(uint32_t op, int64_t seed) const {
    return seed != 0 ? RandomStream(static_cast<uint64_t>(seed), 0, 0)
                     : RandomStream(seed_, op, step_);
  }

 private:
  absl::Span<uint8_t* const> addresses_;
  uint64_t seed_;
  uint32_t step_;
};

struct Step {
  std::string name;            // "conv2d", "to channels last"
  const Op* op = nullptr;      // for which it runs; null of what is done for the run itself
  std::string implementation;  // of a kernel that has several; "" else
  std::vector<Buffer> reads;
  std::vector<Buffer> writes;
  int64_t operations = 0;  // multiplications and additions of a product or convolution
  // Error: what of the values is wrong, without naming the op.
  std::function<absl::Status(const StepContext&)> run;
};

struct Plan {
  struct Binding {
    std::string name;  // of a variable
    Buffer buffer;
  };
  std::vector<BufferInfo> buffers;
  std::vector<Step> steps;
  std::vector<Binding> feeds;
  std::vector<Binding> persistables;
  // A view has other dimensions than its buffer.
  struct Fetch : Binding {
    Dims dims;
  };
  std::vector<Fetch> fetches;
  int64_t arena_bytes = 0;
};

// The plan as text: its buffers' memory and its steps, one a line.
std::string PlanText(const Plan& plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLAN_H_
