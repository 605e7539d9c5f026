#include "runtime/executor/ops/broadcast_rows.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "ops/dims.h"
#include "ops/placed_dims.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/element_loop.h"

namespace fixpoint::executor {
namespace {

// How the rows of a tensor go with those of one with the dims `of`; nothing: there are other
// dimensions between those that it has.
std::optional<kernels::Repetition> RepetitionOfRows(const Dims& dims, const Dims& of) {
  kernels::Repetition rows;
  bool is_before = false;  // what comes before are no dimensions of it
  for (size_t i = of.size() - 1; i-- > 0;) {
    if (of[i] == 1) continue;
    if (dims[i] == of[i]) {
      if (is_before) return std::nullopt;
      rows.count *= of[i];
    } else if (rows.count > 1) {
      is_before = true;
    } else {
      rows.inner *= of[i];
    }
  }
  return rows;
}

}  // namespace

std::optional<StepRows> RowsOfBroadcast(kernels::Arithmetic arithmetic,
                                        const kernels::ElementwiseShape& shape, Buffer x, Buffer y,
                                        Buffer out) {
  if (x.size != out.size || x == y || shape.x.empty() || shape.y.size() > shape.x.size()) {
    return std::nullopt;
  }
  const absl::StatusOr<Dims> placed =
      PlacedDims(shape.y, static_cast<int>(shape.x.size()), shape.axis);
  if (!placed.ok()) return std::nullopt;
  const std::optional<kernels::Repetition> of_y = RepetitionOfRows(*placed, shape.x);
  if (!of_y) return std::nullopt;
  const int64_t row = shape.x.back();
  const int64_t row_of_y = placed->back();
  const int64_t count = x.size / row;
  return StepRows{
      count,
      {{x, {count, 1}}, {y, *of_y}, {out, {count, 1}}},
      [=](int64_t rows) -> absl::StatusOr<StepRows::Run> {
        // Each row of y with those of x that it goes with.
        const int64_t of_each = std::min(rows, of_y->inner);
        const int64_t rows_of_y = rows / of_each;
        if (rows_of_y > of_y->count) return absl::UnimplementedError("rows repeat in a block");
        ASSIGN_OR_RETURN(const std::shared_ptr<kernels::Elementwise> elementwise,
                         kernels::Elementwise::Plan(
                             arithmetic, {{rows_of_y, of_each, row}, {rows_of_y, 1, row_of_y}}));
        const Buffer x_block = {x.index, rows * row};
        const Buffer y_block = {y.index, rows_of_y * row_of_y};
        const Buffer out_block = {out.index, rows * row};
        return [=](const StepContext& run) {
          elementwise->Run(run.Floats(x_block), run.Floats(y_block), run.Floats(out_block));
        };
      }};
}

}  // namespace fixpoint::executor
