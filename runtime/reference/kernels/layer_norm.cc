// Normalization of parts of a tensor by their own mean and variance, in training and in inference
// alike: rows (layer_norm), channels of an image (instance_norm), groups of channels (group_norm).

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X as rows that are normalized each on its own. Scale and Bias hold one element for each run of
// `run` elements of a row; rows that are `period` apart use the same elements.
struct Rows {
  int64_t count;
  int64_t width;
  int64_t run;
  int64_t period;

  int64_t Parameter(int64_t row, int64_t i) const { return row % period * (width / run) + i / run; }
  int64_t parameters() const { return period * (width / run); }
};

struct Statistics {
  std::vector<double> mean;
  std::vector<double> variance;
};

Statistics StatisticsOf(const Array& x, const Rows& rows) {
  Statistics s{std::vector<double>(rows.count), std::vector<double>(rows.count)};
  for (int64_t r = 0; r < rows.count; ++r) {
    for (int64_t i = 0; i < rows.width; ++i) s.mean[r] += x[r * rows.width + i] / rows.width;
    for (int64_t i = 0; i < rows.width; ++i) {
      const double distance = x[r * rows.width + i] - s.mean[r];
      s.variance[r] += distance * distance / rows.width;
    }
  }
  return s;
}

absl::Status CheckParameters(const OpRun& op, const Rows& rows, bool has_bias) {
  RETURN_IF_ERROR(op.CheckSize("Scale", rows.parameters()));
  return has_bias ? op.CheckSize("Bias", rows.parameters()) : absl::OkStatus();
}

Array Normalized(const OpRun& op, const Array& x, const Rows& rows, const Statistics& s) {
  const Array* scale = op.FindInput("Scale");
  const Array* bias = op.FindInput("Bias");
  const double epsilon = op.Float("epsilon");
  Array y(x.dtype, x.dims);
  for (int64_t r = 0; r < rows.count; ++r) {
    for (int64_t i = 0; i < rows.width; ++i) {
      const int64_t at = r * rows.width + i;
      const int64_t p = rows.Parameter(r, i);
      y[at] = (x[at] - s.mean[r]) / std::sqrt(s.variance[r] + epsilon);
      if (scale != nullptr) y[at] *= (*scale)[p];
      if (bias != nullptr) y[at] += (*bias)[p];
    }
  }
  return y;
}

Array Vector(VarType::Type dtype, std::vector<double> values) {
  Array vector(dtype, Dims{static_cast<int64_t>(values.size())});
  vector.values = std::move(values);
  return vector;
}

// With n = (x - mean) / deviation and g = dY * Scale: dX = (g - mean(g) - n * mean(g * n)) /
// deviation, the means over the row. Gives dX, and sets the others.
Array SetParameterGradients(OpRun& op, const Array& x, const Statistics& s, const Array& dy,
                            const Rows& rows) {
  const Array* scale = op.FindInput("Scale");
  Array dx(x.dtype, x.dims);
  Array dscale(x.dtype, Dims{rows.parameters()});
  Array dbias = dscale;
  for (int64_t r = 0; r < rows.count; ++r) {
    const double inverse_deviation = 1 / std::sqrt(s.variance[r] + op.Float("epsilon"));
    const auto n = [&](int64_t i) {
      return (x[r * rows.width + i] - s.mean[r]) * inverse_deviation;
    };
    const auto g = [&](int64_t i) {
      return dy[r * rows.width + i] * (scale != nullptr ? (*scale)[rows.Parameter(r, i)] : 1);
    };
    double mean_g = 0;
    double mean_gn = 0;
    for (int64_t i = 0; i < rows.width; ++i) {
      mean_g += g(i) / rows.width;
      mean_gn += g(i) * n(i) / rows.width;
      dscale[rows.Parameter(r, i)] += dy[r * rows.width + i] * n(i);
      dbias[rows.Parameter(r, i)] += dy[r * rows.width + i];
    }
    for (int64_t i = 0; i < rows.width; ++i) {
      dx[r * rows.width + i] = (g(i) - mean_g - n(i) * mean_gn) * inverse_deviation;
    }
  }
  op.SetOutput("Scale@GRAD", std::move(dscale));
  op.SetOutput("Bias@GRAD", std::move(dbias));
  return dx;
}

