// Arrays of tensors, and sequences step by step. A run decides how many rows a tensor of an array
// has; a plan knows the most. Which rows a step of sequences has follows from their offsets, which
// a plan knows.

#include "runtime/executor/ops/tensor_arrays.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/tensor_array.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// What values that are arrays have in the place of elements.
const TensorType& NoElements() {
  static const TensorType* const type = new TensorType{VarType::UINT8, {0}};
  return *type;
}

int64_t RowSize(DimsView dims) {
  int64_t size = 1;
  for (size_t i = 1; i < dims.size(); ++i) size *= dims[i];
  return size;
}

int64_t RowBytes(const TensorType& type) {
  return RowSize(type.dims) * static_cast<int64_t>(ElementSize(type.dtype));
}

absl::StatusOr<Buffer> ReadPlace(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("I", 1));
  return op.Read("I", VarType::INT64);
}

absl::StatusOr<int64_t> PlaceIn(const StepContext& run, Buffer place) {
  const int64_t there = run.Of<int64_t>(place)[0];
  if (there >= 0 && there < TensorArray::kMostElements) return there;
  return absl::InvalidArgumentError(
      absl::StrCat("I is ", there, "; want 0 to ", TensorArray::kMostElements - 1));
}

absl::StatusOr<const HeldArray*> ReadArray(OpPlanner& op, absl::string_view slot) {
  if (const auto* held = op.builder().Attached<HeldArray>(op.InputValue(slot)); held != nullptr) {
    return held;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      slot, " is a tensor ", DimsText(op.InputDims(slot)), "; want an array of tensors"));
}

absl::StatusOr<std::shared_ptr<const RankTable>> ReadTable(OpPlanner& op) {
  using Table = std::shared_ptr<const RankTable>;
  if (const auto* table = op.builder().Attached<Table>(op.InputValue("RankTable"))) return *table;
  return absl::InvalidArgumentError(absl::StrCat(
      "RankTable is ", DimsText(op.InputDims("RankTable")), "; want what lod_rank_table makes"));
}

// Adds a step that reads or writes an array, which is no buffer that other steps could be told
// from.
void AddArrayStep(OpPlanner& op, std::vector<Buffer> reads, std::vector<Buffer> writes,
                  std::function<absl::Status(const StepContext&)> run) {
  StepKernel kernel{std::move(reads), std::move(writes), std::move(run)};
  kernel.in_each_run = true;
  op.AddStep(std::move(kernel));
}

// Errors: a tensor of another type than the array's others, which have `most` but for their rows.
absl::Status CheckFits(const TensorType& type, const TensorType& most) {
  const bool fits = type.dtype == most.dtype && type.dims.size() == most.dims.size() &&
                    std::equal(type.dims.begin() + 1, type.dims.end(), most.dims.begin() + 1);
  if (fits) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("X is ", DimsText(type.dims), " and the array has ",
                                               DimsText(most.dims),
                                               "; want tensors that differ in their rows alone"));
}

// Declares that Out is an array: the one that its variable holds, or a new one.
absl::StatusOr<HeldArray> WriteArray(OpPlanner& op, const TensorType& type, int64_t most_offsets,
                                     bool* is_new) {
  if (type.dims.empty()) return absl::UnimplementedError("X is a scalar; want rows");
  const Value* before = ValueBefore(op.OutputValue("Out"));
  const auto* there = before != nullptr ? op.builder().Attached<HeldArray>(*before) : nullptr;
  // A loop empties an array that is unset when it begins, and then carries it along.
  const bool is_carried = before != nullptr && before->origin() == Value::Origin::kLoopHead;
  HeldArray held =
      there != nullptr ? *there : HeldArray{std::make_shared<TensorArray>(), type, most_offsets};
  RETURN_IF_ERROR(CheckFits(type, held.most));
  held.most.dims[0] = std::max(held.most.dims[0], type.dims[0]);
  held.most_offsets = std::max(held.most_offsets, most_offsets);
  op.builder().Write(op.OutputValue("Out"), NoElements(), Layout::kRowMajor);
  op.builder().Attach(op.OutputValue("Out"), held);
  *is_new = there == nullptr && !is_carried;
  return held;
}

