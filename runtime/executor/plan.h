// A plan: what one run of a program on tensors of known shapes consists of. Steps in order, over
// buffers whose place in memory is decided. It contains all that a run needs; nothing is looked up,
// allocated or created during a run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLAN_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/lod.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "runtime/kernels/element_loop.h"
#include "runtime/loop_bound.h"
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

// What a plan is made for, for a tensor that a run begins with: its offsets are known like its
// extents.
struct GivenType {
  TensorType type;
  LoD lod;
};

// How the elements of a tensor lie in memory. kChannelsLast is only for [batch, channels, height,
// width]: the channels of one place are adjacent.
enum class Layout { kRowMajor, kChannelsLast };

// Elements in memory, by their number in the plan.
struct Buffer {
  int index = -1;
  int64_t size = 0;  // elements

  friend bool operator==(const Buffer& a, const Buffer& b) { return a.index == b.index; }
  friend bool operator!=(const Buffer& a, const Buffer& b) { return !(a == b); }
};

// What a run decides of a value, of which a plan knows the most that it can be: its type's extents.
// The elements lie at the front of the value's buffer; what comes after them means nothing.
struct RunShape {
  Buffer dims;  // INT64, one for each dimension of the type
  // INT64, for each level of sequences, outermost first: how many offsets, and then those; none:
  // there is no such level in the run.
  std::vector<Buffer> offsets;
  bool only_rows = true;   // whether the other extents are those of the type
  const Op* op = nullptr;  // whose step writes dims and offsets

  bool has_offsets() const { return !offsets.empty(); }
  // Both.
  std::vector<Buffer> buffers() const;
};

struct BufferInfo {
  enum class Place {
    kArena,  // memory of the executor that buffers share over time
    kScope,  // a persistable variable's tensor
    kFeed,   // an input of a run
    // Computed once (constants.h): memory of its own, in a block's plan in that of the block; or of
    // constant steps while they run.
    kConstant,
    kConstantScratch,
  };
  std::string name;  // of the variable, and what this holds of it if not its value
  TensorType type;
  Layout layout = Layout::kRowMajor;
  Place place = Place::kArena;
  // For kArena and kConstantScratch: the first and the last step that touch it, and where; -1: no
  // step touches it. In a block's plan, where kConstant is, too.
  int first_step = -1;
  int last_step = -1;
  int64_t offset = -1;
  std::optional<RunShape> run_shape = std::nullopt;

  // REQUIRES: TensorBytes has no error.
  int64_t bytes() const;
};

// What all steps of a run share.
struct RunState {
  uint64_t seed = 0;
  uint32_t step = 0;
  // Whether a step that writes an FP32 that is not finite ends the run.
  bool check_finite = false;
  uint32_t op_count = 0;            // of the program
  absl::Span<uint32_t> block_runs;  // for each block of the program, how often it has run
  LoopBound* loops = nullptr;       // of this run; null for steps that run no block
};

// What a step sees while it runs.
class StepContext {
 public:
  // `repeat`: how often the step's block has run before in this run.
  StepContext(absl::Span<uint8_t* const> addresses, const RunState& state, uint32_t repeat = 0)
      : addresses_(addresses), state_(state), repeat_(repeat) {}

  const RunState& state() const { return state_; }

  // REQUIRES: T is the C++ type of the buffer's elements.
  template <typename T>
  absl::Span<T> Of(Buffer buffer) const {
    return absl::Span<T>(reinterpret_cast<T*>(addresses_[buffer.index]),
                         static_cast<size_t>(buffer.size));
  }
  absl::Span<float> Floats(Buffer buffer) const { return Of<float>(buffer); }
  // Elements that a run decides; `most` if it decides nothing.
  int64_t CountOf(const std::optional<RunShape>& shape, int64_t most) const {
    if (!shape) return most;
    int64_t count = 1;
    for (const int64_t dim : Of<int64_t>(shape->dims)) count *= dim;
    return count;
  }

  // The random numbers that op `op` of the program draws: those of its own `seed`, the same in
  // every run and in every op with it; if that is 0, its own numbers in each run, and each time
  // that a loop reaches it.
  RandomStream Random(uint32_t op, int64_t seed) const {
    return seed != 0 ? RandomStream(static_cast<uint64_t>(seed), 0, 0)
                     : RandomStream(state_.seed, op + repeat_ * state_.op_count, state_.step);
  }

 private:
  absl::Span<uint8_t* const> addresses_;
  const RunState& state_;
  uint32_t repeat_;
};