absl::Status SetGradients(OpRun& op, const Rows& rows, bool has_bias_input) {
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", x.dims));
  RETURN_IF_ERROR(CheckParameters(op, rows, has_bias_input));
  const Statistics s = StatisticsOf(x, rows);
  op.SetOutput("X@GRAD", SetParameterGradients(op, x, s, op.Input("Y@GRAD"), rows));
  return absl::OkStatus();
}

absl::StatusOr<Rows> LayerNormRows(const OpRun& op) {
  const Array& x = op.Input("X");
  const int64_t begin = op.Int("begin_norm_axis");
  if (begin < 1 || begin >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("begin_norm_axis is ", begin, " and X is ",
                                                   DimsText(x.dims), "; want 1 to ", x.rank() - 1));
  }
  const AxisView view = ViewAround(x.dims, static_cast<int>(begin), x.rank());
  return Rows{view.outer, view.size, 1, 1};
}

// Mean and Variance [rows].
absl::Status LayerNorm(OpRun& op) {
  ASSIGN_OR_RETURN(const Rows rows, LayerNormRows(op));
  RETURN_IF_ERROR(CheckParameters(op, rows, /*has_bias=*/true));
  const VarType::Type dtype = op.Input("X").dtype;
  Statistics s = StatisticsOf(op.Input("X"), rows);
  op.SetOutput("Y", Normalized(op, op.Input("X"), rows, s));
  op.SetOutput("Mean", Vector(dtype, std::move(s.mean)));
  op.SetOutput("Variance", Vector(dtype, std::move(s.variance)));
  return absl::OkStatus();
}

absl::Status LayerNormGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Rows rows, LayerNormRows(op));
  return SetGradients(op, rows, /*has_bias_input=*/true);
}

absl::StatusOr<Rows> InstanceNormRows(const OpRun& op) {
  const Array& x = op.Input("X");
  if (x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want 2 dimensions or more"));
  }
  const AxisView view = ViewAround(x.dims, 1);
  return Rows{view.outer * view.size, view.inner, std::max<int64_t>(view.inner, 1),
              std::max<int64_t>(view.size, 1)};
}

// SavedVariance is 1 / sqrt(variance + epsilon), as batch_norm's.
absl::Status InstanceNorm(OpRun& op) {
  ASSIGN_OR_RETURN(const Rows rows, InstanceNormRows(op));
  RETURN_IF_ERROR(CheckParameters(op, rows, /*has_bias=*/true));
  const VarType::Type dtype = op.Input("X").dtype;
  Statistics s = StatisticsOf(op.Input("X"), rows);
  op.SetOutput("Y", Normalized(op, op.Input("X"), rows, s));
  for (double& variance : s.variance) variance = 1 / std::sqrt(variance + op.Float("epsilon"));
  op.SetOutput("SavedMean", Vector(dtype, std::move(s.mean)));
  op.SetOutput("SavedVariance", Vector(dtype, std::move(s.variance)));
  return absl::OkStatus();
}

absl::Status InstanceNormGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Rows rows, InstanceNormRows(op));
  return SetGradients(op, rows, /*has_bias_input=*/false);
}

