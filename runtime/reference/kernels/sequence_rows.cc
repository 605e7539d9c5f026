// Ops that move the rows of sequences.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The elements of a row.
int64_t RowWidth(const Array& x) { return ViewAround(x.dims, 0).inner; }

// An array of that many rows like those of x.
Array RowsLike(const Array& x, int64_t rows) {
  Dims dims = x.dims;
  dims[0] = rows;
  return Array(x.dtype, dims);
}

void CopyRow(const Array& from, int64_t row, int64_t to_row, Array* to) {
  const int64_t width = RowWidth(from);
  std::copy_n(from.values.begin() + row * width, width, to->values.begin() + to_row * width);
}

void AddRow(const Array& from, int64_t row, int64_t to_row, Array* to) {
  const int64_t width = RowWidth(*to);
  for (int64_t j = 0; j < width; ++j) (*to)[to_row * width + j] += from[row * width + j];
}

absl::Status CheckHasRows(const OpRun& op, const char* slot) {
  if (!op.Input(slot).dims.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " is a scalar; want rows"));
}

absl::StatusOr<std::vector<Sequence>> SequencesOfInput(const char* slot, const Array& x) {
  return SequencesOf(slot, x.dims, x.lod);
}

absl::Status Reverse(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfInput("X", x));
  Array y(x.dtype, x.dims);
  for (const Sequence& sequence : sequences) {
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      CopyRow(x, row, sequence.begin + sequence.end - 1 - row, &y);
    }
  }
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

// Calls f(input, row) with the rows of the result in their order, and gives its offsets. Error: the
// inputs have other numbers of sequences or other rows.
template <typename F>
absl::StatusOr<LoD> ForEachJoinedRow(const std::vector<const Array*>& inputs, F f) {
  if (inputs.empty()) return absl::InvalidArgumentError("X has no arguments; want one or more");
  std::vector<std::vector<Sequence>> all;
  for (const Array* x : inputs) {
    ASSIGN_OR_RETURN(std::vector<Sequence> sequences, SequencesOfInput("X", *x));
    if (!all.empty() &&
        (sequences.size() != all[0].size() || RowWidth(*x) != RowWidth(*inputs[0]))) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has ", all[0].size(), " sequences of rows of ", RowWidth(*inputs[0]),
                       " and ", sequences.size(), " of ", RowWidth(*x), "; want equal ones"));
    }
    all.push_back(std::move(sequences));
  }
  std::vector<int64_t> lengths;
  for (size_t s = 0; s < all[0].size(); ++s) {
    lengths.push_back(0);
    for (size_t i = 0; i < all.size(); ++i) {
      for (int64_t row = all[i][s].begin; row < all[i][s].end; ++row) f(i, row);
      lengths.back() += all[i][s].length();
    }
  }
  return LoD{OffsetsOf(lengths)};
}

