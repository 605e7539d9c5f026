// Ops that move the rows of sequences. Offsets are known when they are planned; what depends on
// numbers of the run is planned only where those are known too.

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/row_extents.h"
#include "runtime/executor/ops/row_moves.h"
#include "runtime/executor/ops/run_sequences.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

// Rows are listed, one by one. Error (kInvalidArgument): they have no elements, so that there may
// be more of them than memory holds.
absl::Status CheckRows(absl::string_view slot, DimsView dims) {
  const bool has_elements = !dims.empty() && std::find(dims.begin(), dims.end(), 0) == dims.end();
  if (has_elements) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(dims), "; want rows with elements"));
}

absl::StatusOr<std::vector<Sequence>> SequencesOfX(const OpPlanner& op) {
  RETURN_IF_ERROR(CheckRows("X", op.InputDims("X")));
  return SequencesOf("X", op.InputDims("X"), op.InputLod("X"));
}

absl::Status PlanReverse(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfX(op));
  std::vector<int64_t> rows;
  for (const Sequence& sequence : sequences) {
    for (int64_t row = sequence.end - 1; row >= sequence.begin; --row) rows.push_back(row);
  }
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  return AddRowGather(op, type.dtype, ShareRows(std::move(rows)), RowSize(type.dims), x,
                      op.WriteAs("Y", type), op.type());
}

// Rows of an output: which input they are of, and which row of it.
struct JoinedRows {
  std::vector<std::pair<int, int64_t>> rows;
  LoD lod;
};

absl::StatusOr<JoinedRows> JoinedRowsOf(const OpPlanner& op) {
  const int count = op.InputCount("X");
  if (count == 0) return absl::InvalidArgumentError("X has no arguments; want one or more");
  std::vector<std::vector<Sequence>> all;
  for (int i = 0; i < count; ++i) {
    const Dims& dims = op.InputDims("X", i);
    RETURN_IF_ERROR(CheckRows("X", dims));
    ASSIGN_OR_RETURN(std::vector<Sequence> sequences,
                     SequencesOf("X", dims, op.builder().LodOf(op.InputValue("X", i))));
    const int64_t width = RowSize(dims);
    const int64_t first_width = RowSize(op.InputDims("X"));
    if (i > 0 && (sequences.size() != all[0].size() || width != first_width)) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has ", all[0].size(), " sequences of rows of ", first_width, " and ",
                       sequences.size(), " of ", width, "; want equal ones"));
    }
    all.push_back(std::move(sequences));
  }
  JoinedRows joined;
  std::vector<int64_t> lengths(all[0].size());
  for (size_t s = 0; s < lengths.size(); ++s) {
    for (int i = 0; i < count; ++i) {
      for (int64_t row = all[i][s].begin; row < all[i][s].end; ++row)
        joined.rows.push_back({i, row});
      lengths[s] += all[i][s].length();
    }
  }
  joined.lod = {OffsetsOf(lengths)};
  return joined;
}