// X with axis `from` at `to`.
Array WithAxisMoved(const Array& x, int from, int to) {
  Dims dims = x.dims;
  Dims strides = Strides(x.dims);
  for (Dims* moved : {&dims, &strides}) {
    const int64_t entry = (*moved)[from];
    moved->erase(moved->begin() + from);
    moved->insert(moved->begin() + to, entry);
  }
  Array out(x.dtype, dims);
  ForEachPlace(dims, strides, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  return out;
}

// Images as rows of groups, once their channels are moved to axis 1.
struct Groups {
  int channel_axis;
  Rows rows;

  Array Move(const Array& images) const { return WithAxisMoved(images, channel_axis, 1); }
  Array MoveBack(const Array& images) const { return WithAxisMoved(images, 1, channel_axis); }
};

absl::StatusOr<Groups> GroupsOf(const OpRun& op, const char* slot) {
  const Dims& dims = op.Input(slot).dims;
  const int rank = op.Input(slot).rank();
  const int64_t count = op.Int("groups");
  const int channel_axis = IsChannelsLast(op.String("data_layout")) ? rank - 1 : 1;
  if (rank < 2 || count < 1 || dims[channel_axis] % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(dims), " and groups ",
                                                   count, "; want a divisor of the channels"));
  }
  int64_t places = 1;
  for (int axis = 1; axis < rank; ++axis) {
    if (axis != channel_axis) places *= dims[axis];
  }
  const Rows rows{dims[0] * count, dims[channel_axis] / count * places,
                  std::max<int64_t>(places, 1), count};
  RETURN_IF_ERROR(CheckParameters(op, rows, /*has_bias=*/true));
  return Groups{channel_axis, rows};
}

// Mean and Variance [N, groups].
absl::Status GroupNorm(OpRun& op) {
  ASSIGN_OR_RETURN(const Groups groups, GroupsOf(op, "X"));
  const Array x = groups.Move(op.Input("X"));
  Statistics s = StatisticsOf(x, groups.rows);
  op.SetOutput("Y", groups.MoveBack(Normalized(op, x, groups.rows, s)));
  Array mean = Vector(x.dtype, std::move(s.mean));
  Array variance = Vector(x.dtype, std::move(s.variance));
  mean.dims = variance.dims = {x.dims[0], op.Int("groups")};
  op.SetOutput("Mean", std::move(mean));
  op.SetOutput("Variance", std::move(variance));
  return absl::OkStatus();
}

// Before 2.0 the gradient op is not given X, which differs from its mean by what Y tells; where
// Scale is 0, that is taken to be 0.
absl::Status GroupNormGradient(OpRun& op) {
  const bool has_x = op.era() == Era::kPaddle2;
  const char* slot = has_x ? "X" : "Y";
  ASSIGN_OR_RETURN(const Groups groups, GroupsOf(op, slot));
  const Rows& rows = groups.rows;
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", op.Input(slot).dims));
  Array x = groups.Move(op.Input(slot));
  Statistics s;
  if (has_x) {
    s = StatisticsOf(x, rows);
  } else {
    RETURN_IF_ERROR(op.CheckSize("Variance", rows.count));
    s.mean.resize(rows.count);
    s.variance = op.Input("Variance").values;
    const Array* scale = op.FindInput("Scale");
    const Array* bias = op.FindInput("Bias");
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t row = i / rows.width;
      const int64_t p = rows.Parameter(row, i % rows.width);
      const double factor = scale != nullptr ? (*scale)[p] : 1;
      const double normal = x[i] - (bias != nullptr ? (*bias)[p] : 0);
      const double deviation = std::sqrt(s.variance[row] + op.Float("epsilon"));
      x[i] = factor != 0 ? normal / factor * deviation : 0;
    }
  }
  op.SetOutput("X@GRAD", groups.MoveBack(SetParameterGradients(
                             op, x, s, groups.Move(op.Input("Y@GRAD")), rows)));
  return absl::OkStatus();
}

}  // namespace

Kernels LayerNormKernels() {
  return {
      {"layer_norm", LayerNorm},       {"layer_norm_grad", LayerNormGradient},
      {"instance_norm", InstanceNorm}, {"instance_norm_grad", InstanceNormGradient},
      {"group_norm", GroupNorm},       {"group_norm_grad", GroupNormGradient},
  };
}

}  // namespace fixpoint::reference
