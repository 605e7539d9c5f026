// Rows or sequences that a mask divides, and joins again. The run decides how many there are.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/row_extents.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// Rows that are taken over from a tensor in a run, piece by piece.
struct Rows {
  LoD lod;
  int64_t count = 0;
  uint8_t* to;
};

// An input in a run: its entries are sequences at a level or, without one, rows.
class Entries {
 public:
  // Error (kInvalidArgument): the level does not cut what is below it.
  static absl::StatusOr<Entries> Of(absl::string_view slot, const StepContext& run,
                                    const ReadShape& shape, size_t level, Buffer x,
                                    const TensorType& type) {
    const Dims dims = shape.DimsIn(run);
    const LoD lod = shape.LodIn(run);
    Entries entries;
    entries.from_ = run.Of<uint8_t>(x).data();
    entries.row_bytes_ = RowBytes(type);
    entries.count_ = dims[0];
    if (level < lod.size()) {
      RETURN_IF_ERROR(RowOffsets(slot, dims, lod, static_cast<int64_t>(level)).status());
      entries.lod_.assign(lod.begin() + static_cast<int64_t>(level), lod.end());
      entries.count_ = static_cast<int64_t>(entries.lod_[0].size()) - 1;
    }
    return entries;
  }

  int64_t count() const { return count_; }
  size_t levels() const { return lod_.size(); }

  // Appends an entry with the offsets in it.
  void AppendTo(int64_t entry, Rows* rows) const {
    uint64_t begin = static_cast<uint64_t>(entry);
    uint64_t end = begin + 1;
    for (size_t level = 0; level < lod_.size(); ++level) {
      const std::vector<uint64_t>& offsets = lod_[level];
      std::vector<uint64_t>& joined = rows->lod[level];
      const uint64_t last = joined.back();
      for (uint64_t i = begin + 1; i <= end; ++i) {
        joined.push_back(last + offsets[i] - offsets[begin]);
      }
      begin = offsets[begin];
      end = offsets[end];
    }
    const int64_t count = static_cast<int64_t>(end - begin);
    const int64_t bytes = count * row_bytes_;
    if (bytes > 0) {
      std::memcpy(rows->to, from_ + static_cast<int64_t>(begin) * row_bytes_, bytes);
    }
    rows->to += bytes;
    rows->count += count;
  }

 private:
  LoD lod_;
  const uint8_t* from_ = nullptr;
  int64_t row_bytes_ = 0;
  int64_t count_ = 0;
};

absl::Status CheckLevel(int64_t level, size_t levels) {
  if (level >= 0 && level <= static_cast<int64_t>(levels)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("level is ", level, " and X has ", levels,
                                                 " levels of offsets; want one of them, or 0"));
}

absl::StatusOr<size_t> LevelOf(const OpPlanner& op, size_t levels) {
  const int64_t level = op.attributes().Int("level");
  RETURN_IF_ERROR(CheckLevel(level, levels));
  return static_cast<size_t>(level);
}

absl::Status CheckEntries(absl::string_view slot, int64_t there, int64_t wanted) {
  if (there == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " has ", there, " rows or sequences; want ",
                                                 wanted, ", as many as Mask says"));
}

// Where an output goes.
struct RowsOutput {
  Buffer buffer;
  TensorType most;
  RunShape shape;

  static RowsOutput Of(OpPlanner& op, absl::string_view slot, const TensorType& most,
                       const std::vector<int64_t>& most_offsets) {
    RowsOutput output{op.WriteAs(slot, most), most, {}};
    output.shape = op.DecideShape(slot, most_offsets);
    return output;
  }

  Rows Begin(const StepContext& run, size_t levels) const {
    return {LoD(levels, {0}), 0, run.Of<uint8_t>(buffer).data()};
  }

  void End(const StepContext& run, const Rows& rows) const {
    const absl::Span<uint8_t> bytes = run.Of<uint8_t>(buffer);
    std::fill(rows.to, bytes.data() + most.size() * static_cast<int64_t>(ElementSize(most.dtype)),
              uint8_t{0});
    const absl::Span<int64_t> dims = run.Of<int64_t>(shape.dims);
    std::copy(most.dims.begin(), most.dims.end(), dims.begin());
    dims[0] = rows.count;
    DecideLod(run, shape, rows.lod);
  }
};

absl::Status CheckHasRows(absl::string_view slot, const Dims& dims) {
  if (!dims.empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(slot, " is a scalar; want rows"));
}

