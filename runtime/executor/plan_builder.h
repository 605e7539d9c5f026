// What is known while a plan is made: which buffers hold which values of the program, and in which
// form. Ops ask for the form that their kernels take; where a value is not held in it, a step that
// converts it is added to the plan, where it can be seen.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLAN_BUILDER_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLAN_BUILDER_H_

#include <any>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/known_values.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::executor {

// The type of codes of 8 bits, as kernels and as tensors know it.
inline kernels::CodeType CodeTypeOf(bool is_unsigned) {
  return is_unsigned ? kernels::CodeType::kUint8 : kernels::CodeType::kInt8;
}
inline bool IsUnsigned(kernels::CodeType type) { return type == kernels::CodeType::kUint8; }
inline VarType::Type DtypeOf(kernels::CodeType type) { return CodeDtype(IsUnsigned(type)); }

// A value as integers: 8 bits each, with the ranges that the largest code stands for.
struct Codes {
  Buffer codes;
  Buffer ranges;  // FP32, one for all elements or for each channel; none: not known yet
  // FP32, the code of 0, which is a code of the type; nothing: it is 0. With one there is a single
  // range, and it is the range of one code above the zero point.
  std::optional<Buffer> zero_point;
  kernels::CodeType type = kernels::CodeType::kInt8;
  int32_t largest_code = LargestCode(8);
  std::optional<int> channel_axis;  // nothing: one range
  Layout layout = Layout::kRowMajor;

  // Of the tensor that holds them.
  VarType::Type dtype() const { return DtypeOf(type); }
  kernels::InputCoding coding() const { return {type, zero_point.has_value()}; }
  // The scalars that steps read when they compute on codes with one range.
  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = {codes, ranges};
    if (zero_point) all.push_back(*zero_point);
    return all;
  }
  // In a run: the step between adjacent codes, and the code of 0.
  float StepIn(const StepContext& run) const { return StepOf(run.Floats(ranges)[0], largest_code); }
  float ZeroPointIn(const StepContext& run) const {
    return zero_point ? run.Floats(*zero_point)[0] : 0;
  }
};

class PlanBuilder {
 public:
  // For block 0, whose run keeps persistable values; or for a block that an op runs, whose run
  // keeps what AddKept declares.
  enum class Of { kProgram, kBlock };
  explicit PlanBuilder(Of of = Of::kProgram) : of_(of) {}
  PlanBuilder(const PlanBuilder&) = delete;
  PlanBuilder& operator=(const PlanBuilder&) = delete;

  // The values that a run begins with: a feed, the tensor of a persistable variable, or its
  // elements at entry.
  void AddFeed(const Value& value, const std::string& variable, const GivenType& given);
  void AddPersistable(const Variable& variable, const GivenType& given);
  bool HasPersistable(const Variable& variable) const { return persistables_.contains(&variable); }
  // REQUIRES: its variable's tensor was added.
  void AddEntry(const Value& value);
  // The elements at entry of a variable, if it has a tensor of that type.
  std::optional<Buffer> EntryOf(const Variable& variable, const TensorType& type) const;
  // The same for a block: an outer value, as floats or as the codes that `around` holds it as, and
  // an outer variable that the block writes, of the type that it keeps.
  void AddGiven(const Value& value, const PlanBuilder& around);
  void AddGivenCodes(const Value& value, const PlanBuilder& around);
  void AddKept(const Value& at_entry, const GivenType& given);
  // A buffer of the plan around, which no value of the block has the elements of.
  Buffer AddGivenBuffer(BufferInfo around);
  // The same as AddKept for a variable that may have no value at entry: its tensor has the type of
  // what the block writes.
  void AddKeptUnset(const Variable& variable) { kept_unset_.insert(&variable); }
  // The place of a kept variable in the plan's persistables. REQUIRES: there is one.
  size_t KeptNumber(const Variable& variable) const { return persistables_.at(&variable).index; }
  // Declares that a buffer is read when the run is over.
  void AddResult(Buffer buffer);
  // Whether the variable's last value is in its tensor when the run ends.
  bool Keeps(const Variable& variable) const;