struct Plan;

// What a step does for `size` elements, each from those at its place in the tensors that it reads.
// If a step is nothing but such loops, one after the other, it may be fused with others (fusion.h).
struct ElementLoop {
  struct Operand {
    Buffer buffer;
    kernels::Repetition repetition;  // in the elements of the loop
  };
  int64_t size;
  std::vector<Operand> reads;
  // With an element for each; or what the terms that the loop computes are folded into.
  Buffer result;
  std::optional<kernels::Folding> folding = std::nullopt;
  kernels::BlockLoop run;
  int64_t row = 1;  // elements that are computed together (FusedLoop)
};

struct Step {
  std::string name;            // "conv2d", "to channels last"
  const Op* op = nullptr;      // for which it runs; null for a step of the run itself
  std::string implementation;  // of a kernel that has several; "" else
  std::vector<Buffer> reads;
  std::vector<Buffer> writes;
  int64_t operations = 0;  // multiplications and additions of a product or convolution
  // Error: which values are wrong, without naming the op.
  std::function<absl::Status(const StepContext&)> run;
  std::shared_ptr<const Plan> block = nullptr;  // that it runs, over memory of its own
  // Whether it does something in each run, whatever it reads: it draws random numbers, or shows a
  // value.
  bool in_each_run = false;
  std::vector<ElementLoop> loops = {};    // that `run` consists of; none: of something else
  std::vector<const Op*> other_ops = {};  // whose work it does besides, after that of `op`
  // Of products of codes of 8 bits: how fast they are as a multiple of those of floats
  // (runtime/kernels/integer_sums.h).
  std::optional<double> beside_floats = std::nullopt;
  // Whether what it writes follows from what it reads alone, so that it may be computed again
  // (recomputing.h).
  bool is_repeatable = false;
  // Whether it computes again what a step before it wrote; in between, the memory is free.
  bool is_again = false;

  // Rates are good to a twentieth.
  bool is_slower_than_floats() const { return beside_floats && *beside_floats < 0.95; }
  // Its name with its kernel and, if that is slower than one of floats, how fast it is:
  // "integer_mul <loops:avx2, 0.89 of the speed of floats>".
  std::string NameWithKernel() const;
};

struct Plan {
  struct Binding {
    std::string name;  // of a variable
    Buffer buffer;
  };
  struct Persistable {
    std::string name;
    Buffer buffer;
    // The offsets that its tensor has at entry: nothing if no op reads it. And when a run ends:
    // nothing if no op writes it.
    std::optional<LoD> lod_before = std::nullopt;
    std::optional<LoD> lod_after = std::nullopt;
  };
  // A variable's last value, in a buffer of as many elements.
  struct Fetch {
    std::string name;
    Buffer buffer;
    TensorType type;
    LoD lod;
    std::optional<RunShape> run_shape = std::nullopt;

    // All that is read for it when the steps have run.
    std::vector<Buffer> buffers() const;
  };
  std::vector<BufferInfo> buffers;
  std::vector<Step> steps;
  std::vector<Step> constant_steps;  // that run once, of a block in a run of its op, before others
  std::vector<Binding> feeds;
  std::vector<Persistable> persistables;
  // Buffers of kScope that share the place of a persistable's buffer.
  struct InTensor {
    Buffer buffer;
    Buffer tensor;
  };
  std::vector<InTensor> in_tensors;
  std::vector<Fetch> fetches;
  int64_t arena_bytes = 0;
  int64_t constant_scratch_bytes = 0;
};

// The extents and offsets that a run decided. Error (kInternal): an extent is not 0 to that of the
// type.
absl::StatusOr<GivenType> ShapeInRun(const TensorType& most, const RunShape& shape,
                                     const StepContext& run);

// Completes the addresses of buffers: those of kScope that lie in persistables' tensors.
void AddressInTensors(const Plan& plan, absl::Span<uint8_t*> addresses);

// An error of a step, with the op for which it runs or its own name.
absl::Status AtStep(const Step& step, const absl::Status& status);

// Runs the steps in order. Error: that of a step, prefixed with its op; an exception of a step
// becomes one (runtime/guarded_call.h).
absl::Status RunSteps(const Plan& plan, const StepContext& run);
// One of them.
absl::Status RunStep(const Plan& plan, const Step& step, const StepContext& run);

// The plan as text: its buffers' memory and its steps, one a line.
std::string PlanText(const Plan& plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLAN_H_
