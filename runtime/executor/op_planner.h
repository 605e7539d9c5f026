// One op as its plan function sees it: the types of its inputs, its attributes, and the means to
// add the steps that compute it.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OP_PLANNER_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OP_PLANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/infer.h"
#include "ops/lod.h"
#include "ops/never_negative.h"
#include "ops/op_form.h"
#include "proto/program/program_fwd.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/demand.h"
#include "runtime/executor/op_forms.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/plan_builder.h"

namespace fixpoint {

class GradientMatcher;
class OpSchema;

}  // namespace fixpoint

namespace fixpoint::executor {

// What a step computes, and from what.
struct StepKernel {
  std::vector<Buffer> reads;
  std::vector<Buffer> writes;
  std::function<absl::Status(const StepContext&)> run;
  std::string implementation = "";
  int64_t operations = 0;
  std::string name = "";  // "": the op's type
  std::shared_ptr<const Plan> block = nullptr;
  bool in_each_run = false;  // Step::in_each_run
  std::vector<ElementLoop> loops = {};
  std::optional<double> beside_floats = std::nullopt;  // Step::beside_floats
  bool is_repeatable = false;                          // Step::is_repeatable
};

// Plans a block that an op runs.
class BlockPlanner {
 public:
  virtual ~BlockPlanner() = default;

  // Plans the ops of a block, whose outer values `builder` has been given (PlanBuilder::AddGiven).
  virtual absl::Status PlanBlock(const Block& block, const std::vector<const Value*>& wanted,
                                 PlanBuilder* builder) = 0;
  // The plan that they make. `varying`, of a block that is run again and again: what it is given
  // that is not the same each time.
  virtual absl::StatusOr<Plan> Finish(PlanBuilder* builder,
                                      const std::optional<std::vector<Buffer>>& varying) = 0;
};

// What the planners of all ops of a block share.
struct Planning {
  Era era;
  BackwardPrecision backward;
  // Each op's place among all ops of the program except feeds and fetches.
  const absl::flat_hash_map<const Op*, uint32_t>& numbers;
  // The ops that have begun at a step (schedule.h).
  const absl::flat_hash_set<const Op*>& begun;
  const Demand& demand;
  const GradientMatcher& gradients;  // of the ops that run
  OpForms& forms;
  NeverNegative& never_negative;
  PlanBuilder& builder;
  BlockPlanner& block_planner;
};

// Slots are those of the op's schema. An input may be requested only if the op has it.
class OpPlanner {
 public:
  // REQUIRES: CheckForm. Both arguments outlive the object.
  OpPlanner(const Op& op, const Planning& planning);

  // Whether a later op, whose work this op's steps may do, has the form of its type.
  bool MayPlanAfter(const Op& op) const { return planning_.forms.Check(op).ok(); }
  // A planner for such an op. REQUIRES: MayPlanAfter.
  OpPlanner After(const Op& op) const { return {op, planning_}; }

  const Op& op() const { return op_; }
  const std::string& type() const { return attributes_.op().type(); }
  Era era() const { return planning_.era; }
  // What the gradients of products and convolutions multiply.
  BackwardPrecision backward() const { return planning_.backward; }
  uint32_t number() const { return planning_.numbers.at(&op_); }
  const OpAttributes& attributes() const { return attributes_; }
  // A FLOAT attribute, as kernels take it.
  float Number(absl::string_view attribute) const {
    return static_cast<float>(attributes_.Float(attribute));
  }
  bool HasBegun() const { return HasBegun(op_); }
  bool HasBegun(const Op& op) const { return planning_.begun.contains(&op); }
  // Whether the op is in test mode, by its attribute or because that has begun.
  bool IsTest() const { return HasBegun() || attributes_.Bool("is_test"); }
  const Demand& demand() const { return planning_.demand; }
  // The op of this block whose gradient this op computes (GradientMatcher::ForwardOf).
  const Op* ForwardOp() const;
  // Whether it computes the gradient of an op of this block.
  bool IsGradient(const Op& op) const;
  // The gradient ops of an op that run in this block and read something that it writes.
  std::vector<const Op*> GradientsOf(const Op& forward) const;
  PlanBuilder& builder() { return planning_.builder; }
  const PlanBuilder& builder() const { return planning_.builder; }
  BlockPlanner& block_planner() { return planning_.block_planner; }

  // The slot of an argument of the op.
  static absl::string_view SlotOf(const Argument& argument);
  // Whether ops of this type can have such an input at all.
  bool HasInputSlot(absl::string_view slot) const;
  int InputCount(absl::string_view slot) const;
  bool HasInput(absl::string_view slot) const { return InputCount(slot) > 0; }
  // Whether the op has such an input, and its value is already known.
  bool IsPlanned(absl::string_view slot) const;
  // Error (kUnimplemented): the op has such an input, and its elements are not known as those of an
  // attribute (ops/attribute_inputs.h), which attributes() then has.
  absl::Status CheckAbsent(absl::string_view slot) const;
  const Value& InputValue(absl::string_view slot, int index = 0) const;
  bool IsNeverNegative(absl::string_view slot) const {
    return planning_.never_negative.Holds(InputValue(slot));
  }
  const TensorType& InputType(absl::string_view slot, int index = 0) const;
  const Dims& InputDims(absl::string_view slot, int index = 0) const {
    return InputType(slot, index).dims;
  }
  const LoD& InputLod(absl::string_view slot) const {
    return planning_.builder.LodOf(InputValue(slot));
  }
  // Error (kInvalidArgument): the input is absent, or has another number of elements.
  absl::Status CheckSize(absl::string_view slot, int64_t size) const;
  // Error (kInvalidArgument): the input is absent, or has other dimensions.
  absl::Status CheckDims(absl::string_view slot, const Dims& dims) const;
  // The layout that needs no conversion.
  Layout InputLayout(absl::string_view slot, int index = 0) const;

