// Ops that pick or place elements by indices that a tensor holds.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

absl::Status CheckIndex(absl::string_view slot, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " has ", index, "; want 0 to ", size - 1));
}

// Entries along an axis of X: which one each of the output is.
struct Picked {
  int axis;
  Dims dims;  // of the output
  std::vector<int64_t> entries;
};

absl::StatusOr<Picked> PickedBy(const Array& x, const Array& index, int64_t named_axis) {
  if (index.rank() != 1 && !(index.rank() == 2 && index.dims[1] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index is ", DimsText(index.dims), "; want [n] or [n, 1]"));
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named_axis, x.rank()));
  Picked picked{axis, x.dims, {}};
  picked.dims[axis] = index.size();
  for (const double element : index.values) {
    const int64_t entry = ToInt(element);
    RETURN_IF_ERROR(CheckIndex("Index", entry, x.dims[axis]));
    picked.entries.push_back(entry);
  }
  return picked;
}

// gather: Axis [1] goes before the attribute.
absl::StatusOr<Picked> GatheredOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Axis", 1));
  const Array* tensor = op.FindInput("Axis");
  return PickedBy(op.Input("X"), op.Input("Index"),
                  tensor != nullptr ? ToInt((*tensor)[0]) : op.Int("axis"));
}

absl::StatusOr<Picked> SelectedOf(const OpRun& op) {
  return PickedBy(op.Input("X"), op.Input("Index"), op.Int("dim"));
}

// Calls f(i, x_i) with each element of the output and its place in X.
template <typename F>
void ForEachPicked(const Picked& picked, DimsView x, F f) {
  const AxisView from = ViewAround(x, picked.axis);
  const AxisView to = ViewAround(picked.dims, picked.axis);
  for (int64_t o = 0; o < to.outer; ++o) {
    for (int64_t i = 0; i < to.size; ++i) {
      for (int64_t k = 0; k < to.inner; ++k) f(to.At(o, i, k), from.At(o, picked.entries[i], k));
    }
  }
}

using PickedFunction = absl::StatusOr<Picked> (*)(const OpRun& op);

absl::Status Pick(OpRun& op, PickedFunction picked_of) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Picked picked, picked_of(op));
  Array out(x.dtype, picked.dims);
  ForEachPicked(picked, x.dims, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status PickGradient(OpRun& op, PickedFunction picked_of) {
  const Array& x = op.Input("X");
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const Picked picked, picked_of(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(picked.dims)));
  Array dx(x.dtype, x.dims);
  ForEachPicked(picked, x.dims, [&](int64_t i, int64_t x_i) { dx[x_i] += dout[i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// Parts of a tensor at rows of indices of its first axes.
struct Parts {
  Dims dims;                    // of all parts together
  std::vector<int64_t> places;  // where each begins
  int64_t size;                 // elements of a part
};

absl::StatusOr<Parts> PartsAt(DimsView x, const Array& index) {
  const int rank = static_cast<int>(x.size());
  if (index.rank() < 1 || index.dims.back() < 1 || index.dims.back() > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index is ", DimsText(index.dims), " and X is ", DimsText(x),
                     "; want a last dimension of Index of 1 to ", rank, ", the axes of X"));
  }
  const int64_t axes = index.dims.back();
  Parts parts;
  parts.dims.assign(index.dims.begin(), index.dims.end() - 1);
  parts.dims.insert(parts.dims.end(), x.begin() + axes, x.end());
  parts.size = Volume(x.subspan(axes));
  for (int64_t row = 0; row < index.size() / axes; ++row) {
    int64_t place = 0;
    for (int64_t axis = 0; axis < axes; ++axis) {
      const int64_t entry = ToInt(index[row * axes + axis]);
      RETURN_IF_ERROR(CheckIndex("Index", entry, x[axis]));
      place = place * x[axis] + entry;
    }
    parts.places.push_back(place * parts.size);
  }
  return parts;
}

// Calls f(i, x_i) with each element of the parts and its place in X.
template <typename F>
void ForEachOfParts(const Parts& parts, F f) {
  int64_t i = 0;
  for (const int64_t place : parts.places) {
    for (int64_t k = 0; k < parts.size; ++k) f(i++, place + k);
  }
}

absl::Status GatherNd(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const Parts parts, PartsAt(x.dims, op.Input("Index")));
  Array out(x.dtype, parts.dims);
  ForEachOfParts(parts, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; });
  if (out.dims.empty()) out.dims = op.ScalarDims();
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status GatherNdGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const Parts parts, PartsAt(x.dims, op.Input("Index")));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(parts.dims)));
  Array dx(x.dtype, x.dims);
  ForEachOfParts(parts, [&](int64_t i, int64_t x_i) { dx[x_i] += dout[i]; });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

