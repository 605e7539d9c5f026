#include "runtime/kernels/lookup.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

template <typename Element>
void CheckSizes(const TableShape& shape, absl::Span<Element> table, size_t ids,
                absl::Span<const float> out) {
  CHECK_EQ(static_cast<int64_t>(table.size()), shape.rows * shape.width);
  CHECK_EQ(static_cast<int64_t>(out.size()), static_cast<int64_t>(ids) * shape.width);
}

}  // namespace

absl::Status CheckIds(const TableShape& shape, absl::Span<const int64_t> ids) {
  for (const int64_t id : ids) {
    if (id == shape.padding || (id >= 0 && id < shape.rows)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("an id is ", id, "; want 0 to ", shape.rows - 1));
  }
  return absl::OkStatus();
}

void LookUp(const TableShape& shape, absl::Span<const float> table, absl::Span<const int64_t> ids,
            absl::Span<float> out) {
  CheckSizes(shape, table, ids.size(), out);
  ParallelFor(ids.size(), 8 * shape.width,
              [=, table = table.data(), out = out.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  float* const row = out + i * shape.width;
                  if (ids[i] == shape.padding) {
                    std::fill_n(row, shape.width, 0.0f);
                  } else {
                    std::copy_n(table + ids[i] * shape.width, shape.width, row);
                  }
                }
              });
}

void LookUp(const TableShape& shape, absl::Span<const int8_t> codes, const RowScales& rows,
            absl::Span<const int64_t> ids, absl::Span<float> out) {
  CheckSizes(shape, codes, ids.size(), out);
  const auto is_of_rows = [&shape](size_t size) {
    return size == 1 || static_cast<int64_t>(size) == shape.rows;
  };
  CHECK(is_of_rows(rows.scales.size()));
  CHECK(rows.offsets.empty() || is_of_rows(rows.offsets.size()));
  const auto largest = static_cast<float>(rows.largest_code);
  ParallelFor(ids.size(), 5 * shape.width,
              [=, codes = codes.data(), out = out.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  float* const row = out + i * shape.width;
                  const int64_t id = ids[i];
                  if (id == shape.padding) {
                    std::fill_n(row, shape.width, 0.0f);
                    continue;
                  }
                  const int8_t* const from = codes + id * shape.width;
                  const float scale = rows.scales[rows.scales.size() == 1 ? 0 : id];
                  const auto offset = static_cast<float>(
                      rows.offsets.empty() ? 0 : rows.offsets[rows.offsets.size() == 1 ? 0 : id]);
#pragma GCC ivdep
                  for (int64_t j = 0; j < shape.width; ++j) {
                    row[j] = (static_cast<float>(from[j]) - offset) * scale / largest;
                  }
                }
              });
}

void LookUpRows(const TableShape& shape, RowFormat format, absl::Span<const uint8_t> rows,
                absl::Span<const int64_t> ids, absl::Span<float> out) {
  CHECK_EQ(static_cast<int64_t>(rows.size()), shape.rows * shape.width);
  if (ids.empty()) return;
  const size_t columns = out.size() / ids.size();
  const auto width = static_cast<size_t>(shape.width);
  ParallelFor(ids.size(), 5 * static_cast<int64_t>(columns), [=](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const absl::Span<float> row = out.subspan(i * columns, columns);
      if (ids[i] == shape.padding) {
        std::fill(row.begin(), row.end(), 0.0f);
      } else {
        DecodeRow(format, rows.subspan(static_cast<size_t>(ids[i]) * width, width), row);
      }
    }
  });
}

void LookUpPacked(const TableShape& shape, absl::Span<const float> table,
                  absl::Span<const int64_t> ids, absl::Span<float> out) {
  const int64_t codes = 4 * (shape.width - 2);
  CHECK_EQ(static_cast<int64_t>(table.size()), shape.rows * shape.width);
  CHECK_EQ(out.size(), ids.size() * static_cast<size_t>(codes));
  ParallelFor(ids.size(), 5 * codes,
              [=, table = table.data(), out = out.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  float* const row = out + i * codes;
                  if (ids[i] == shape.padding) {
                    std::fill_n(row, codes, 0.0f);
                    continue;
                  }
                  const float* const from = table + ids[i] * shape.width;
                  const float min = from[0];
                  const float step = (from[1] - min) / 256;
                  const auto* const bytes = reinterpret_cast<const uint8_t*>(from + 2);
#pragma GCC ivdep
                  for (int64_t j = 0; j < codes; ++j) {
                    row[j] = step * static_cast<float>(bytes[j]) + min;
                  }
                }
              });
}

void LookUpBackward(const TableShape& shape, absl::Span<const int64_t> ids,
                    absl::Span<const float> dout, absl::Span<float> dtable) {
  CheckSizes(shape, dtable, ids.size(), dout);
  std::fill(dtable.begin(), dtable.end(), 0.0f);
  // Threads write different columns.
  const int64_t bytes_of_column = 12 * static_cast<int64_t>(ids.size());
  ParallelFor(shape.width, bytes_of_column,
              [=, dout = dout.data(), dtable = dtable.data()](int64_t begin, int64_t end) {
                for (size_t i = 0; i < ids.size(); ++i) {
                  if (ids[i] == shape.padding) continue;
                  const float* const from = dout + i * shape.width;
                  float* const to = dtable + ids[i] * shape.width;
#pragma GCC ivdep
                  for (int64_t j = begin; j < end; ++j) to[j] += from[j];
                }
              });
}

}  // namespace fixpoint::kernels