  bool IsPlanned(const Value& value) const { return values_.count(&value) > 0; }
  // REQUIRES, here and below: the value that is read is planned. Stays valid while other values are
  // written.
  const TensorType& TypeOf(const Value& value) const { return Find(value).type; }
  // The offsets that cut its rows into sequences; {}: there are none.
  const LoD& LodOf(const Value& value) const;
  void SetLod(const Value& value, LoD lod);
  // What a run decides of its shape; null: its type is what it is.
  const RunShape* RunShapeOf(const Value& value) const;
  // REQUIRES: the value was written, row major, and none of its forms has been read.
  void SetRunShape(const Value& value, RunShape shape);
  // The layout in which it is held; if it is held in both, kChannelsLast.
  Layout LayoutOf(const Value& value) const;

  // The elements of a value in a layout. REQUIRES: kRowMajor, or 4 dimensions.
  absl::StatusOr<Buffer> Read(const Value& value, Layout layout);
  // The codes of a value in a layout: the value itself, or what its floats stand for. Nothing if it
  // is not held as codes.
  absl::StatusOr<std::optional<Codes>> ReadCodes(const Value& value, Layout layout);
  // The codes that the floats of the value stand for, in the layout that they are held in; null if
  // it is not held so.
  const Codes* FindCodes(const Value& value) const;
  // The codes that are the elements of the value; null if it is not held so.
  const Codes* FindNumbers(const Value& value) const;
  // Whether the elements of the value are codes, and not what codes stand for.
  bool HoldsCodes(const Value& value) const { return Find(value).holds_codes; }

  // The elements of a value that depends on shapes and attributes alone; nothing for any other.
  std::optional<std::vector<double>> FindKnown(const Value& value) const;
  // Where all elements of a value lie, row major; nothing if no step has put them there, or a run
  // decides which there are.
  std::optional<Buffer> FindElements(const Value& value) const;

  // Where the elements of a value go: memory of their own. The last value of a persistable variable
  // is in its tensor when the run ends (keeping.h).
  Buffer Write(const Value& value, const TensorType& type, Layout layout);
  // Declares that the elements of a value are computed where they are first requested: by the step
  // that `add_step` adds, which writes them.
  void Defer(const Value& value, const TensorType& type, Layout layout,
             std::function<void(Buffer)> add_step);
  // Whether nothing has requested them yet.
  bool IsDeferred(const Value& value) const;
  // Declares that a value is held as codes alone.
  void WriteCodes(const Value& value, const TensorType& type, Codes codes, bool holds_codes);
  // Declares that a value has the elements of another, row major, with other dimensions.
  absl::Status View(const Value& value, const Value& of, Dims dims);
  // Declares that a value equals another, in all its forms and with its offsets. If both are of one
  // variable, it stays where it is.
  absl::Status Share(const Value& value, const Value& of);

  // Error (kFailedPrecondition): a buffer is larger than any memory; its size is not to be used.
  const absl::Status& status() const { return status_; }

  // Memory for the steps from the next one on.
  Buffer NewBuffer(std::string name, TensorType type, Layout layout = Layout::kRowMajor);
  const BufferInfo& info(Buffer buffer) const { return plan_.buffers[buffer.index]; }
  // `written` may lie in the memory of `read` if nothing reads that afterwards.
  void MayLieIn(Buffer written, Buffer read) { in_place_.push_back({written, read}); }

  // Steps that are added from now on belong to that op.
  void BeginOp(const Op* op) { op_ = op; }
  void AddStep(Step step);
  absl::Span<const Step> steps() const { return plan_.steps; }
  absl::Span<const BufferInfo> buffers() const { return plan_.buffers; }
  // Adds a step that copies a buffer to one of its size.
  void AddCopy(std::string name, Buffer from, Buffer to);