absl::Status PlanConcat(OpPlanner& op) {
  ASSIGN_OR_RETURN(JoinedRows joined, JoinedRowsOf(op));
  const TensorType type = op.InputType("X");
  const int64_t width = RowSize(type.dims);
  std::vector<Buffer> inputs;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype, Layout::kRowMajor, i));
    inputs.push_back(x);
  }
  const Dims dims = WithRows(type.dims, static_cast<int64_t>(joined.rows.size()));
  const Buffer out = op.WriteAs("Out", {type.dtype, dims});
  op.CutOutput("Out", std::move(joined.lod));
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({inputs, {out}, [=, rows = std::move(joined.rows)](const StepContext& run) {
                  T* to = run.Of<T>(out).data();
                  for (const auto& [input, row] : rows) {
                    to = std::copy_n(run.Of<T>(inputs[input]).data() + row * width, width, to);
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanConcatGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const JoinedRows joined, JoinedRowsOf(op));
  const Dims& dims = op.InputDims("X");
  const int64_t width = RowSize(dims);
  RETURN_IF_ERROR(
      op.CheckDims("Out@GRAD", WithRows(dims, static_cast<int64_t>(joined.rows.size()))));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  for (int i = 0; i < op.InputCount("X"); ++i) {
    if (!op.Wants("X@GRAD", i)) continue;
    std::vector<int64_t> rows(joined.rows.size(), -1);
    for (size_t row = 0; row < rows.size(); ++row) {
      if (joined.rows[row].first == i) rows[row] = joined.rows[row].second;
    }
    AddRowSum(op, ShareRows(std::move(rows)), width, dout,
              op.WriteAs("X@GRAD", op.InputType("X", i), Layout::kRowMajor, i), op.type());
  }
  return absl::OkStatus();
}

using PiecesFunction = absl::StatusOr<Pieces> (*)(const OpPlanner&);

absl::StatusOr<Pieces> PiecesOfExpand(const OpPlanner& op) {
  const LoD& x_lod = op.InputLod("X");
  ASSIGN_OR_RETURN(Pieces pieces,
                   ExpandedPieces(op.InputDims("X"), x_lod, op.InputDims("Y"), op.InputLod("Y"),
                                  op.attributes().Int("ref_level")));
  // As in the reference, rows that were no sequences are none afterwards.
  if (x_lod.empty()) pieces.lod.clear();
  return pieces;
}

absl::StatusOr<Pieces> PiecesOfExpandAs(const OpPlanner& op) {
  return ExpandedAsPieces(op.InputDims("X"), op.InputDims("Y"), op.InputLod("Y"));
}

absl::StatusOr<Pieces> PiecesOfSlice(const OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfX(op));
  ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, KnownIntegers(op, "Offset"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, KnownIntegers(op, "Length"));
  for (const char* slot : {"Offset", "Length"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, static_cast<int64_t>(sequences.size())));
  }
  Pieces pieces;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const int64_t most = sequences[i].length();
    if (offsets[i] < 0 || lengths[i] < 0 || offsets[i] > most || lengths[i] > most - offsets[i]) {
      return absl::InvalidArgumentError(absl::StrCat("Offset ", i, " is ", offsets[i],
                                                     " and Length ", lengths[i],
                                                     "; want a part of the ", most, " rows"));
    }
    const int64_t begin = sequences[i].begin + offsets[i];
    pieces.pieces.push_back({begin, begin + lengths[i]});
  }
  pieces.lod = {OffsetsOf(lengths)};
  return pieces;
}

RowMap RowsOf(const Pieces& pieces) {
  std::vector<int64_t> rows;
  for (const Sequence& piece : pieces.pieces) {
    for (int64_t row = piece.begin; row < piece.end; ++row) rows.push_back(row);
  }
  return ShareRows(std::move(rows));
}

PlanFunction InPieces(PiecesFunction pieces_of) {
  return [pieces_of](OpPlanner& op) -> absl::Status {
    const TensorType type = op.InputType("X");
    RETURN_IF_ERROR(CheckRows("X", type.dims));
    ASSIGN_OR_RETURN(Pieces pieces, pieces_of(op));
    ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
    const Buffer out = op.WriteAs("Out", {type.dtype, WithRows(type.dims, pieces.rows())});
    op.CutOutput("Out", pieces.lod);
    return AddRowGather(op, type.dtype, RowsOf(pieces), RowSize(type.dims), x, out, op.type());
  };
}

absl::Status PlanExpand(OpPlanner& op) {
  const ReadShape x_shape = ReadShape::Of(op, "X");
  const ReadShape y_shape = ReadShape::OfAny(op, "Y");
  if (x_shape.decided || y_shape.decided) return PlanExpandInRun(op, x_shape, y_shape);
  return InPieces(PiecesOfExpand)(op);
}

