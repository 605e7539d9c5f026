#include "runtime/reference/kernels/array_pieces.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {

Array Piece(const Array& x, size_t level, int64_t begin, int64_t end) {
  Array piece;
  for (size_t l = level; l < x.lod.size(); ++l) {
    const std::vector<uint64_t>& offsets = x.lod[l];
    std::vector<uint64_t> inner;
    for (int64_t i = begin; i <= end; ++i) inner.push_back(offsets[i] - offsets[begin]);
    piece.lod.push_back(std::move(inner));
    std::tie(begin, end) = std::pair<int64_t, int64_t>(offsets[begin], offsets[end]);
  }
  const int64_t width = ViewAround(x.dims, 0).inner;
  piece.dtype = x.dtype;
  piece.dims = x.dims;
  piece.dims[0] = end - begin;
  piece.values.assign(x.values.begin() + begin * width, x.values.begin() + end * width);
  return piece;
}

absl::Status Append(const Array& piece, Array* joined) {
  const bool is_alike =
      piece.dtype == joined->dtype && piece.rank() == joined->rank() &&
      std::equal(piece.dims.begin() + 1, piece.dims.end(), joined->dims.begin() + 1) &&
      piece.lod.size() == joined->lod.size();
  if (!is_alike) {
    return absl::InvalidArgumentError(absl::StrCat("tensors are ", DimsText(joined->dims), " and ",
                                                   DimsText(piece.dims),
                                                   "; want them equal but for their rows"));
  }
  for (size_t l = 0; l < piece.lod.size(); ++l) {
    std::vector<uint64_t>& offsets = joined->lod[l];
    const uint64_t begin = offsets.back();
    for (size_t i = 1; i < piece.lod[l].size(); ++i) offsets.push_back(begin + piece.lod[l][i]);
  }
  joined->dims[0] += piece.dims[0];
  joined->values.insert(joined->values.end(), piece.values.begin(), piece.values.end());
  return absl::OkStatus();
}

Array NoneOf(const Array& x, size_t levels) {
  Array none;
  none.dtype = x.dtype;
  none.dims = x.dims;
  none.dims[0] = 0;
  none.lod.assign(levels, {0});
  return none;
}

absl::Status CheckLod(absl::string_view slot, const Array& x) {
  if (x.rank() < 1) return absl::InvalidArgumentError(absl::StrCat(slot, " is a scalar"));
  for (size_t l = 0; l < x.lod.size(); ++l) {
    const std::vector<uint64_t>& offsets = x.lod[l];
    const uint64_t end = l + 1 < x.lod.size() ? (x.lod[l + 1].empty() ? 0 : x.lod[l + 1].size() - 1)
                                              : static_cast<uint64_t>(x.dims[0]);
    const bool is_right = !offsets.empty() && offsets.front() == 0 && offsets.back() == end &&
                          std::is_sorted(offsets.begin(), offsets.end());
    if (is_right) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("level ", l, " of ", slot, "'s offsets does not cut what is below it"));
  }
  return absl::OkStatus();
}

int64_t EntryCount(const Array& x, size_t level) {
  return level < x.lod.size() ? static_cast<int64_t>(x.lod[level].size()) - 1 : x.dims[0];
}

}  // namespace fixpoint::reference
