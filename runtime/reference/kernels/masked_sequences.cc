// Rows or sequences that a mask divides, and joins again.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/array_pieces.h"

namespace fixpoint::reference {
namespace {

absl::StatusOr<size_t> LevelOf(const OpRun& op, const Array& x) {
  const int64_t level = op.Int("level");
  if (level >= 0 && level <= static_cast<int64_t>(x.lod.size())) return static_cast<size_t>(level);
  return absl::InvalidArgumentError(absl::StrCat("level is ", level, " and X has ", x.lod.size(),
                                                 " levels of offsets; want one of them, or 0"));
}

// How many entries of a mask hold.
int64_t HoldingIn(const Array& mask) {
  return std::count_if(mask.values.begin(), mask.values.end(),
                       [](double holds) { return holds != 0; });
}

absl::Status CheckEntries(absl::string_view slot, int64_t there, int64_t wanted) {
  if (there == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " has ", there, " rows or sequences; want ",
                                                 wanted, ", as many as Mask says"));
}

// A side of which Mask says nothing has no offsets, as in the reference.
absl::Status Split(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& mask = op.Input("Mask");
  RETURN_IF_ERROR(CheckLod("X", x));
  ASSIGN_OR_RETURN(const size_t level, LevelOf(op, x));
  RETURN_IF_ERROR(CheckEntries("X", EntryCount(x, level), mask.size()));
  const size_t levels = x.lod.size() - std::min(level, x.lod.size());
  for (const bool side : {true, false}) {
    const int64_t holding = HoldingIn(mask);
    const bool is_empty = (side ? holding : mask.size() - holding) == 0;
    Array out = NoneOf(x, is_empty ? 0 : levels);
    for (int64_t i = 0; i < mask.size(); ++i) {
      if ((mask[i] != 0) == side) RETURN_IF_ERROR(Append(Piece(x, level, i, i + 1), &out));
    }
    op.SetCutOutput(side ? "OutTrue" : "OutFalse", std::move(out));
  }
  return absl::OkStatus();
}

absl::Status Merge(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& mask = op.Input("Mask");
  const Array& in_true = op.Input("InTrue");
  const Array& in_false = op.Input("InFalse");
  RETURN_IF_ERROR(CheckLod("InTrue", in_true));
  RETURN_IF_ERROR(CheckLod("InFalse", in_false));
  ASSIGN_OR_RETURN(const size_t level, LevelOf(op, x));
  const int64_t holding = HoldingIn(mask);
  RETURN_IF_ERROR(CheckEntries("InTrue", EntryCount(in_true, 0), holding));
  RETURN_IF_ERROR(CheckEntries("InFalse", EntryCount(in_false, 0), mask.size() - holding));
  const Array& like = holding > 0 ? in_true : in_false;
  Array out = NoneOf(like, like.lod.size());
  int64_t next_true = 0;
  int64_t next_false = 0;
  for (int64_t i = 0; i < mask.size(); ++i) {
    const bool holds = mask[i] != 0;
    const int64_t entry = holds ? next_true++ : next_false++;
    RETURN_IF_ERROR(Append(Piece(holds ? in_true : in_false, 0, entry, entry + 1), &out));
  }
  out.lod.insert(out.lod.begin(), x.lod.begin(), x.lod.begin() + level);
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels MaskedSequenceKernels() {
  return {{"merge_lod_tensor", Merge}, {"split_lod_tensor", Split}};
}

}  // namespace fixpoint::reference