absl::Status PlanWrite(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer place, ReadPlace(op));
  const TensorType type = op.InputType("X");
  std::optional<RunShape> shape;
  if (const RunShape* decided = op.TakeRunShape("X"); decided != nullptr) shape = *decided;
  const LoD lod = op.InputLod("X");
  if (lod.size() > 1) {
    return absl::UnimplementedError(
        absl::StrCat("X has ", lod.size(), " levels of offsets; the executor keeps one"));
  }
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  if (!op.Wants("Out")) return absl::OkStatus();
  std::vector<int64_t> offsets;
  if (!lod.empty()) offsets.assign(lod[0].begin(), lod[0].end());
  const int64_t most_offsets = shape && shape->has_offsets() ? shape->offsets.size - 1
                                                             : static_cast<int64_t>(offsets.size());
  bool is_new = false;
  ASSIGN_OR_RETURN(const HeldArray held, WriteArray(op, type, most_offsets, &is_new));
  std::vector<Buffer> reads = {place, x};
  if (shape) reads.push_back(shape->dims);
  if (shape && shape->has_offsets()) reads.push_back(shape->offsets);
  AddArrayStep(op, std::move(reads), {}, [=, array = held.array](const StepContext& run) {
    ASSIGN_OR_RETURN(const int64_t at, PlaceIn(run, place));
    if (is_new) array->Clear();
    TensorArray::Element& element = array->Set(at);
    element.dims.assign(type.dims.begin(), type.dims.end());
    element.offsets = offsets;
    if (shape) {
      const absl::Span<const int64_t> dims = run.Of<int64_t>(shape->dims);
      element.dims.assign(dims.begin(), dims.end());
    }
    if (shape && shape->has_offsets()) {
      const absl::Span<const int64_t> decided = run.Of<int64_t>(shape->offsets);
      element.offsets.assign(decided.begin() + 1, decided.begin() + 1 + decided[0]);
    }
    const uint8_t* const bytes = run.Of<uint8_t>(x).data();
    element.bytes.assign(bytes, bytes + element.dims[0] * RowBytes(type));
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

// The extents of what is read where nothing was written, and no rows.
absl::Status PlanRead(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer place, ReadPlace(op));
  ASSIGN_OR_RETURN(const HeldArray* found, ReadArray(op, "X"));
  const HeldArray held = *found;
  std::optional<Buffer> rows_like;
  int64_t rows = 0;
  if (op.HasInput("X_W")) {
    RETURN_IF_ERROR(CheckFits(op.InputType("X_W"), held.most));
    rows = op.InputDims("X_W")[0];
    const RunShape* const like = op.TakeRunShape("X_W");
    if (like != nullptr) rows_like = like->dims;
  }
  if (!op.Wants("Out")) return absl::OkStatus();
  TensorType most = held.most;
  most.dims[0] = std::max(most.dims[0], rows);
  const Buffer out = op.WriteAs("Out", most);
  const RunShape shape = op.DecideShape("Out", held.most_offsets);
  std::vector<Buffer> reads = {place};
  if (rows_like) reads.push_back(*rows_like);
  std::vector<Buffer> writes = {out, shape.dims};
  if (shape.has_offsets()) writes.push_back(shape.offsets);
  AddArrayStep(
      op, std::move(reads), std::move(writes), [=, array = held.array](const StepContext& run) {
        ASSIGN_OR_RETURN(const int64_t at, PlaceIn(run, place));
        const TensorArray::Element* const element = array->Find(at);
        const absl::Span<int64_t> dims = run.Of<int64_t>(shape.dims);
        std::copy(most.dims.begin(), most.dims.end(), dims.begin());
        dims[0] = element != nullptr ? element->dims[0]
                  : rows_like        ? run.Of<int64_t>(*rows_like)[0]
                                     : rows;
        if (dims[0] > most.dims[0]) {
          return absl::UnimplementedError(
              absl::StrCat("X[", at, "] has ", dims[0], " rows; the plan is for at most ",
                           most.dims[0], ", as many as were written before"));
        }
        uint8_t* const bytes = run.Of<uint8_t>(out).data();
        const int64_t size = element != nullptr ? static_cast<int64_t>(element->bytes.size()) : 0;
        if (size > 0) std::memcpy(bytes, element->bytes.data(), size);
        std::fill(bytes + size, bytes + most.dims[0] * RowBytes(most), uint8_t{0});
        if (!shape.has_offsets()) return absl::OkStatus();
        const absl::Span<int64_t> offsets = run.Of<int64_t>(shape.offsets);
        const size_t count = element != nullptr ? element->offsets.size() : 0;
        offsets[0] = static_cast<int64_t>(count);
        if (count > 0)
          std::copy(element->offsets.begin(), element->offsets.end(), offsets.begin() + 1);
        return absl::OkStatus();
      });
  return absl::OkStatus();
}

absl::Status PlanLength(OpPlanner& op) {
  ASSIGN_OR_RETURN(const HeldArray* held, ReadArray(op, "X"));
  const Buffer out = op.WriteAs("Out", {VarType::INT64, {1}});
  AddArrayStep(op, {}, {out}, [out, array = held->array](const StepContext& run) {
    run.Of<int64_t>(out)[0] = array->size();
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status PlanRankTable(OpPlanner& op) {
  const LoD& lod = op.InputLod("X");
  const int64_t level = op.attributes().Int("level");
  if (level != 0 || lod.size() != 1) {
    return absl::UnimplementedError(absl::StrCat("level is ", level, " and X has ", lod.size(),
                                                 " levels of offsets; the executor takes the only "
                                                 "one"));
  }
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOf("X", op.InputDims("X"), lod));
  auto table = std::make_shared<RankTable>();
  for (size_t i = 0; i < sequences.size(); ++i) {
    table->sequences.push_back(
        {static_cast<int64_t>(i), sequences[i].begin, sequences[i].length()});
  }
  table->rows = op.InputDims("X")[0];
  std::stable_sort(table->sequences.begin(), table->sequences.end(),
                   [](const auto& a, const auto& b) { return a.length > b.length; });
  if (!op.Wants("Out")) return absl::OkStatus();
  const Buffer out =
      op.WriteAs("Out", {VarType::INT64, {static_cast<int64_t>(sequences.size()), 2}});
  op.CutOutput("Out", {});
  op.AddStep({{}, {out}, [out, table](const StepContext& run) {
                int64_t* element = run.Of<int64_t>(out).data();
                for (const RankTable::Ranked& ranked : table->sequences) {
                  *element++ = ranked.sequence;
                  *element++ = ranked.length;
                }
                return absl::OkStatus();
              }});
  op.builder().Attach(op.OutputValue("Out"), std::shared_ptr<const RankTable>(table));
  return absl::OkStatus();
}

absl::Status PlanLongest(OpPlanner& op) {
  ASSIGN_OR_RETURN(const auto table, ReadTable(op));
  const Buffer out = op.WriteAs("Out", {VarType::INT64, {1}});
  op.AddStep({{}, {out}, [out, steps = table->steps()](const StepContext& run) {
                run.Of<int64_t>(out)[0] = steps;
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status CheckRows(const OpPlanner& op, const RankTable& table) {
  const Dims& dims = op.InputDims("X");
  if (!dims.empty() && dims[0] == table.rows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("X is ", DimsText(dims), "; want ", table.rows, " rows, as RankTable has"));
}

// Element t has row t of each sequence that is longer.
absl::Status PlanToArray(OpPlanner& op) {
  ASSIGN_OR_RETURN(const auto table, ReadTable(op));
  RETURN_IF_ERROR(CheckRows(op, *table));
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  if (!op.Wants("Out")) return absl::OkStatus();
  TensorType most = type;
  most.dims[0] = static_cast<int64_t>(table->sequences.size());
  bool is_new = false;
  ASSIGN_OR_RETURN(const HeldArray held, WriteArray(op, most, 0, &is_new));
  AddArrayStep(op, {x}, {}, [=, array = held.array](const StepContext& run) {
    array->Clear();
    const int64_t row = RowBytes(type);
    const uint8_t* const rows = run.Of<uint8_t>(x).data();
    for (int64_t step = 0; step < table->steps(); ++step) {
      const int64_t count = table->CountLongerThan(step);
      TensorArray::Element& element = array->Set(step);
      element.dims.assign(type.dims.begin(), type.dims.end());
      element.dims[0] = count;
      element.offsets.clear();
      element.bytes.resize(count * row);
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(element.bytes.data() + i * row, rows + (table->sequences[i].begin + step) * row,
                    row);
      }
    }
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status PlanFromArray(OpPlanner& op) {
  ASSIGN_OR_RETURN(const auto table, ReadTable(op));
  ASSIGN_OR_RETURN(const HeldArray* held, ReadArray(op, "X"));
  if (!op.Wants("Out")) return absl::OkStatus();
  TensorType type = held->most;
  type.dims[0] = table->rows;
  const Buffer out = op.WriteAs("Out", type);
  std::vector<uint64_t> offsets(table->sequences.size() + 1);
  for (const RankTable::Ranked& ranked : table->sequences) {
    offsets[ranked.sequence + 1] = ranked.begin + ranked.length;
  }
  op.CutOutput("Out", {std::move(offsets)});
  AddArrayStep(op, {}, {out}, [=, array = held->array](const StepContext& run) {
    const int64_t row = RowBytes(type);
    uint8_t* const rows = run.Of<uint8_t>(out).data();
    for (int64_t step = 0; step < table->steps(); ++step) {
      const int64_t count = table->CountLongerThan(step);
      const TensorArray::Element* const element = array->Find(step);
      const int64_t there = element != nullptr ? element->dims[0] : 0;
      if (there != count) {
        return absl::InvalidArgumentError(
            absl::StrCat("X[", step, "] has ", there, " entries; want ", count));
      }
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(rows + (table->sequences[i].begin + step) * row,
                    element->bytes.data() + i * row, row);
      }
    }
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status PlanShrink(OpPlanner& op) {
  ASSIGN_OR_RETURN(const auto table, ReadTable(op));
  ASSIGN_OR_RETURN(const Buffer place, ReadPlace(op));
  const TensorType type = op.InputType("X");
  if (type.dims.empty() || !op.InputLod("X").empty()) {
    return absl::UnimplementedError("X is a scalar or has sequences; want rows");
  }
  std::optional<RunShape> shape;
  if (const RunShape* decided = op.TakeRunShape("X"); decided != nullptr) shape = *decided;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  if (!op.Wants("Out")) return absl::OkStatus();
  TensorType most = type;
  most.dims[0] = std::min(type.dims[0], static_cast<int64_t>(table->sequences.size()));
  const Buffer out = op.WriteAs("Out", most);
  const RunShape out_shape = op.DecideShape("Out");
  std::vector<Buffer> reads = {place, x};
  if (shape) reads.push_back(shape->dims);
  op.AddStep({std::move(reads), {out, out_shape.dims}, [=](const StepContext& run) -> absl::Status {
                ASSIGN_OR_RETURN(const int64_t step, PlaceIn(run, place));
                const int64_t there = shape ? run.Of<int64_t>(shape->dims)[0] : type.dims[0];
                const int64_t count = table->CountLongerThan(step);
                if (count > there) {
                  return absl::InvalidArgumentError(absl::StrCat(
                      "X has ", there, " entries; want ", count, ", the sequences longer than I"));
                }
                const absl::Span<int64_t> dims = run.Of<int64_t>(out_shape.dims);
                std::copy(most.dims.begin(), most.dims.end(), dims.begin());
                dims[0] = count;
                uint8_t* const rows = run.Of<uint8_t>(out).data();
                const int64_t bytes = count * RowBytes(type);
                if (bytes > 0) std::memcpy(rows, run.Of<uint8_t>(x).data(), bytes);
                std::fill(rows + bytes, rows + most.dims[0] * RowBytes(type), uint8_t{0});
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The gradient of the rows that were kept, and zeros.
absl::Status PlanShrinkGradient(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  const TensorType kept = op.InputType("Out@GRAD");
  if (type.dims.empty()) return absl::UnimplementedError("X is a scalar; want rows");
  RETURN_IF_ERROR(CheckFits(kept, type));
  if (kept.dims[0] > type.dims[0]) {
    return absl::InvalidArgumentError(absl::StrCat("Out@GRAD is ", DimsText(kept.dims), " and X ",
                                                   DimsText(type.dims),
                                                   "; want at most as many rows"));
  }
  std::optional<RunShape> shape;
  if (const RunShape* found = op.TakeRunShape("Out@GRAD"); found != nullptr) shape = *found;
  ASSIGN_OR_RETURN(const Buffer out_grad, op.ReadFloats("Out@GRAD"));
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  const Buffer grad = op.WriteAs("X@GRAD", type);
  op.KeepRunShape("X", "X@GRAD");
  std::vector<Buffer> reads = {out_grad};
  if (shape) reads.push_back(shape->dims);
  op.AddStep({std::move(reads), {grad}, [=](const StepContext& run) {
                const absl::Span<const float> from =
                    run.Floats(out_grad).first(run.CountOf(shape, out_grad.size));
                const absl::Span<float> to = run.Floats(grad);
                std::copy(from.begin(), from.end(), to.begin());
                std::fill(to.begin() + from.size(), to.end(), 0.0f);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

int64_t RankTable::CountLongerThan(int64_t step) const {
  const auto first_short =
      std::partition_point(sequences.begin(), sequences.end(),
                           [step](const Ranked& ranked) { return ranked.length > step; });
  return first_short - sequences.begin();
}

void PassOnArray(const PlanBuilder& from, const Value& value, PlanBuilder* to, const Value& as) {
  using Table = std::shared_ptr<const RankTable>;
  if (const auto* held = from.Attached<HeldArray>(value)) to->Attach(as, HeldArray(*held));
  if (const auto* table = from.Attached<Table>(value)) to->Attach(as, Table(*table));
}

OpPlans TensorArrayPlans() {
  return {{"array_to_lod_tensor", PlanFromArray}, {"lod_array_length", PlanLength},
          {"lod_rank_table", PlanRankTable},      {"lod_tensor_to_array", PlanToArray},
          {"max_sequence_len", PlanLongest},      {"read_from_array", PlanRead},
          {"shrink_rnn_memory", PlanShrink},      {"shrink_rnn_memory_grad", PlanShrinkGradient},
          {"write_to_array", PlanWrite}};
}

}  // namespace fixpoint::executor
