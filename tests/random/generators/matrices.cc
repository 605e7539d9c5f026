#include "tests/random/generators/matrices.h"

#include <algorithm>

namespace fixpoint::random_cases {
namespace {

int DrawExtent(CaseMaker& c) { return c.OneIn(3) ? c.OneOf({1, 16, 32, 64}) : c.Between(1, 20); }

// The same number of elements, as one or two extents.
Dims Spread(CaseMaker& c, int64_t extent) {
  const int64_t divisor = c.Between(1, 3);
  if (extent % divisor != 0 || c.OneIn(2)) return {extent};
  return {divisor, extent / divisor};
}

Dims Joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

SomeProduct DrawFlattened(CaseMaker& c, const std::string& type) {
  SomeProduct drawn;
  const int64_t rows = DrawExtent(c);
  drawn.inner = c.OneIn(10) ? c.Between(100, 600) : DrawExtent(c);
  drawn.columns = DrawExtent(c);
  const Dims row_dims = Spread(c, rows);
  drawn.x = Joined(row_dims, Spread(c, drawn.inner));
  if (type == "fc") {
    drawn.y = {drawn.inner, drawn.columns};
    drawn.attributes = absl::StrCat("in_num_col_dims=", row_dims.size());
  } else {
    const Dims inner = Spread(c, drawn.inner);
    const Dims columns = c.OneIn(3) ? Spread(c, drawn.columns) : Dims{drawn.columns};
    drawn.y = Joined(inner, columns);
    drawn.attributes =
        absl::StrCat("x_num_col_dims=", row_dims.size(), ", y_num_col_dims=", inner.size());
  }
  drawn.column_axis = static_cast<int>(drawn.y.size()) - 1;
  drawn.summands = std::max({rows, drawn.inner, drawn.columns});
  return drawn;
}

}  // namespace

SomeProduct DrawProduct(CaseMaker& c, const std::string& type) {
  if (type == "mul" || type == "fc") return DrawFlattened(c, type);
  SomeProduct drawn;
  const bool is_v2 = type == "matmul_v2";
  const int64_t rows = DrawExtent(c);
  drawn.inner = c.OneIn(10) ? c.Between(100, 600) : DrawExtent(c);
  drawn.columns = DrawExtent(c);
  const bool turns_x = c.OneIn(3);
  const bool turns_y = c.OneIn(3);
  Dims batch;
  for (int axes = c.OneIn(2) ? 0 : c.Between(1, 2); axes > 0; --axes) {
    batch.push_back(c.Between(1, 3));
  }
  drawn.x = Joined(batch, turns_x ? Dims{drawn.inner, rows} : Dims{rows, drawn.inner});
  Dims y_batch = c.OneIn(3) ? Dims() : batch;
  for (int64_t& dim : y_batch) dim = is_v2 && c.OneIn(4) ? 1 : dim;
  drawn.y = Joined(y_batch,
                   turns_y ? Dims{drawn.columns, drawn.inner} : Dims{drawn.inner, drawn.columns});
  // One Y stands for all matrices of X, if their rows lie one after the other.
  drawn.is_repeated = SizeOf(y_batch) != SizeOf(batch) && (turns_x || SizeOf(y_batch) != 1);
  drawn.column_axis = static_cast<int>(drawn.y.size()) - (turns_y ? 2 : 1);
  drawn.is_transposed = turns_x || turns_y;
  drawn.attributes = absl::StrCat(is_v2 ? "trans_x=" : "transpose_X=", BoolText(turns_x),
                                  is_v2 ? ", trans_y=" : ", transpose_Y=", BoolText(turns_y));
  if (!is_v2 && c.OneIn(2)) {
    absl::StrAppend(&drawn.attributes, ", alpha=", FloatText(c.Between(0.1f, 3.0f)));
  }
  drawn.summands = SizeOf(batch) * std::max({rows, drawn.inner, drawn.columns});
  return drawn;
}

}  // namespace fixpoint::random_cases