PlanFunction InPiecesGradient(PiecesFunction pieces_of) {
  return [pieces_of](OpPlanner& op) -> absl::Status {
    const TensorType type = op.InputType("X");
    RETURN_IF_ERROR(CheckRows("X", type.dims));
    ASSIGN_OR_RETURN(const Pieces pieces, pieces_of(op));
    RETURN_IF_ERROR(op.CheckDims("Out@GRAD", WithRows(type.dims, pieces.rows())));
    ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
    AddRowSum(op, RowsOf(pieces), RowSize(type.dims), dout, op.WriteAs("X@GRAD", type), op.type());
    return absl::OkStatus();
  };
}

absl::StatusOr<int64_t> PaddedLength(const OpPlanner& op, const std::vector<Sequence>& sequences) {
  int64_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.length());
  const int64_t given = op.attributes().Int("padded_length");
  if (given == -1) return longest;
  if (given < longest || given < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("padded_length is ", given,
                     "; want -1, or the length of the longest sequence, ", longest, ", or more"));
  }
  return given;
}

// How sequences are padded: the row of X for each row of Out.
struct Padding {
  Dims dims;
  std::vector<int64_t> rows;  // -1: padding
};

absl::StatusOr<Padding> PaddingOf(const OpPlanner& op, const std::vector<Sequence>& sequences) {
  ASSIGN_OR_RETURN(const int64_t length, PaddedLength(op, sequences));
  const int64_t count = static_cast<int64_t>(sequences.size());
  constexpr int64_t kMostRows = int64_t{1} << 25;
  if (length > 0 && count > kMostRows / length) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " sequences padded to ", length, " rows; want no more than 2^25 rows"));
  }
  Padding padding;
  const Dims& x = op.InputDims("X");
  padding.dims = {count, length};
  std::copy(x.begin() + 1, x.end(), std::back_inserter(padding.dims));
  for (const Sequence& sequence : sequences) {
    for (int64_t t = 0; t < length; ++t) {
      padding.rows.push_back(t < sequence.length() ? sequence.begin + t : -1);
    }
  }
  return padding;
}

absl::Status PlanPad(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfX(op));
  ASSIGN_OR_RETURN(Padding padding, PaddingOf(op, sequences));
  const TensorType type = op.InputType("X");
  const int64_t width = RowSize(type.dims);
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  ASSIGN_OR_RETURN(const Buffer filling, op.Read("PadValue", type.dtype));
  if (filling.size != 1 && filling.size != width) {
    return absl::InvalidArgumentError(absl::StrCat("PadValue is ",
                                                   DimsText(op.InputDims("PadValue")),
                                                   "; want one number, or a row of ", width));
  }
  const Buffer out = op.WriteAs("Out", {type.dtype, padding.dims});
  RETURN_IF_ERROR(AddRowGather(op, type.dtype, ShareRows(std::move(padding.rows)), width, x, out,
                               op.type(), filling));
  if (!op.Wants("Length")) return absl::OkStatus();
  const Buffer lengths =
      op.WriteAs("Length", {VarType::INT64, {static_cast<int64_t>(sequences.size())}});
  op.AddStep({{},
              {lengths},
              [=](const StepContext& run) {
                int64_t* to = run.Of<int64_t>(lengths).data();
                for (const Sequence& sequence : sequences) *to++ = sequence.length();
                return absl::OkStatus();
              },
              "",
              0,
              "lengths of sequences"});
  return absl::OkStatus();
}

absl::Status PlanPadGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfX(op));
  ASSIGN_OR_RETURN(Padding padding, PaddingOf(op, sequences));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", padding.dims));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const TensorType type = op.InputType("X");
  AddRowSum(op, ShareRows(std::move(padding.rows)), RowSize(type.dims), dout,
            op.WriteAs("X@GRAD", type), op.type());
  return absl::OkStatus();
}

