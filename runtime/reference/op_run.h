// One op as its kernel sees it: the values of its inputs, its attributes, and where its outputs go.

#ifndef FIXPOINT_RUNTIME_REFERENCE_OP_RUN_H_
#define FIXPOINT_RUNTIME_REFERENCE_OP_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "proto/program/program_fwd.h"
#include "runtime/loop_bound.h"
#include "runtime/random.h"
#include "runtime/reference/array.h"
#include "runtime/reference/frame.h"

namespace fixpoint {

class OpSchema;

}  // namespace fixpoint

namespace fixpoint::reference {

// What distinguishes one run of an op from others.
struct RunState {
  uint64_t seed = 0;  // for ops whose own seed is 0
  uint32_t step = 0;  // how often the program ran before
  // The op's place among all ops of the program; each time that a loop reaches it again, the number
  // of the program's ops is added.
  uint32_t op = 0;
};

// Runs the blocks that ops name.
class BlockRunner {
 public:
  virtual ~BlockRunner() = default;
  virtual absl::Status RunBlock(const Block& block, Frame* frame) = 0;
  // The bound of the run's loops.
  virtual LoopBound& loops() = 0;
};

// Slots, attributes and their defaults are those of the op's schema; requesting one that it does
// not have is a defect of the kernel.
class OpRun {
 public:
  // REQUIRES: CheckForm. All arguments outlive the object.
  OpRun(const Op& op, const OpSchema& schema, int64_t version, Era era, const RunState& state,
        Frame* frame, BlockRunner* runner);

  // Looks up the inputs. Errors: kFailedPrecondition: one has no value and needs one (MayBeUnset);
  // kInvalidArgument: the step from which it is in test mode is unknown.
  absl::Status ReadInputs();
  // Moves the outputs that were set to the frame.
  void WriteOutputs();

  const Op& op() const { return op_; }
  Era era() const { return era_; }
  // The dims of a single value: [1] before 2.5, [] since.
  Dims ScalarDims() const;

  // Whether ops of this type can have such an input at all.
  bool HasInputSlot(absl::string_view slot) const;
  // The input of a slot. REQUIRES: the schema requires it, and it is no list.
  const Array& Input(absl::string_view slot) const;
  // The same for an input that may be absent: then null.
  const Array* FindInput(absl::string_view slot) const;
  // How many arguments an input slot has, with a value or without.
  int InputCount(absl::string_view slot) const;
  // Argument `index` of a list; null if it has no value. REQUIRES: there is one.
  const Array* FindInput(absl::string_view slot, int index) const;
  // All inputs of a list that have a value, in order.
  std::vector<const Array*> Inputs(absl::string_view slot) const;
  // What the variable of an output slot holds before the op: for ops that read and write one
  // variable that they name only as an output. Null if it has no value. Errors as Frame::Find.
  absl::StatusOr<const Array*> FindBefore(absl::string_view output_slot) const;

  // What the first argument of a slot holds now, which a block may have written since. Null if it
  // has no value, or there is none.
  absl::StatusOr<const Array*> FindNow(absl::string_view slot) const;
  // The blocks that the op names.
  absl::Span<const Block* const> sub_blocks() const;
  // Runs a block of the op once, its variables in a frame of their own.
  absl::Status RunBlock(const Block& block);
  // The same in a frame that NewFrame made; `forward` as in Frame.
  absl::Status RunBlock(const Block& block, Frame* frame);
  std::unique_ptr<Frame> NewFrame(const Block& block, Frame* forward = nullptr);
  // The frame of the op's own block.
  Frame& frame() { return frame_; }
  // Counts an iteration of a loop that goes on by the input of a slot. Error: there were too many.
  absl::Status BeginIteration(absl::string_view condition_slot);

  // Whether anything reads output `index` of a slot.
  bool HasOutput(absl::string_view slot, int index = 0) const;
  int OutputCount(absl::string_view slot) const;
  // Rounds to the value's type and sets the offsets from OutputLod (ops/output_lod.h); does nothing
  // if nothing reads it.
  void SetOutput(absl::string_view slot, Array value) { SetOutput(slot, 0, std::move(value)); }
  void SetOutput(absl::string_view slot, int index, Array value);
  // The same for a table of selected rows (selected_rows.h), which any other output is not.
  void SetSelectedRows(absl::string_view slot, Array table);
  // The same with the offsets that the value has.
  void SetCutOutput(absl::string_view slot, Array value) {
    SetCutOutput(slot, 0, std::move(value));
  }
  void SetCutOutput(absl::string_view slot, int index, Array value);

  const OpAttributes& attributes() const { return attributes_; }
  int64_t Int(absl::string_view name) const { return attributes_.Int(name); }
  double Float(absl::string_view name) const { return attributes_.Float(name); }
  // is_test is also true from the step that kTestFromStepAttr gives.
  bool Bool(absl::string_view name) const {
    return (name == "is_test" && is_test_by_step_) || attributes_.Bool(name);
  }
  std::string String(absl::string_view name) const { return attributes_.String(name); }
  std::vector<int64_t> Ints(absl::string_view name) const { return attributes_.Ints(name); }
  std::vector<double> Floats(absl::string_view name) const { return attributes_.Floats(name); }
  absl::StatusOr<VarType::Type> DataType(absl::string_view name) const {
    return attributes_.DataType(name);
  }

  // The random numbers that the op draws: those of its attribute `seed`, the same in every run and
  // in every op with it; if that is 0, its own numbers in each run.
  RandomStream Random(int64_t seed) const;

  // Errors (kInvalidArgument) that state what the input of a slot is and what it should be.
  absl::Status CheckRank(absl::string_view slot, int rank) const;
  absl::Status CheckDims(absl::string_view slot, DimsView wanted) const;
  absl::Status CheckSize(absl::string_view slot, int64_t wanted) const;

 private:
  // The value of an input argument; null for kEmptyArgument.
  const Array* ValueOf(const Argument* argument) const;
  // Finds whether kTestFromStepAttr puts the op in test mode.
  absl::Status ReadStep();

  const Op& op_;
  const OpSchema& schema_;
  const OpAttributes attributes_;
  const int64_t version_;
  const Era era_;
  const RunState state_;
  Frame& frame_;
  BlockRunner& runner_;
  std::vector<const Array*> inputs_;  // like op_.inputs()
  bool is_test_by_step_ = false;
  std::vector<std::pair<const Variable*, Array>> outputs_;
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_OP_RUN_H_
