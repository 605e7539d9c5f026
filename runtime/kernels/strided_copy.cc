#include "runtime/kernels/strided_copy.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// One after the last element that a layout reaches. Error: it reaches in front of the first.
absl::StatusOr<int64_t> ReachOf(DimsView dims, const StridedLayout& layout) {
  if (layout.strides.size() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat("strides ", DimsText(layout.strides), " of ",
                                                   DimsText(dims), "; want one for each"));
  }
  int64_t first = layout.offset;
  int64_t last = layout.offset;
  for (size_t i = 0; i < dims.size(); ++i) {
    (layout.strides[i] < 0 ? first : last) += (dims[i] - 1) * layout.strides[i];
  }
  if (first < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a layout begins at element ", first, "; want 0 or more"));
  }
  return last + 1;
}

// How many elements on a side are transposed at once.
constexpr int64_t kTile = 16;

// Goes through a local buffer, so that the compiler knows all strides.
template <typename T>
void CopyTile(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  T tile[kTile * kTile];
  for (int64_t j = 0; j < kTile; ++j) {
    for (int64_t i = 0; i < kTile; ++i) tile[j * kTile + i] = from[j * from_stride + i];
  }
  for (int64_t i = 0; i < kTile; ++i) {
    for (int64_t j = 0; j < kTile; ++j) to[i * to_stride + j] = tile[j * kTile + i];
  }
}

// A matrix [rows, columns] whose columns are adjacent in `to`, and whose rows are adjacent in
// `from`.
template <typename T>
void CopyTransposed(int64_t rows, int64_t columns, const T* from, int64_t from_stride, T* to,
                    int64_t to_stride) {
  for (int64_t c = 0; c < columns; c += kTile) {
    const int64_t column_end = std::min(c + kTile, columns);
    for (int64_t r = 0; r < rows; r += kTile) {
      const int64_t row_end = std::min(r + kTile, rows);
      if (row_end - r == kTile && column_end - c == kTile) {
        CopyTile(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
        continue;
      }
      for (int64_t i = r; i < row_end; ++i) {
        for (int64_t j = c; j < column_end; ++j) to[i * to_stride + j] = from[j * from_stride + i];
      }
    }
  }
}

// The outermost level is split among threads, if it has so many places.
constexpr int64_t kLongLevel = 16;

}  // namespace

StridedLayout RowMajorLayout(DimsView dims) {
  StridedLayout layout;
  layout.strides.resize(dims.size());
  int64_t stride = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    layout.strides[i] = stride;
    stride *= dims[i];
  }
  return layout;
}

StridedLayout TransposedLayout(DimsView x, DimsView permutation) {
  CHECK_EQ(permutation.size(), x.size());
  const StridedLayout of_x = RowMajorLayout(x);
  StridedLayout layout;
  for (const int64_t axis : permutation) layout.strides.push_back(of_x.strides[axis]);
  return layout;
}

StridedLayout SlicedLayout(DimsView x, DimsView starts, DimsView steps) {
  CHECK_EQ(starts.size(), x.size());
  CHECK_EQ(steps.size(), x.size());
  StridedLayout layout = RowMajorLayout(x);
  for (size_t i = 0; i < x.size(); ++i) {
    layout.offset += starts[i] * layout.strides[i];
    layout.strides[i] *= steps[i];
  }
  return layout;
}

absl::StatusOr<std::unique_ptr<StridedCopy>> StridedCopy::Plan(DimsView dims,
                                                               const StridedLayout& from,
                                                               const StridedLayout& to) {
  RETURN_IF_ERROR(CheckExtents("elements", dims));
  std::unique_ptr<StridedCopy> copy(new StridedCopy());
  ASSIGN_OR_RETURN(copy->from_size_, ReachOf(dims, from));
  ASSIGN_OR_RETURN(copy->to_size_, ReachOf(dims, to));
  copy->from_offset_ = from.offset;
  copy->to_offset_ = to.offset;
  auto& levels = copy->levels_;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > 1) levels.push_back({dims[i], from.strides[i], to.strides[i]});
  }
  // The levels in the order in which they are written, the innermost last.
  std::stable_sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) {
    return std::abs(a.to_stride) > std::abs(b.to_stride);
  });
  for (int i = static_cast<int>(levels.size()) - 2; i >= 0; --i) {
    const Level& inner = levels[i + 1];
    if (levels[i].from_stride != inner.size * inner.from_stride ||
        levels[i].to_stride != inner.size * inner.to_stride) {
      continue;
    }
    levels[i] = {levels[i].size * inner.size, inner.from_stride, inner.to_stride};
    levels.erase(levels.begin() + i + 1);
  }
  // A block is the innermost level and the level that is adjacent in `from`, if there is one.
  if (levels.size() > 2 && levels.back().from_stride != 1) {
    const auto adjacent = std::find_if(levels.begin(), levels.end() - 1,
                                       [](const Level& level) { return level.from_stride == 1; });
    if (adjacent != levels.end() - 1) std::rotate(adjacent, adjacent + 1, levels.end() - 1);
  }
  while (levels.size() < 2) levels.insert(levels.begin(), {1, 1, 1});
  return copy;
}