// X [sequences, length, ...] seen as rows, of which the first ones of each sequence count.
absl::StatusOr<std::vector<int64_t>> UnpaddedRows(const Dims& x,
                                                  const std::vector<int64_t>& lengths) {
  if (x.size() < 2 || x[0] != static_cast<int64_t>(lengths.size())) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and there are ",
                                                   lengths.size(),
                                                   " lengths; want [sequences, length, ...]"));
  }
  RETURN_IF_ERROR(CheckRows("X", x));
  std::vector<int64_t> rows;
  for (size_t s = 0; s < lengths.size(); ++s) {
    if (lengths[s] < 0 || lengths[s] > x[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("Length has ", lengths[s], "; want 0 to ", x[1]));
    }
    for (int64_t t = 0; t < lengths[s]; ++t) rows.push_back(static_cast<int64_t>(s) * x[1] + t);
  }
  return rows;
}

absl::Status PlanUnpad(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, KnownIntegers(op, "Length"));
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(std::vector<int64_t> rows, UnpaddedRows(type.dims, lengths));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  Dims dims = {static_cast<int64_t>(rows.size())};
  std::copy(type.dims.begin() + 2, type.dims.end(), std::back_inserter(dims));
  const Buffer out = op.WriteAs("Out", {type.dtype, dims});
  op.CutOutput("Out", {OffsetsOf(lengths)});
  return AddRowGather(op, type.dtype, ShareRows(std::move(rows)), RowSize(dims), x, out, op.type());
}

// The offsets of the gradient say which rows are there.
absl::Status PlanUnpadGradient(OpPlanner& op) {
  const Dims& dout_dims = op.InputDims("Out@GRAD");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("Out@GRAD", dout_dims, op.InputLod("Out@GRAD")));
  std::vector<int64_t> lengths;
  for (const Sequence& sequence : sequences) lengths.push_back(sequence.length());
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(std::vector<int64_t> rows, UnpaddedRows(type.dims, lengths));
  Dims dims = {static_cast<int64_t>(rows.size())};
  std::copy(type.dims.begin() + 2, type.dims.end(), std::back_inserter(dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  AddRowSum(op, ShareRows(std::move(rows)), RowSize(dims), dout, op.WriteAs("X@GRAD", type),
            op.type());
  return absl::OkStatus();
}

// How many places a mask has.
absl::StatusOr<int64_t> MaskLength(const OpPlanner& op) {
  int64_t length = op.attributes().Int("maxlen");
  if (op.HasInput("MaxLenTensor")) {
    RETURN_IF_ERROR(op.CheckSize("MaxLenTensor", 1));
    ASSIGN_OR_RETURN(const std::vector<int64_t> given, KnownIntegers(op, "MaxLenTensor"));
    length = given[0];
  }
  if (length == -1) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> x, KnownIntegers(op, "X"));
    length = 0;
    for (const int64_t one : x) length = std::max(length, one);
  }
  if (length < 0 || length > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("maxlen is ", length, "; want a length"));
  }
  return length;
}

absl::Status PlanMask(OpPlanner& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.attributes().DataType("out_dtype"));
  ASSIGN_OR_RETURN(const int64_t length, MaskLength(op));
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  Dims dims = type.dims;
  dims.push_back(length);
  RETURN_IF_ERROR(ElementCount(dims).status());
  const Buffer y = op.WriteAs("Y", {dtype, dims});
  return WithElementType(type.dtype, [&](auto from) {
    return WithElementType(dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      op.AddStep({{x}, {y}, [=](const StepContext& run) {
                    To* mask = run.Of<To>(y).data();
                    for (const From count : run.Of<From>(x)) {
                      for (int64_t j = 0; j < length; ++j) {
                        *mask++ =
                            static_cast<To>(static_cast<double>(j) < static_cast<double>(count));
                      }
                    }
                    return absl::OkStatus();
                  }});
      return absl::OkStatus();
    });
  });
}