absl::Status Concat(OpRun& op) {
  const std::vector<const Array*> inputs = op.Inputs("X");
  int64_t rows = 0;
  for (const Array* x : inputs) rows += x->dims.empty() ? 0 : x->dims[0];
  Array out = inputs.empty() || inputs[0]->dims.empty() ? Array() : RowsLike(*inputs[0], rows);
  int64_t to = 0;
  ASSIGN_OR_RETURN(out.lod, ForEachJoinedRow(inputs, [&](size_t i, int64_t row) {
                     CopyRow(*inputs[i], row, to++, &out);
                   }));
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ConcatGradient(OpRun& op) {
  const std::vector<const Array*> inputs = op.Inputs("X");
  const Array& dout = op.Input("Out@GRAD");
  int64_t rows = 0;
  std::vector<Array> dx;
  for (const Array* x : inputs) {
    rows += x->dims.empty() ? 0 : x->dims[0];
    dx.emplace_back(x->dtype, x->dims);
  }
  if (!inputs.empty()) {
    RETURN_IF_ERROR(op.CheckSize("Out@GRAD", rows * RowWidth(*inputs[0])));
  }
  int64_t from = 0;
  // The gradients are walked as their inputs are.
  RETURN_IF_ERROR(ForEachJoinedRow(inputs, [&](size_t i, int64_t row) {
                    AddRow(dout, from++, row, &dx[i]);
                  }).status());
  for (size_t i = 0; i < dx.size(); ++i) {
    op.SetOutput("X@GRAD", static_cast<int>(i), std::move(dx[i]));
  }
  return absl::OkStatus();
}

// The rows of X in pieces.
absl::Status CopyPieces(OpRun& op, const Pieces& pieces) {
  const Array& x = op.Input("X");
  Array out = RowsLike(x, pieces.rows());
  int64_t to = 0;
  for (const Sequence& piece : pieces.pieces) {
    for (int64_t row = piece.begin; row < piece.end; ++row) CopyRow(x, row, to++, &out);
  }
  out.lod = pieces.lod;
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status SumPieces(OpRun& op, const Pieces& pieces) {
  const Array& x = op.Input("X");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", pieces.rows() * RowWidth(x)));
  Array dx(x.dtype, x.dims);
  int64_t from = 0;
  for (const Sequence& piece : pieces.pieces) {
    for (int64_t row = piece.begin; row < piece.end; ++row) AddRow(dout, from++, row, &dx);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::StatusOr<Pieces> PiecesOfExpand(const OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(Pieces pieces, ExpandedPieces(x.dims, x.lod, op.Input("Y").dims,
                                                 op.Input("Y").lod, op.Int("ref_level")));
  // As in the reference, rows that were no sequences are none afterwards.
  if (x.lod.empty()) pieces.lod.clear();
  return pieces;
}

absl::StatusOr<Pieces> PiecesOfExpandAs(const OpRun& op) {
  return ExpandedAsPieces(op.Input("X").dims, op.Input("Y").dims, op.Input("Y").lod);
}

// The numbers of an input, one for each of `count` sequences.
absl::StatusOr<std::vector<int64_t>> CountsOf(const OpRun& op, const char* slot, size_t count) {
  RETURN_IF_ERROR(op.CheckSize(slot, static_cast<int64_t>(count)));
  std::vector<int64_t> counts;
  for (const double value : op.Input(slot).values) counts.push_back(ToInt(value));
  return counts;
}

absl::StatusOr<Pieces> PiecesOfSlice(const OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfInput("X", op.Input("X")));
  ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, CountsOf(op, "Offset", sequences.size()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, CountsOf(op, "Length", sequences.size()));
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

template <absl::StatusOr<Pieces> (*PiecesOf)(const OpRun&)>
absl::Status InPieces(OpRun& op) {
  RETURN_IF_ERROR(CheckHasRows(op, "X"));
  ASSIGN_OR_RETURN(const Pieces pieces, PiecesOf(op));
  return CopyPieces(op, pieces);
}

template <absl::StatusOr<Pieces> (*PiecesOf)(const OpRun&)>
absl::Status InPiecesGradient(OpRun& op) {
  RETURN_IF_ERROR(CheckHasRows(op, "X"));
  ASSIGN_OR_RETURN(const Pieces pieces, PiecesOf(op));
  return SumPieces(op, pieces);
}

// How long the padded sequences are.
absl::StatusOr<int64_t> PaddedLength(const OpRun& op, const std::vector<Sequence>& sequences) {
  int64_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.length());
  const int64_t given = op.Int("padded_length");
  if (given == -1) return longest;
  if (given < longest || given < 1) {
    return absl::InvalidArgumentError(absl::StrCat("padded_length is ", given,
                                                   "; want -1, or the length of the longest "
                                                   "sequence, ",
                                                   longest, ", or more"));
  }
  return given;
}

// [sequences, length, ...] for rows like X's.
Dims PaddedDims(const Array& x, size_t sequences, int64_t length) {
  Dims dims = {static_cast<int64_t>(sequences), length};
  std::copy(x.dims.begin() + 1, x.dims.end(), std::back_inserter(dims));
  return dims;
}

absl::Status Pad(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& padding = op.Input("PadValue");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfInput("X", x));
  ASSIGN_OR_RETURN(const int64_t length, PaddedLength(op, sequences));
  const int64_t width = RowWidth(x);
  if (padding.size() != 1 && padding.size() != width) {
    return absl::InvalidArgumentError(absl::StrCat("PadValue is ", DimsText(padding.dims),
                                                   "; want one number, or a row of ", width));
  }
  Array out(x.dtype, PaddedDims(x, sequences.size(), length));
  Array lengths(VarType::INT64, Dims{static_cast<int64_t>(sequences.size())});
  for (size_t s = 0; s < sequences.size(); ++s) {
    lengths[s] = static_cast<double>(sequences[s].length());
    for (int64_t t = 0; t < length; ++t) {
      for (int64_t j = 0; j < width; ++j) {
        out[(s * length + t) * width + j] = t < sequences[s].length()
                                                ? x[(sequences[s].begin + t) * width + j]
                                                : padding[padding.size() == 1 ? 0 : j];
      }
    }
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("Length", std::move(lengths));
  return absl::OkStatus();
}

absl::Status PadGradient(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfInput("X", x));
  ASSIGN_OR_RETURN(const int64_t length, PaddedLength(op, sequences));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", PaddedDims(x, sequences.size(), length)));
  Array dx(x.dtype, x.dims);
  for (size_t s = 0; s < sequences.size(); ++s) {
    for (int64_t t = 0; t < sequences[s].length(); ++t) {
      AddRow(op.Input("Out@GRAD"), static_cast<int64_t>(s) * length + t, sequences[s].begin + t,
             &dx);
    }
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status CheckPadded(const Array& x) {
  if (x.dims.size() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("X is ", DimsText(x.dims), "; want [sequences, length, ...]"));
}

// An array of rows like those of X [sequences, length, ...].
Array RowsOfPadded(const Array& x, int64_t rows) {
  Dims dims = {rows};
  std::copy(x.dims.begin() + 2, x.dims.end(), std::back_inserter(dims));
  return Array(x.dtype, dims);
}

absl::Status Unpad(OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(CheckPadded(x));
  ASSIGN_OR_RETURN(const std::vector<int64_t> lengths,
                   CountsOf(op, "Length", static_cast<size_t>(x.dims[0])));
  int64_t rows = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > x.dims[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("Length has ", length, "; want 0 to ", x.dims[1]));
    }
    rows += length;
  }
  Array out = RowsOfPadded(x, rows);
  const int64_t width = RowWidth(out);
  auto to = out.values.begin();
  for (size_t s = 0; s < lengths.size(); ++s) {
    to = std::copy_n(x.values.begin() + static_cast<int64_t>(s) * x.dims[1] * width,
                     lengths[s] * width, to);
  }
  out.lod = {OffsetsOf(lengths)};
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The offsets of the gradient say which rows are there.
absl::Status UnpadGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(CheckPadded(x));
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfInput("Out@GRAD", dout));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", RowsOfPadded(x, dout.dims[0]).dims));
  Array dx(x.dtype, x.dims);
  const int64_t width = RowWidth(dout);
  if (static_cast<int64_t>(sequences.size()) != x.dims[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat("Out@GRAD has ", sequences.size(), " sequences; want ", x.dims[0]));
  }
  for (size_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].length() > x.dims[1]) {
      return absl::InvalidArgumentError(absl::StrCat("Out@GRAD has a sequence of ",
                                                     sequences[s].length(), " rows; want ",
                                                     x.dims[1], " or fewer"));
    }
    std::copy_n(dout.values.begin() + sequences[s].begin * width, sequences[s].length() * width,
                dx.values.begin() + static_cast<int64_t>(s) * x.dims[1] * width);
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status Mask(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("out_dtype"));
  int64_t length = op.Int("maxlen");
  if (op.FindInput("MaxLenTensor") != nullptr) {
    RETURN_IF_ERROR(op.CheckSize("MaxLenTensor", 1));
    length = ToInt(op.Input("MaxLenTensor")[0]);
  }
  if (length == -1) {
    length = 0;
    for (const double value : x.values) length = std::max(length, ToInt(value));
  }
  if (length < 0 || length > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("maxlen is ", length, "; want a length"));
  }
  Dims dims = x.dims;
  dims.push_back(length);
  Array y(dtype, dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    for (int64_t j = 0; j < length; ++j) y[i * length + j] = static_cast<double>(j) < x[i];
  }
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