  // Facts about a value that one op's plan passes to another's: at most one of each type.
  template <typename Note>
  void Attach(const Value& value, Note note) {
    notes_[&value][std::type_index(typeid(Note))] = std::move(note);
  }
  template <typename Note>
  const Note* Attached(const Value& value) const {
    const auto notes = notes_.find(&value);
    if (notes == notes_.end()) return nullptr;
    const auto note = notes->second.find(std::type_index(typeid(Note)));
    return note != notes->second.end() ? std::any_cast<Note>(&note->second) : nullptr;
  }

  // Declares that the steps of the op that is planned do the work of `op` too, and that the values
  // between them have a type and are not held.
  void Absorb(const Op& op, const Value& between, const TensorType& type) {
    absorbed_.insert(&op);
    values_[&between] = {type};
  }
  bool IsAbsorbed(const Op& op) const { return absorbed_.contains(&op); }

  // Returns the plan: with the fetches, with the last values of persistable variables in their
  // tensors, with steps fused (fusion.h) unless it `keeps_all` values and, if it `has_constants` or
  // is that of a block which is run again and again, with those or its invariants set apart
  // (constants.h); of such a block, with what it is given that varies from run to run; with steps
  // that run again (recomputing.h).
  struct Form {
    bool keeps_all = false;
    bool has_constants = false;
    std::optional<std::vector<Buffer>> varying = std::nullopt;
    double recomputing = 0;  // PlanRequest::recomputing
  };
  absl::StatusOr<Plan> Finish(const std::vector<const Value*>& fetches, Form form);

 private:
  // Elements that are not computed yet.
  struct Deferred {
    const Op* op;
    Layout layout;
    std::function<void(Buffer)> add_step;
  };
  // A variable whose tensor is known.
  struct Persistable {
    size_t index;  // of the plan's persistables
    LoD lod;       // at entry
  };
  // A value in the forms that it is held in.
  struct PlannedValue {
    TensorType type;
    std::optional<Buffer> row_major = std::nullopt;
    std::optional<Buffer> channels_last = std::nullopt;
    std::optional<Codes> codes = std::nullopt;
    bool holds_codes = false;
    std::optional<Deferred> deferred = std::nullopt;
    std::optional<RunShape> run_shape = std::nullopt;

    bool has_elements() const { return row_major || channels_last; }
    std::optional<Buffer>& In(Layout layout) {
      return layout == Layout::kRowMajor ? row_major : channels_last;
    }
  };

  const PlannedValue& Find(const Value& value) const;
  PlannedValue& Find(const Value& value);
  bool IsTensorOf(const Variable& variable, Buffer buffer) const;
  Buffer TensorOf(const Variable& variable) const {
    return plan_.persistables[persistables_.at(&variable).index].buffer;
  }
  // Records that an op writes the value.
  void NoteWritten(const Value& value);
  // The last of the recorded values in program order: a step that does the work of later ops is
  // planned before what is between them.
  const Value& LastWritten(const Variable& variable) const;
  Buffer AddBuffer(BufferInfo info);
  // Steps that make another form of a value.
  absl::Status ConvertLayout(const std::string& name, const TensorType& type, Buffer from,
                             Layout layout, Buffer* to);
  absl::StatusOr<Buffer> NumbersOf(const Value& value, const PlannedValue& planned);
  // Adds the step that computes deferred elements.
  void Compute(const Value& value, PlannedValue* planned);
  void PlaceInvariants();

  const Of of_;
  Plan plan_;
  absl::Status status_;
  int64_t bytes_ = 0;  // of all buffers
  KnownValues known_;
  std::vector<InPlace> in_place_;
  const Op* op_ = nullptr;
  std::unordered_map<const Value*, PlannedValue> values_;  // references stay valid
  std::unordered_map<const Value*, LoD> lods_;             // except those that are {}
  absl::flat_hash_map<const Variable*, Persistable> persistables_;
  absl::flat_hash_set<const Variable*> kept_unset_;
  // The variables that are kept and written, in order of the first write, with what is written.
  std::vector<const Variable*> written_;
  absl::flat_hash_map<const Variable*, absl::flat_hash_set<const Value*>> values_written_;
  std::map<const Value*, std::map<std::type_index, std::any>> notes_;
  absl::flat_hash_set<const Op*> absorbed_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLAN_BUILDER_H_
