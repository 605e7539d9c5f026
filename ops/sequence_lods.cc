#include "ops/sequence_lods.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Pieces are listed: more of them are those of a damaged file.
constexpr int64_t kMostRows = int64_t{1} << 25;

// Adds a piece `times` times. Error: there are too many.
absl::Status Repeat(const Sequence& piece, int64_t times, int64_t* rows, Pieces* pieces) {
  if (times > 0 && (static_cast<int64_t>(pieces->pieces.size()) + times > kMostRows ||
                    piece.length() > (kMostRows - *rows) / times)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a piece of ", piece.length(), " rows is repeated ", times,
                     " times; want no more than ", kMostRows, " rows"));
  }
  *rows += piece.length() * times;
  pieces->pieces.insert(pieces->pieces.end(), times, piece);
  return absl::OkStatus();
}

// Error: the offsets at a level do not cut what is below them, sequences or rows.
absl::Status CheckLevel(absl::string_view slot, DimsView dims, const LoD& lod, size_t index) {
  const std::vector<uint64_t>& level = lod[index];
  const bool is_last = index + 1 == lod.size();
  const uint64_t below = is_last ? (dims.empty() ? 0 : static_cast<uint64_t>(dims[0]))
                                 : static_cast<uint64_t>(lod[index + 1].size()) - 1;
  const bool fits = !level.empty() && level.front() == 0 &&
                    std::is_sorted(level.begin(), level.end()) && level.back() == below;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      slot, " is ", DimsText(dims), ", and its offsets do not cut it; want them ascending from 0"));
}

}  // namespace

int64_t Pieces::rows() const {
  int64_t rows = 0;
  for (const Sequence& piece : pieces) rows += piece.length();
  return rows;
}

std::vector<uint64_t> OffsetsOf(absl::Span<const int64_t> lengths) {
  std::vector<uint64_t> offsets = {0};
  for (const int64_t length : lengths) {
    offsets.push_back(offsets.back() + static_cast<uint64_t>(length));
  }
  return offsets;
}

absl::StatusOr<Pieces> ExpandedPieces(DimsView x, const LoD& x_lod, DimsView y, const LoD& y_lod,
                                      int64_t ref_level) {
  const int64_t levels = static_cast<int64_t>(y_lod.size());
  const int64_t level = ref_level == -1 ? levels - 1 : ref_level;
  if (level < 0 || level >= levels || x_lod.size() > 1 || x.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("Y has ", levels, " levels of offsets, X ",
                                                   x_lod.size(), " and ref_level is ", ref_level,
                                                   "; want a level of Y, and at most one of X"));
  }
  RETURN_IF_ERROR(CheckLevel("Y", y, y_lod, static_cast<size_t>(level)));
  std::vector<Sequence> of_x;
  if (x_lod.empty() && x[0] > kMostRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want no more than ", kMostRows, " rows"));
  }
  if (x_lod.empty()) {
    for (int64_t row = 0; row < x[0]; ++row) of_x.push_back({row, row + 1});
  } else {
    ASSIGN_OR_RETURN(of_x, SequencesOf("X", x, x_lod));
  }
  const std::vector<uint64_t>& repeats = y_lod[level];
  if (repeats.size() != of_x.size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat("Y has ", repeats.size() - 1,
                                                   " sequences at level ", level, " and X ",
                                                   of_x.size(), "; want as many"));
  }
  Pieces pieces;
  int64_t rows = 0;
  for (size_t i = 0; i < of_x.size(); ++i) {
    const int64_t times = static_cast<int64_t>(repeats[i + 1] - repeats[i]);
    RETURN_IF_ERROR(Repeat(of_x[i], times, &rows, &pieces));
  }
  if (!x_lod.empty()) {
    std::vector<int64_t> lengths;
    for (const Sequence& piece : pieces.pieces) lengths.push_back(piece.length());
    pieces.lod = {OffsetsOf(lengths)};
  } else {
    pieces.lod = {repeats};
  }
  return pieces;
}

absl::StatusOr<Pieces> ExpandedAsPieces(DimsView x, DimsView y, const LoD& y_lod) {
  if (y_lod.size() != 1 || x.empty() || static_cast<int64_t>(y_lod[0].size()) - 1 != x[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat("Y has ", y_lod.size(), " levels of offsets and X is ", DimsText(x),
                     "; want one level, with a sequence for each row of X"));
  }
  RETURN_IF_ERROR(CheckLevel("Y", y, y_lod, 0));
  Pieces pieces;
  int64_t rows = 0;
  for (int64_t row = 0; row < x[0]; ++row) {
    const int64_t times = static_cast<int64_t>(y_lod[0][row + 1] - y_lod[0][row]);
    RETURN_IF_ERROR(Repeat({row, row + 1}, times, &rows, &pieces));
  }
  pieces.lod = y_lod;
  return pieces;
}

absl::StatusOr<std::vector<uint64_t>> RowOffsets(absl::string_view slot, DimsView dims,
                                                 const LoD& lod, int64_t level) {
  if (level < 0 || level >= static_cast<int64_t>(lod.size())) {
    return absl::InvalidArgumentError(absl::StrCat("level is ", level, " and ", slot, " has ",
                                                   lod.size(),
                                                   " levels of offsets; want one of them"));
  }
  for (size_t i = static_cast<size_t>(level); i < lod.size(); ++i) {
    RETURN_IF_ERROR(CheckLevel(slot, dims, lod, i));
  }
  std::vector<uint64_t> rows = lod[level];
  for (size_t i = static_cast<size_t>(level) + 1; i < lod.size(); ++i) {
    for (uint64_t& row : rows) row = lod[i][row];
  }
  return rows;
}

absl::StatusOr<LoD> ReshapedLod(absl::Span<const Sequence> sequences, int64_t width,
                                int64_t new_width) {
  std::vector<int64_t> lengths;
  for (const Sequence& sequence : sequences) {
    int64_t elements = 0;
    if (new_width < 1 || __builtin_mul_overflow(sequence.length(), width, &elements) ||
        elements % new_width != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("new_dim is ", new_width, " and a sequence has ", sequence.length(),
                       " rows of ", width, "; want it to divide their elements"));
    }
    lengths.push_back(elements / new_width);
  }
  return LoD{OffsetsOf(lengths)};
}

absl::StatusOr<LoD> ResetLod(DimsView x, const LoD& x_lod, absl::Span<const int64_t> offsets,
                             bool append) {
  const bool fits = !x.empty() && !offsets.empty() && offsets.front() == 0 &&
                    offsets.back() == x[0] && std::is_sorted(offsets.begin(), offsets.end());
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("the offsets are ", DimsText(offsets), " and X is ", DimsText(x),
                     "; want them ascending from 0 to the number of its rows"));
  }
  LoD lod = append ? x_lod : LoD();
  lod.emplace_back(offsets.begin(), offsets.end());
  return lod;
}

}  // namespace fixpoint