template <typename T>
inline void StridedCopy::CopyLevels(const Levels& levels, const T* from, T* to) {
  const Level rows = levels[levels.size() - 2];
  const Level columns = levels[levels.size() - 1];
  const int outer = static_cast<int>(levels.size()) - 2;
  absl::InlinedVector<int64_t, 9> index(outer, 0);
  int64_t from_at = 0;
  int64_t to_at = 0;
  for (bool has_more = true; has_more;) {
    if (columns.from_stride == 1 && columns.to_stride == 1) {
      for (int64_t i = 0; i < rows.size; ++i) {
        std::memcpy(to + to_at + i * rows.to_stride, from + from_at + i * rows.from_stride,
                    columns.size * sizeof(T));
      }
    } else if (columns.to_stride == 1 && rows.from_stride == 1) {
      CopyTransposed(rows.size, columns.size, from + from_at, columns.from_stride, to + to_at,
                     rows.to_stride);
    } else {
      for (int64_t i = 0; i < rows.size; ++i) {
        const T* const from_row = from + from_at + i * rows.from_stride;
        T* const to_row = to + to_at + i * rows.to_stride;
#pragma GCC ivdep
        for (int64_t j = 0; j < columns.size; ++j) {
          to_row[j * columns.to_stride] = from_row[j * columns.from_stride];
        }
      }
    }
    has_more = false;
    for (int i = outer - 1; i >= 0; --i) {
      const Level& level = levels[i];
      from_at += level.from_stride;
      to_at += level.to_stride;
      if (++index[i] < level.size) {
        has_more = true;
        break;
      }
      index[i] = 0;
      from_at -= level.from_stride * level.size;
      to_at -= level.to_stride * level.size;
    }
  }
}

template <typename T>
void StridedCopy::Run(absl::Span<const T> all_from, absl::Span<T> all_to) const {
  CHECK_LE(from_size_, static_cast<int64_t>(all_from.size()));
  CHECK_LE(to_size_, static_cast<int64_t>(all_to.size()));
  // The outermost level is split into parts, unless it is too short for that.
  const auto is_longer = [](const Level& a, const Level& b) { return a.size < b.size; };
  const auto shared = levels_.front().size >= kLongLevel
                          ? levels_.begin()
                          : std::max_element(levels_.begin(), levels_.end(), is_longer);
  int64_t size = 1;
  for (const Level& level : levels_) size *= level.size;
  ParallelFor(shared->size, 2 * sizeof(T) * size / shared->size,
              [this, at = shared - levels_.begin(), from = all_from.data() + from_offset_,
               to = all_to.data() + to_offset_](int64_t begin, int64_t end) {
                Levels levels = levels_;
                levels[at].size = end - begin;
                CopyLevels(levels, from + begin * levels[at].from_stride,
                           to + begin * levels[at].to_stride);
              });
}

template void StridedCopy::Run(absl::Span<const float>, absl::Span<float>) const;
template void StridedCopy::Run(absl::Span<const int16_t>, absl::Span<int16_t>) const;
template void StridedCopy::Run(absl::Span<const int32_t>, absl::Span<int32_t>) const;
template void StridedCopy::Run(absl::Span<const int64_t>, absl::Span<int64_t>) const;
template void StridedCopy::Run(absl::Span<const int8_t>, absl::Span<int8_t>) const;
template void StridedCopy::Run(absl::Span<const uint8_t>, absl::Span<uint8_t>) const;

}  // namespace fixpoint::kernels
