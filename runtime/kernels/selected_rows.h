// Some rows of a table [height, width], such as the gradient of a sparse embedding, and updates
// that touch no other rows.

#ifndef FIXPOINT_RUNTIME_KERNELS_SELECTED_ROWS_H_
#define FIXPOINT_RUNTIME_KERNELS_SELECTED_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/optimizers.h"

namespace fixpoint::kernels {

// values [ids, width]. REQUIRES, wherever a table is given: each id is one of its rows.
struct SelectedRows {
  absl::Span<const int64_t> ids;
  absl::Span<const float> values;
  int64_t width = 1;
};

// A row for each id, ids ascending: the sum of its rows, in their order. Returns how many there
// are, and writes zeros after them. REQUIRES: all spans have room for as many as `rows` has; no
// memory is shared.
int64_t MergeRows(const SelectedRows& rows, absl::Span<int64_t> order, absl::Span<int64_t> ids,
                  absl::Span<float> values);

// table is the sum of the rows of each id, and 0 elsewhere.
void FillTable(const SelectedRows& rows, absl::Span<float> table);

// The updates of optimizers.h. An id may be there more than once in the first, and not in the
// others.
void SgdOfRows(const SelectedRows& grad, float learning_rate, absl::Span<float> param);
void AdagradOfRows(float epsilon, const SelectedRows& grad, float learning_rate,
                   absl::Span<float> param, absl::Span<float> moment);
void AdamOfRows(const AdamRule& rule, const SelectedRows& grad, float learning_rate,
                absl::Span<float> param, const Moments& moments);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SELECTED_ROWS_H_