absl::Status PlanSplit(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  RETURN_IF_ERROR(CheckHasRows("X", type.dims));
  const ReadShape shape = ReadShape::Of(op, "X");
  const std::vector<int64_t> all_offsets = shape.most_offsets();
  ASSIGN_OR_RETURN(const size_t level, LevelOf(op, all_offsets.size()));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  ASSIGN_OR_RETURN(const Buffer mask, op.Read("Mask", VarType::BOOL));
  const std::vector<int64_t> most_offsets(all_offsets.begin() + static_cast<int64_t>(level),
                                          all_offsets.end());
  const RowsOutput sides[] = {RowsOutput::Of(op, "OutFalse", type, most_offsets),
                              RowsOutput::Of(op, "OutTrue", type, most_offsets)};
  std::vector<Buffer> reads = shape.buffers();
  reads.insert(reads.end(), {x, mask});
  std::vector<Buffer> writes;
  for (const RowsOutput& side : sides) {
    writes.push_back(side.buffer);
    for (const Buffer buffer : side.shape.buffers()) writes.push_back(buffer);
  }
  op.AddStep(
      {std::move(reads), std::move(writes),
       [=, on_false = sides[0], on_true = sides[1]](const StepContext& run) {
         ASSIGN_OR_RETURN(const Entries entries, Entries::Of("X", run, shape, level, x, type));
         const absl::Span<const bool> holds = run.Of<bool>(mask);
         RETURN_IF_ERROR(CheckEntries("X", entries.count(), static_cast<int64_t>(holds.size())));
         Rows false_rows = on_false.Begin(run, entries.levels());
         Rows true_rows = on_true.Begin(run, entries.levels());
         for (size_t i = 0; i < holds.size(); ++i) {
           entries.AppendTo(static_cast<int64_t>(i), holds[i] ? &true_rows : &false_rows);
         }
         // A side of which Mask says nothing has no offsets, as in the reference.
         const int64_t holding = std::count(holds.begin(), holds.end(), true);
         if (holding == 0) true_rows.lod.clear();
         if (holding == static_cast<int64_t>(holds.size())) false_rows.lod.clear();
         on_false.End(run, false_rows);
         on_true.End(run, true_rows);
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

absl::Status PlanMerge(OpPlanner& op) {
  const TensorType type = op.InputType("InTrue");
  RETURN_IF_ERROR(CheckHasRows("InTrue", type.dims));
  Dims wanted = op.InputDims("InFalse");
  if (!wanted.empty()) wanted[0] = type.dims[0];
  if (wanted != type.dims || op.InputType("InFalse").dtype != type.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "InTrue is ", DimsText(type.dims), " and InFalse ", DimsText(op.InputDims("InFalse")),
        "; want tensors of one type that differ in their rows alone"));
  }
  const ReadShape of_x = ReadShape::Of(op, "X");
  const ReadShape shapes[] = {ReadShape::Of(op, "InFalse"), ReadShape::Of(op, "InTrue")};
  ASSIGN_OR_RETURN(const size_t level, LevelOf(op, of_x.most_offsets().size()));
  ASSIGN_OR_RETURN(const Buffer in_false, op.Read("InFalse", type.dtype));
  ASSIGN_OR_RETURN(const Buffer in_true, op.Read("InTrue", type.dtype));
  ASSIGN_OR_RETURN(const Buffer mask, op.Read("Mask", VarType::BOOL));
  TensorType most = type;
  most.dims[0] += shapes[0].most[0];
  std::vector<int64_t> most_offsets = of_x.most_offsets();
  most_offsets.resize(level);
  const std::vector<int64_t> of_false = shapes[0].most_offsets();
  const std::vector<int64_t> of_true = shapes[1].most_offsets();
  for (size_t l = 0; l < std::max(of_false.size(), of_true.size()); ++l) {
    most_offsets.push_back((l < of_false.size() ? of_false[l] : 0) +
                           (l < of_true.size() ? of_true[l] : 0));
  }
  const RowsOutput out = RowsOutput::Of(op, "Out", most, most_offsets);
  std::vector<Buffer> reads = {in_false, in_true, mask};
  for (const ReadShape* shape : {&of_x, &shapes[0], &shapes[1]}) {
    for (const Buffer buffer : shape->buffers()) reads.push_back(buffer);
  }
  std::vector<Buffer> writes = out.shape.buffers();
  writes.push_back(out.buffer);
  op.AddStep({std::move(reads), std::move(writes),
              [=, false_shape = shapes[0], true_shape = shapes[1]](const StepContext& run) {
                ASSIGN_OR_RETURN(const Entries on_true,
                                 Entries::Of("InTrue", run, true_shape, 0, in_true, type));
                ASSIGN_OR_RETURN(const Entries on_false,
                                 Entries::Of("InFalse", run, false_shape, 0, in_false, type));
                const absl::Span<const bool> holds = run.Of<bool>(mask);
                const int64_t holding = std::count(holds.begin(), holds.end(), true);
                RETURN_IF_ERROR(CheckEntries("InTrue", on_true.count(), holding));
                RETURN_IF_ERROR(CheckEntries("InFalse", on_false.count(),
                                             static_cast<int64_t>(holds.size()) - holding));
                const size_t levels = (holding > 0 ? on_true : on_false).levels();
                const bool is_mixed = holding > 0 && holding < static_cast<int64_t>(holds.size());
                if (is_mixed && on_true.levels() != on_false.levels()) {
                  return absl::InvalidArgumentError(absl::StrCat(
                      "InTrue has ", on_true.levels(), " levels of offsets and InFalse ",
                      on_false.levels(), "; want as many"));
                }
                Rows rows = out.Begin(run, levels);
                int64_t next_true = 0;
                int64_t next_false = 0;
                for (const bool side : holds) {
                  if (side) {
                    on_true.AppendTo(next_true++, &rows);
                  } else {
                    on_false.AppendTo(next_false++, &rows);
                  }
                }
                const LoD above = of_x.LodIn(run);
                RETURN_IF_ERROR(CheckLevel(static_cast<int64_t>(level), above.size()));
                rows.lod.insert(rows.lod.begin(), above.begin(),
                                above.begin() + static_cast<int64_t>(level));
                out.End(run, rows);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans MaskedSequencePlans() {
  return {{"merge_lod_tensor", PlanMerge}, {"split_lod_tensor", PlanSplit}};
}

}  // namespace fixpoint::executor