absl::Status PlanReshape(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfX(op));
  const Dims& x = op.InputDims("X");
  if (x.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), "; want 2 dimensions"));
  }
  const int64_t width = op.attributes().Int("new_dim");
  ASSIGN_OR_RETURN(LoD lod, ReshapedLod(sequences, x[1], width));
  if (!op.Wants("Out")) return absl::OkStatus();
  const Dims dims = {static_cast<int64_t>(lod[0].back()), width};
  op.CutOutput("Out", std::move(lod));
  return op.builder().View(op.OutputValue("Out"), op.InputValue("X"), dims);
}

absl::Status PlanReset(OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  if (op.HasInput("Y")) {
    const ReadShape x_shape = ReadShape::Of(op, "X");
    const ReadShape y_shape = ReadShape::OfAny(op, "Y");
    const bool is_cut = !y_shape.most_offsets().empty();
    const bool is_decided = x_shape.decided || y_shape.decided;
    if (is_decided && is_cut) return PlanResetInRun(op, x_shape, y_shape);
    if (is_decided) return absl::UnimplementedError("Y has no offsets, and a run decides shapes");
  }
  LoD lod;
  if (op.HasInput("Y") && !op.InputLod("Y").empty()) {
    lod = op.InputLod("Y");
    RETURN_IF_ERROR(SequencesOf("X", x, lod).status());
  } else {
    std::vector<int64_t> offsets = op.attributes().Ints("target_lod");
    if (op.HasInput("Y")) {
      ASSIGN_OR_RETURN(offsets, KnownIntegers(op, "Y"));
    }
    const bool append = op.attributes().Bool("append") && !op.HasInput("Y");
    ASSIGN_OR_RETURN(lod, ResetLod(x, op.InputLod("X"), offsets, append));
  }
  if (!op.Wants("Out")) return absl::OkStatus();
  op.CutOutput("Out", std::move(lod));
  return op.builder().View(op.OutputValue("Out"), op.InputValue("X"), x);
}

// Of ops that keep the elements of X in their order.
absl::Status PlanKeptOrderGradient(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", op.InputType("X").size()));
  const VarType::Type dtype = op.InputType("X").dtype;
  if (op.InputType("Out@GRAD").dtype != dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("Out@GRAD is of ", TypeName(op.InputType("Out@GRAD").dtype), " and X of ",
                     TypeName(dtype), "; want one type"));
  }
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  return op.builder().View(op.OutputValue("X@GRAD"), op.InputValue("Out@GRAD"), op.InputDims("X"));
}

}  // namespace

OpPlans SequenceRowPlans() {
  return {{"sequence_reverse", PlanReverse, AlwaysRoundsOnce},
          {"sequence_concat", PlanConcat, AlwaysRoundsOnce},
          {"sequence_concat_grad", PlanConcatGradient},
          {"sequence_expand", PlanExpand, AlwaysRoundsOnce},
          {"sequence_expand_grad", InPiecesGradient(PiecesOfExpand)},
          {"sequence_expand_as", InPieces(PiecesOfExpandAs), AlwaysRoundsOnce},
          {"sequence_expand_as_grad", InPiecesGradient(PiecesOfExpandAs)},
          {"sequence_slice", InPieces(PiecesOfSlice), AlwaysRoundsOnce},
          {"sequence_slice_grad", InPiecesGradient(PiecesOfSlice)},
          {"sequence_pad", PlanPad, AlwaysRoundsOnce},
          {"sequence_pad_grad", PlanPadGradient},
          {"sequence_unpad", PlanUnpad, AlwaysRoundsOnce},
          {"sequence_unpad_grad", PlanUnpadGradient},
          {"sequence_mask", PlanMask, AlwaysRoundsOnce},
          {"sequence_reshape", PlanReshape, AlwaysRoundsOnce},
          {"sequence_reshape_grad", PlanKeptOrderGradient, AlwaysRoundsOnce},
          {"lod_reset", PlanReset, AlwaysRoundsOnce},
          {"lod_reset_grad", PlanKeptOrderGradient, AlwaysRoundsOnce}};
}

}  // namespace fixpoint::executor