absl::Status Reshape(OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfInput("X", x));
  Array out = x;
  ASSIGN_OR_RETURN(out.lod, ReshapedLod(sequences, x.dims[1], op.Int("new_dim")));
  out.Reshape(Dims{static_cast<int64_t>(out.lod[0].back()), op.Int("new_dim")});
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Of ops that keep the elements of X in their order.
absl::Status KeptOrderGradient(OpRun& op) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", x.size()));
  Array dx(x.dtype, x.dims);
  dx.values = op.Input("Out@GRAD").values;
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status ResetOffsets(OpRun& op) {
  RETURN_IF_ERROR(CheckHasRows(op, "X"));
  Array out = op.Input("X");
  const Array* const y = op.FindInput("Y");
  const bool append = op.Bool("append");
  if (y != nullptr && !y->lod.empty()) {
    RETURN_IF_ERROR(SequencesOf("X", out.dims, y->lod).status());
    out.lod = y->lod;
  } else {
    std::vector<int64_t> offsets = op.Ints("target_lod");
    if (y != nullptr) {
      offsets.clear();
      for (const double value : y->values) offsets.push_back(ToInt(value));
    }
    ASSIGN_OR_RETURN(out.lod, ResetLod(out.dims, LoD(out.lod), offsets, append && y == nullptr));
  }
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels SequenceRowKernels() {
  return {{"sequence_reverse", Reverse},
          {"sequence_concat", Concat},
          {"sequence_concat_grad", ConcatGradient},
          {"sequence_expand", InPieces<PiecesOfExpand>},
          {"sequence_expand_grad", InPiecesGradient<PiecesOfExpand>},
          {"sequence_expand_as", InPieces<PiecesOfExpandAs>},
          {"sequence_expand_as_grad", InPiecesGradient<PiecesOfExpandAs>},
          {"sequence_slice", InPieces<PiecesOfSlice>},
          {"sequence_slice_grad", InPiecesGradient<PiecesOfSlice>},
          {"sequence_pad", Pad},
          {"sequence_pad_grad", PadGradient},
          {"sequence_unpad", Unpad},
          {"sequence_unpad_grad", UnpadGradient},
          {"sequence_mask", Mask},
          {"sequence_reshape", Reshape},
          {"sequence_reshape_grad", KeptOrderGradient},
          {"lod_reset", ResetOffsets},
          {"lod_reset_grad", KeptOrderGradient}};
}

}  // namespace fixpoint::reference
