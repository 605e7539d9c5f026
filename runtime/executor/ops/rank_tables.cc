// Tables that rank sequences by their lengths, and what goes through sequences step by step in that
// order. Which rows a step has follows from the offsets of the sequences, which a plan knows.

#include "runtime/executor/ops/rank_tables.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/row_extents.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {
namespace {

absl::StatusOr<std::shared_ptr<const RankTable>> ReadTable(OpPlanner& op) {
  using Table = std::shared_ptr<const RankTable>;
  if (const auto* table = op.builder().Attached<Table>(op.InputValue("RankTable"))) return *table;
  return absl::InvalidArgumentError(absl::StrCat(
      "RankTable is ", DimsText(op.InputDims("RankTable")), "; want what lod_rank_table makes"));
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
  HeldArray steps{nullptr, type, HeldArray::Varying::kRows};
  steps.most.dims[0] = static_cast<int64_t>(table->sequences.size());
  std::vector<Dims> dims;
  for (int64_t step = 0; step < table->steps(); ++step) {
    dims.push_back(WithRows(type.dims, table->CountLongerThan(step)));
  }
  steps.contents = ArrayContents::Of(std::move(dims));
  bool is_new = false;
  ASSIGN_OR_RETURN(const HeldArray held, WriteArray(op, steps, &is_new));
  AddArrayStep(op, {x}, {}, [=, array = held.array](const StepContext& run) {
    array->Clear();
    const int64_t row = RowBytes(type);
    const uint8_t* const rows = run.Of<uint8_t>(x).data();
    for (int64_t step = 0; step < table->steps(); ++step) {
      const int64_t count = table->CountLongerThan(step);
      TensorArray::Element& element = array->Set(step);
      element.dims.assign(type.dims.begin(), type.dims.end());
      element.dims[0] = count;
      element.lod.clear();
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
      if (DimsView(element->dims).subspan(1) != DimsView(type.dims).subspan(1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("X[", step, "] is ", DimsText(element->dims), "; want rows of ",
                         DimsText(DimsView(type.dims).subspan(1)), ", as others have"));
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
                int64_t there = type.dims[0];
                if (shape) {
                  there = run.Of<int64_t>(shape->dims)[0];
                }
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

// The first row after each piece of X that a table may reorder: its sequences or, without offsets,
// its rows.
std::vector<int64_t> EndsOfPieces(DimsView dims, const LoD& lod) {
  std::vector<int64_t> ends;
  if (!lod.empty()) {
    ends.assign(lod[0].begin() + 1, lod[0].end());
    return ends;
  }
  for (int64_t row = 1; row <= dims[0]; ++row) ends.push_back(row);
  return ends;
}

absl::Status PlanReorder(OpPlanner& op) {
  ASSIGN_OR_RETURN(const auto table, ReadTable(op));
  const TensorType type = op.InputType("X");
  const LoD lod = op.InputLod("X");
  if (type.dims.empty() || lod.size() > 1) {
    return absl::UnimplementedError(
        absl::StrCat("X is ", DimsText(type.dims), " with ", lod.size(),
                     " levels of offsets; the executor takes rows with one at most"));
  }
  if (!lod.empty()) RETURN_IF_ERROR(SequencesOf("X", type.dims, lod).status());
  const std::vector<int64_t> ends = EndsOfPieces(type.dims, lod);
  if (ends.size() != table->sequences.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has ", ends.size(), " entries and RankTable ", table->sequences.size()));
  }
  std::vector<int64_t> rows;  // of X, in the order of Out
  std::vector<uint64_t> offsets = {0};
  for (const RankTable::Ranked& ranked : table->sequences) {
    for (int64_t row = ranked.sequence == 0 ? 0 : ends[ranked.sequence - 1];
         row < ends[ranked.sequence]; ++row) {
      rows.push_back(row);
    }
    offsets.push_back(rows.size());
  }
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  if (!op.Wants("Out")) return absl::OkStatus();
  const Buffer out = op.WriteAs("Out", type);
  op.CutOutput("Out", lod.empty() ? LoD() : LoD{std::move(offsets)});
  op.AddStep({{x}, {out}, [=, rows = std::move(rows)](const StepContext& run) {
                const int64_t bytes = RowBytes(type);
                const uint8_t* const from = run.Of<uint8_t>(x).data();
                uint8_t* to = run.Of<uint8_t>(out).data();
                for (const int64_t row : rows) {
                  if (bytes > 0) std::memcpy(to, from + row * bytes, bytes);
                  to += bytes;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The gradient of the rows that were kept, and zeros.
absl::Status PlanShrinkGradient(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  const TensorType kept = op.InputType("Out@GRAD");
  if (type.dims.empty()) return absl::UnimplementedError("X is a scalar; want rows");
  const bool fits = kept.dims.size() == type.dims.size() && kept.dims[0] <= type.dims[0] &&
                    kept.dims == WithRows(type.dims, kept.dims[0]);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("Out@GRAD is ", DimsText(kept.dims), " and X ",
                                                   DimsText(type.dims),
                                                   "; want its rows, or some of them"));
  }
  std::optional<RunShape> shape;
  if (const RunShape* found = op.TakeRunShape("Out@GRAD"); found != nullptr) shape = *found;
  ASSIGN_OR_RETURN(const Buffer out_grad, op.ReadFloats("Out@GRAD"));
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  const Buffer grad = op.WriteAs("X@GRAD", type);
  op.KeepRows("X", "X@GRAD");
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

OpPlans RankTablePlans() {
  return {{"array_to_lod_tensor", PlanFromArray},        {"lod_rank_table", PlanRankTable},
          {"lod_tensor_to_array", PlanToArray},          {"max_sequence_len", PlanLongest},
          {"reorder_lod_tensor_by_rank", PlanReorder},   {"shrink_rnn_memory", PlanShrink},
          {"shrink_rnn_memory_grad", PlanShrinkGradient}};
}

}  // namespace fixpoint::executor