absl::Status ScatterNdAdd(OpRun& op) {
  Array out = op.Input("X");
  ASSIGN_OR_RETURN(const Parts parts, PartsAt(out.dims, op.Input("Index")));
  RETURN_IF_ERROR(op.CheckSize("Updates", Volume(parts.dims)));
  const Array& updates = op.Input("Updates");
  ForEachOfParts(parts, [&](int64_t i, int64_t x_i) { out[x_i] += updates[i]; });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ScatterNdAddGradient(OpRun& op) {
  const Array& dout = op.Input("Out@GRAD");
  const Array& updates = op.Input("Updates");
  ASSIGN_OR_RETURN(const Parts parts, PartsAt(dout.dims, op.Input("Index")));
  RETURN_IF_ERROR(op.CheckSize("Updates", Volume(parts.dims)));
  Array dupdates(updates.dtype, updates.dims);
  ForEachOfParts(parts, [&](int64_t i, int64_t x_i) { dupdates[i] = dout[x_i]; });
  op.SetOutput("X@GRAD", dout);
  op.SetOutput("Updates@GRAD", std::move(dupdates));
  return absl::OkStatus();
}

// The rows of a tensor that scatter replaces.
absl::StatusOr<Parts> RowsAt(const OpRun& op, DimsView x) {
  const Array& ids = op.Input("Ids");
  if (ids.rank() != 1 && !(ids.rank() == 2 && ids.dims[1] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Ids is ", DimsText(ids.dims), "; want [n] or [n, 1]"));
  }
  if (x.empty()) return absl::InvalidArgumentError("X is a scalar; want rows");
  Parts rows;
  rows.size = Volume(x.subspan(1));
  rows.dims.assign(x.begin(), x.end());
  rows.dims[0] = ids.size();
  for (const double id : ids.values) {
    RETURN_IF_ERROR(CheckIndex("Ids", ToInt(id), x[0]));
    rows.places.push_back(ToInt(id) * rows.size);
  }
  RETURN_IF_ERROR(op.CheckSize("Updates", Volume(rows.dims)));
  return rows;
}

// A row that is named twice is the last of its updates or, without overwrite, their sum; X's own
// row is not a part of it.
absl::Status Scatter(OpRun& op) {
  Array out = op.Input("X");
  const Array& updates = op.Input("Updates");
  ASSIGN_OR_RETURN(const Parts rows, RowsAt(op, out.dims));
  const bool overwrites = op.Bool("overwrite");
  ForEachOfParts(rows, [&](int64_t, int64_t x_i) { out[x_i] = 0; });
  ForEachOfParts(rows, [&](int64_t i, int64_t x_i) {
    out[x_i] = overwrites ? updates[i] : out[x_i] + updates[i];
  });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ScatterGradient(OpRun& op) {
  Array dx = op.Input("Out@GRAD");
  const Array& updates = op.Input("Updates");
  ASSIGN_OR_RETURN(const Parts rows, RowsAt(op, dx.dims));
  Array dupdates(updates.dtype, updates.dims);
  ForEachOfParts(rows, [&](int64_t i, int64_t x_i) { dupdates[i] = dx[x_i]; });
  ForEachOfParts(rows, [&](int64_t, int64_t x_i) { dx[x_i] = 0; });
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Updates@GRAD", std::move(dupdates));
  return absl::OkStatus();
}

// Calls f(i, x_i) with each index of a tensor like `x` but for an axis, and the place in `x` that
// it names on its line. Error: the dims do not fit, or an index is outside.
template <typename F>
absl::Status ForEachAlong(const Array& index, DimsView x, int64_t named_axis, F f) {
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named_axis, static_cast<int>(x.size())));
  Dims others = index.dims;
  if (others.size() == x.size()) others[axis] = x[axis];
  if (DimsView(others) != x) {
    return absl::InvalidArgumentError(absl::StrCat("Index is ", DimsText(index.dims),
                                                   " and the tensor ", DimsText(x),
                                                   "; want equal sizes but on axis ", axis));
  }
  const AxisView from = ViewAround(x, axis);
  const AxisView to = ViewAround(index.dims, axis);
  for (int64_t o = 0; o < to.outer; ++o) {
    for (int64_t i = 0; i < to.size; ++i) {
      for (int64_t k = 0; k < to.inner; ++k) {
        const int64_t at = to.At(o, i, k);
        const int64_t entry = ToInt(index[at]);
        RETURN_IF_ERROR(CheckIndex("Index", entry, from.size));
        f(at, from.At(o, entry, k));
      }
    }
  }
  return absl::OkStatus();
}

// Of a matrix the entries of each row that Index names.
absl::Status TakeAlong(OpRun& op, const char* input, const char* output, int64_t axis) {
  const Array& x = op.Input(input);
  const Array& index = op.Input("Index");
  Array out(x.dtype, index.dims);
  RETURN_IF_ERROR(
      ForEachAlong(index, x.dims, axis, [&](int64_t i, int64_t x_i) { out[i] = x[x_i]; }));
  op.SetOutput(output, std::move(out));
  return absl::OkStatus();
}

// What put_along_axis does with the numbers at a place.
enum class Putting { kAssign, kAdd, kMultiply };

absl::StatusOr<Putting> PuttingOf(const OpRun& op) {
  const std::string name = op.String("Reduce");
  if (name == "assign") return Putting::kAssign;
  if (name == "add") return Putting::kAdd;
  if (name == "mul" || name == "multiply") return Putting::kMultiply;
  return absl::UnimplementedError(
      absl::StrCat("Reduce is \"", name, "\"; want assign, add or multiply"));
}

absl::Status PutAlong(OpRun& op) {
  const Array& index = op.Input("Index");
  const Array& value = op.Input("Value");
  RETURN_IF_ERROR(op.CheckDims("Value", index.dims));
  ASSIGN_OR_RETURN(const Putting putting, PuttingOf(op));
  const int64_t axis = op.Int("Axis");
  Array result = op.Input("Input");
  const Dims dims = result.dims;
  if (putting != Putting::kAssign && !op.Bool("Include_self")) {
    const double nothing = putting == Putting::kAdd ? 0 : 1;
    RETURN_IF_ERROR(
        ForEachAlong(index, dims, axis, [&](int64_t, int64_t at) { result[at] = nothing; }));
  }
  RETURN_IF_ERROR(ForEachAlong(index, dims, axis, [&](int64_t i, int64_t at) {
    if (putting == Putting::kAssign) result[at] = value[i];
    if (putting == Putting::kAdd) result[at] += value[i];
    if (putting == Putting::kMultiply) result[at] *= value[i];
  }));
  op.SetOutput("Result", std::move(result));
  return absl::OkStatus();
}

// Where a place is assigned, what Input has there is gone.
absl::Status PutAlongGradient(OpRun& op) {
  const Array& index = op.Input("Index");
  RETURN_IF_ERROR(op.CheckDims("Result@GRAD", op.Input("Input").dims));
  RETURN_IF_ERROR(op.CheckDims("Value", index.dims));
  ASSIGN_OR_RETURN(const Putting putting, PuttingOf(op));
  if (putting == Putting::kMultiply) {
    return absl::UnimplementedError("Reduce is multiply; want assign or add for a gradient");
  }
  const Array& dresult = op.Input("Result@GRAD");
  const int64_t axis = op.Int("Axis");
  Array dinput = dresult;
  Array dvalue(op.Input("Value").dtype, index.dims);
  const bool keeps = putting == Putting::kAdd && op.Bool("Include_self");
  RETURN_IF_ERROR(ForEachAlong(index, dresult.dims, axis, [&](int64_t i, int64_t at) {
    dvalue[i] = dresult[at];
    if (!keeps) dinput[at] = 0;
  }));
  op.SetOutput("Input@GRAD", std::move(dinput));
  op.SetOutput("Value@GRAD", std::move(dvalue));
  return absl::OkStatus();
}

absl::Status TakeAlongGradient(OpRun& op, const char* input, const char* output, int64_t axis) {
  const Array& x = op.Input(input);
  const Array& index = op.Input("Index");
  const std::string gradient = absl::StrCat(output, "@GRAD");
  RETURN_IF_ERROR(op.CheckDims(gradient, index.dims));
  const Array& dout = op.Input(gradient);
  Array dx(x.dtype, x.dims);
  RETURN_IF_ERROR(
      ForEachAlong(index, x.dims, axis, [&](int64_t i, int64_t x_i) { dx[x_i] += dout[i]; }));
  op.SetOutput(absl::StrCat(input, "@GRAD"), std::move(dx));
  return absl::OkStatus();
}

absl::Status IndexSample(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  return TakeAlong(op, "X", "Out", 1);
}

absl::Status IndexSampleGradient(OpRun& op) {
  RETURN_IF_ERROR(op.CheckRank("X", 2));
  return TakeAlongGradient(op, "X", "Out", 1);
}

absl::Status Where(OpRun& op) {
  const Array& condition = op.Input("Condition");
  RETURN_IF_ERROR(op.CheckDims("X", condition.dims));
  RETURN_IF_ERROR(op.CheckDims("Y", condition.dims));
  Array out(op.Input("X").dtype, condition.dims);
  for (int64_t i = 0; i < out.size(); ++i) {
    out[i] = condition[i] != 0 ? op.Input("X")[i] : op.Input("Y")[i];
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status WhereGradient(OpRun& op) {
  const Array& condition = op.Input("Condition");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", condition.dims));
  const Array& dout = op.Input("Out@GRAD");
  Array dx(dout.dtype, dout.dims);
  Array dy(dout.dtype, dout.dims);
  for (int64_t i = 0; i < dout.size(); ++i) (condition[i] != 0 ? dx : dy)[i] = dout[i];
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

}  // namespace

Kernels GatheringKernels() {
  return {
      {"gather", [](OpRun& op) { return Pick(op, GatheredOf); }},
      {"gather_grad", [](OpRun& op) { return PickGradient(op, GatheredOf); }},
      {"index_select", [](OpRun& op) { return Pick(op, SelectedOf); }},
      {"index_select_grad", [](OpRun& op) { return PickGradient(op, SelectedOf); }},
      {"gather_nd", GatherNd},
      {"gather_nd_grad", GatherNdGradient},
      {"scatter_nd_add", ScatterNdAdd},
      {"scatter_nd_add_grad", ScatterNdAddGradient},
      {"scatter", Scatter},
      {"scatter_grad", ScatterGradient},
      {"index_sample", IndexSample},
      {"index_sample_grad", IndexSampleGradient},
      {"take_along_axis",
       [](OpRun& op) { return TakeAlong(op, "Input", "Result", op.Int("Axis")); }},
      {"take_along_axis_grad",
       [](OpRun& op) { return TakeAlongGradient(op, "Input", "Result", op.Int("Axis")); }},
      {"put_along_axis", PutAlong},
      {"put_along_axis_grad", PutAlongGradient},
      {"where", Where},
      {"where_grad", WhereGradient},
  };
}

}  // namespace fixpoint::reference
