#include "runtime/kernels/selected_rows.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>

namespace fixpoint::kernels {
namespace {

void CheckSizes(const SelectedRows& rows) {
  CHECK_EQ(rows.values.size(), rows.ids.size() * static_cast<size_t>(rows.width));
}

// Calls f(values, start): the values of a row, and where the row starts in the table.
template <typename F>
void ForEachRow(const SelectedRows& rows, F f) {
  CheckSizes(rows);
  const auto width = static_cast<size_t>(rows.width);
  for (size_t r = 0; r < rows.ids.size(); ++r) {
    f(rows.values.subspan(r * width, width), static_cast<size_t>(rows.ids[r]) * width);
  }
}

}  // namespace

int64_t MergeRows(const SelectedRows& rows, absl::Span<int64_t> order, absl::Span<int64_t> ids,
                  absl::Span<float> values) {
  CheckSizes(rows);
  CHECK_EQ(order.size(), rows.ids.size());
  CHECK_EQ(ids.size(), rows.ids.size());
  CHECK_EQ(values.size(), rows.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&rows](int64_t a, int64_t b) {
    return rows.ids[a] != rows.ids[b] ? rows.ids[a] < rows.ids[b] : a < b;
  });
  std::fill(values.begin(), values.end(), 0.0f);
  int64_t count = 0;
  for (const int64_t r : order) {
    if (count == 0 || ids[count - 1] != rows.ids[r]) ids[count++] = rows.ids[r];
    const float* const from = rows.values.data() + r * rows.width;
    float* const to = values.data() + (count - 1) * rows.width;
#pragma GCC ivdep
    for (int64_t j = 0; j < rows.width; ++j) to[j] += from[j];
  }
  std::fill(ids.begin() + count, ids.end(), 0);
  return count;
}

void FillTable(const SelectedRows& rows, absl::Span<float> table) {
  std::fill(table.begin(), table.end(), 0.0f);
  ForEachRow(rows, [&](absl::Span<const float> values, size_t start) {
    float* const to = table.data() + start;
#pragma GCC ivdep
    for (size_t j = 0; j < values.size(); ++j) to[j] += values[j];
  });
}

void SgdOfRows(const SelectedRows& grad, float learning_rate, absl::Span<float> param) {
  ForEachRow(grad, [&](absl::Span<const float> values, size_t start) {
    Sgd(values, learning_rate, param.subspan(start, values.size()));
  });
}

void AdagradOfRows(float epsilon, const SelectedRows& grad, float learning_rate,
                   absl::Span<float> param, absl::Span<float> moment) {
  ForEachRow(grad, [&](absl::Span<const float> values, size_t start) {
    Adagrad(epsilon, values, learning_rate, param.subspan(start, values.size()),
            moment.subspan(start, values.size()));
  });
}

void AdamOfRows(const AdamRule& rule, const SelectedRows& grad, float learning_rate,
                absl::Span<float> param, const Moments& moments) {
  ForEachRow(grad, [&](absl::Span<const float> values, size_t start) {
    Moments of_row = moments;
    of_row.first = moments.first.subspan(start, values.size());
    of_row.second = moments.second.subspan(start, values.size());
    Adam(rule, values, learning_rate, param.subspan(start, values.size()), of_row);
  });
}

}  // namespace fixpoint::kernels