  // The elements of an input. Error (kUnimplemented): it is of another type.
  absl::StatusOr<Buffer> Read(absl::string_view slot, VarType::Type dtype,
                              Layout layout = Layout::kRowMajor, int index = 0);
  absl::StatusOr<Buffer> ReadFloats(absl::string_view slot, Layout layout = Layout::kRowMajor,
                                    int index = 0) {
    return Read(slot, VarType::FP32, layout, index);
  }

  int OutputCount(absl::string_view slot) const;
  // Whether the op names a variable there that something reads.
  bool Wants(absl::string_view slot, int index = 0) const;
  const Value& OutputValue(absl::string_view slot, int index = 0) const;
  // Whether the output's variable is kept when the run ends (PlanBuilder::Keeps).
  bool KeepsOutput(absl::string_view slot) const;
  // The name of the output's variable.
  const std::string& OutputName(absl::string_view slot) const;
  // What the output's variable holds when the op begins, for a quantizer that finds its state
  // there. Nothing if that is not of the type.
  absl::StatusOr<std::optional<Buffer>> ReadFoundIn(absl::string_view slot, const TensorType& type);
  // The type of an output, as it is inferred from the inputs' types; a scalar is [1] here. Error:
  // the inputs do not fit; kUnimplemented: it depends on values, or the op lacks the output.
  absl::StatusOr<TensorType> OutputType(absl::string_view slot, int index = 0);

  // Where an output goes: its own memory, even if nothing reads it.
  absl::StatusOr<Buffer> Write(absl::string_view slot, Layout layout = Layout::kRowMajor,
                               int index = 0);
  Buffer WriteAs(absl::string_view slot, const TensorType& type, Layout layout = Layout::kRowMajor,
                 int index = 0);
  // The same for an output whose element i is computed after element i of `over` was read: both may
  // be the same memory.
  Buffer WriteOver(absl::string_view slot, const TensorType& type, Layout layout, Buffer over,
                   int index = 0);
  // Memory for this op's steps, or for those of another op that is told about it.
  Buffer Scratch(absl::string_view what, VarType::Type dtype, int64_t size);

  void AddStep(StepKernel kernel);

  // Declares the offsets of an output, which by default follow from the inputs' (ops/output_lod.h).
  // An output that nothing reads has none.
  void CutOutput(absl::string_view slot, LoD lod);
  // Sets the offsets of sequences of the outputs that were planned.
  void SetOutputLods();

  // Declares that a run decides the extents of an output, whose type has the most that they can be,
  // and its offsets, of which each level has up to so many. The op's step writes both.
  // REQUIRES: the output was written, row major.
  RunShape DecideShape(absl::string_view slot, const std::vector<int64_t>& most_offsets = {},
                       int index = 0);
  // The same where a run may decide other extents too than the number of rows.
  RunShape DecideExtents(absl::string_view slot, const std::vector<int64_t>& most_offsets = {});
  // How many rows a run decides that an input has; null: its type is what it is. By asking, the
  // plan function declares that it reads no more than there is; it may not read other inputs of
  // such a shape. Adds a step that fails (kFailedPrecondition) where a run may decide more than the
  // number of rows, and has, so that rows lie elsewhere in memory than the plan says.
  const RunShape* TakeRunShape(absl::string_view slot, int index = 0);
  // The same for a plan function that takes any extents.
  const RunShape* TakeAnyRunShape(absl::string_view slot, int index = 0);
  // Declares that an output has the extents and offsets of an input, whoever decides them.
  void KeepRunShape(absl::string_view input, absl::string_view output);
  // Declares that an output has the rows of an input, and the other extents of its type. Adds the
  // step that finds them, and that of TakeRunShape.
  void KeepRows(absl::string_view input, absl::string_view output);
  // For an op that computes each row by itself, after its plan function: where a run decides the
  // rows of inputs that the function did not take, it decides as many of the outputs. What is
  // computed of the rows after them means nothing.
  void PassRowsOn();
  bool TakesRunShape(const Value& value) const { return taken_.contains(&value); }

 private:
  bool ComputesRows() const;
  RunShape Decide(absl::string_view slot, const std::vector<int64_t>& most_offsets, int index,
                  bool only_rows);
  void CheckDecidesRows(const Value& input);
  void KeepRowsOf(const Value& input, const Value& output);
  // The op, with inputs whose values are known turned into attributes.
  const OpDesc& desc() const;
  const Argument* OutputArgument(absl::string_view slot, int index) const;
  absl::Status InferTypes();

  const Op& op_;
  const Planning& planning_;
  const OpSchema& schema_;
  const std::shared_ptr<const OpDesc> resolved_;  // null: no input is an attribute
  const OpAttributes attributes_;
  std::vector<InferredOutput> inferred_;  // like op_.outputs(); empty: not yet
  absl::flat_hash_map<const Value*, LoD> cut_;
  absl::flat_hash_set<const Value*> taken_;  // inputs of a shape that a run decides
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OP_PLANNER_H_
