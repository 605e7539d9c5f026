// Ops that pick entries along an axis by indices that a tensor holds.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/indices.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/comparison.h"
#include "runtime/kernels/take.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;

// Entries along an axis of X, whose places are the elements of Index [n] or [n, 1].
struct Picked {
  Lines lines;
  Dims dims;  // of the output
};

absl::StatusOr<Picked> PickedBy(const OpPlanner& op, int64_t named_axis) {
  const Dims& x = op.InputDims("X");
  const Dims& index = op.InputDims("Index");
  if (index.size() != 1 && !(index.size() == 2 && index[1] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index is ", DimsText(index), "; want [n] or [n, 1]"));
  }
  Picked picked;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named_axis, static_cast<int>(x.size())));
  ASSIGN_OR_RETURN(picked.lines, LinesOf(x, axis));
  picked.dims = x;
  picked.dims[axis] = index[0];
  return picked;
}

absl::StatusOr<Picked> GatheredOf(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("Axis"));
  return PickedBy(op, op.attributes().Int("axis"));
}

absl::StatusOr<Picked> SelectedOf(const OpPlanner& op) {
  return PickedBy(op, op.attributes().Int("dim"));
}

using PickedFunction = absl::StatusOr<Picked> (*)(const OpPlanner& op);

// How many entries X has, and how many places Index has: what a run decides of both.
struct PickedExtents {
  std::optional<RunShape> x;
  std::optional<RunShape> index;
};

// Error (kUnimplemented): sequences whose offsets would depend on the numbers of rows.
absl::StatusOr<PickedExtents> ExtentsOf(OpPlanner& op, const Picked& picked) {
  PickedExtents extents;
  if (const RunShape* x = op.TakeRunShape("X"); x != nullptr) extents.x = *x;
  if (const RunShape* index = op.TakeRunShape("Index"); index != nullptr) extents.index = *index;
  const bool has_sequences =
      (extents.x && (extents.x->has_offsets() || !op.InputLod("Index").empty())) ||
      (extents.index && !op.InputLod("X").empty());
  if ((extents.x || extents.index) && (picked.lines.outer != 1 || has_sequences)) {
    return absl::UnimplementedError(
        "a run decides the extents of X or Index, and axis is not 0 or X has sequences; want rows "
        "that belong to none");
  }
  return extents;
}

absl::Status PlanPick(OpPlanner& op, PickedFunction picked_of) {
  ASSIGN_OR_RETURN(const Picked picked, picked_of(op));
  const VarType::Type dtype = op.InputType("X").dtype;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  ASSIGN_OR_RETURN(const PickedExtents extents, ExtentsOf(op, picked));
  const Buffer out = op.WriteAs("Out", {dtype, picked.dims});
  std::vector<Buffer> reads = {x, index};
  if (extents.x) reads.push_back(extents.x->dims);
  if (extents.index) {
    reads.push_back(extents.index->dims);
    op.KeepRows("Index", "Out");
  }
  return WithElementOfSizeOf(dtype, [&](auto element) {
    return WithIndexType(op, "Index", [&](auto number) {
      using T = decltype(element);
      using Index = decltype(number);
      op.AddStep({reads, {out}, [=, lines = picked.lines](const StepContext& run) {
                    Lines there = lines;
                    if (extents.x) there.length = run.Of<int64_t>(extents.x->dims)[0];
                    const absl::Span<T> taken = run.Of<T>(out);
                    const int64_t places = run.CountOf(extents.index, index.size);
                    std::fill(taken.begin() + places * lines.inner * lines.outer, taken.end(), T());
                    return kernels::Take<T, Index>(there, run.Of<T>(x),
                                                   run.Of<Index>(index).first(places), taken);
                  }});
      return absl::OkStatus();
    });
  });
}

// Entries that were picked twice have the sum of both gradients, in order.
absl::Status PlanPickGradient(OpPlanner& op, PickedFunction picked_of) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Picked picked, picked_of(op));
  const TensorType type = op.InputType("X");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", TensorType{type.dtype, picked.dims}.size()));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer dx = op.WriteAs("X@GRAD", type);
  return WithIndexType(op, "Index", [&](auto number) {
    using Index = decltype(number);
    op.AddStep(
        {{dout, index}, {dx}, [=, lines = picked.lines](const StepContext& run) -> absl::Status {
           const absl::Span<Index> places = run.Of<Index>(index);
           const absl::Span<float> sums = run.Floats(dx);
           std::fill(sums.begin(), sums.end(), 0.0f);
           const float* from = run.Floats(dout).data();
           for (int64_t outer = 0; outer < lines.outer && !places.empty(); ++outer) {
             float* const line = sums.data() + outer * lines.length * lines.inner;
             for (const Index place : places) {
               RETURN_IF_ERROR(CheckIndex("Index", place, lines.length));
               AddRow(from, lines.inner, line + place * lines.inner);
               from += lines.inner;
             }
           }
           return absl::OkStatus();
         }});
    return absl::OkStatus();
  });
}

// Lines of a tensor along an axis, and as many of indices into them.
struct Along {
  Lines lines;
  int64_t length;  // of a line of indices
};

absl::StatusOr<Along> AlongOf(const OpPlanner& op, const Dims& x, int64_t named_axis) {
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named_axis, static_cast<int>(x.size())));
  Dims others = op.InputDims("Index");
  const int64_t length = others.size() == x.size() ? others[axis] : 0;
  if (others.size() == x.size()) others[axis] = x[axis];
  if (others != x) {
    return absl::InvalidArgumentError(absl::StrCat("Index is ", DimsText(op.InputDims("Index")),
                                                   " and the tensor ", DimsText(x),
                                                   "; want equal sizes but on axis ", axis));
  }
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(x, axis));
  return Along{lines, length};
}

// Calls f(i, place) with the number of each index and the place that it names.
template <typename Index, typename F>
absl::Status ForEachAlong(const Along& along, absl::Span<const Index> index, F f) {
  const Lines& lines = along.lines;
  for (int64_t outer = 0, i = 0; outer < lines.outer && !index.empty(); ++outer) {
    for (int64_t k = 0; k < along.length; ++k) {
      for (int64_t inner = 0; inner < lines.inner; ++inner, ++i) {
        RETURN_IF_ERROR(CheckIndex("Index", index[i], lines.length));
        f(i, (outer * lines.length + index[i]) * lines.inner + inner);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status PlanTakeAlong(OpPlanner& op, const char* input, const char* output, int64_t axis) {
  const TensorType type = op.InputType(input);
  ASSIGN_OR_RETURN(const Along along, AlongOf(op, type.dims, axis));
  ASSIGN_OR_RETURN(const Buffer x, op.Read(input, type.dtype));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer out = op.WriteAs(output, {type.dtype, op.InputDims("Index")});
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    return WithIndexType(op, "Index", [&](auto number) {
      using T = decltype(element);
      using Index = decltype(number);
      op.AddStep({{x, index}, {out}, [=](const StepContext& run) {
                    const T* const from = run.Of<T>(x).data();
                    T* const to = run.Of<T>(out).data();
                    return ForEachAlong<Index>(
                        along, run.Of<Index>(index),
                        [=](int64_t i, int64_t place) { to[i] = from[place]; });
                  }});
      return absl::OkStatus();
    });
  });
}

absl::Status PlanTakeAlongGradient(OpPlanner& op, const char* input, const char* output,
                                   int64_t axis) {
  const std::string gradient = absl::StrCat(input, "@GRAD");
  const std::string given = absl::StrCat(output, "@GRAD");
  if (!op.Wants(gradient)) return absl::OkStatus();
  const TensorType type = op.InputType(input);
  ASSIGN_OR_RETURN(const Along along, AlongOf(op, type.dims, axis));
  RETURN_IF_ERROR(op.CheckDims(given, op.InputDims("Index")));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats(given));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer dx = op.WriteAs(gradient, type);
  return WithIndexType(op, "Index", [&](auto number) {
    using Index = decltype(number);
    op.AddStep({{dout, index}, {dx}, [=](const StepContext& run) {
                  const float* const from = run.Floats(dout).data();
                  const absl::Span<float> sums = run.Floats(dx);
                  std::fill(sums.begin(), sums.end(), 0.0f);
                  return ForEachAlong<Index>(
                      along, run.Of<Index>(index),
                      [=](int64_t i, int64_t place) { sums[place] += from[i]; });
                }});
    return absl::OkStatus();
  });
}

// What put_along_axis does with the numbers at a place.
enum class Putting { kAssign, kAdd, kMultiply };

absl::StatusOr<Putting> PuttingOf(const OpPlanner& op) {
  const std::string name = op.attributes().String("Reduce");
  if (name == "assign") return Putting::kAssign;
  if (name == "add") return Putting::kAdd;
  if (name == "mul" || name == "multiply") return Putting::kMultiply;
  return absl::UnimplementedError(
      absl::StrCat("Reduce is \"", name, "\"; want assign, add or multiply"));
}

// Adds numbers to what a result has at their places, or multiplies it by them.
template <typename Index>
absl::Status CombineValues(const Along& along, Putting putting, bool includes_self,
                           absl::Span<const Index> index, const float* from, float* to) {
  if (!includes_self) {
    const float nothing = putting == Putting::kAdd ? 0.0f : 1.0f;
    RETURN_IF_ERROR(
        ForEachAlong<Index>(along, index, [=](int64_t, int64_t at) { to[at] = nothing; }));
  }
  if (putting == Putting::kAdd) {
    return ForEachAlong<Index>(along, index, [=](int64_t i, int64_t at) { to[at] += from[i]; });
  }
  return ForEachAlong<Index>(along, index, [=](int64_t i, int64_t at) { to[at] *= from[i]; });
}

absl::Status PlanPutAlong(OpPlanner& op) {
  const TensorType type = op.InputType("Input");
  ASSIGN_OR_RETURN(const Along along, AlongOf(op, type.dims, op.attributes().Int("Axis")));
  RETURN_IF_ERROR(op.CheckDims("Value", op.InputDims("Index")));
  ASSIGN_OR_RETURN(const Putting putting, PuttingOf(op));
  const bool is_assigned = putting == Putting::kAssign;
  const bool includes_self = op.attributes().Bool("Include_self");
  const VarType::Type dtype = is_assigned ? type.dtype : VarType::FP32;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("Input", dtype));
  ASSIGN_OR_RETURN(const Buffer value, op.Read("Value", dtype));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer result = op.WriteAs("Result", type);
  return WithElementOfSizeOf(dtype, [&](auto element) {
    return WithIndexType(op, "Index", [&](auto number) {
      using T = decltype(element);
      using Index = decltype(number);
      op.AddStep(
          {{x, value, index}, {result}, [=](const StepContext& run) {
             const absl::Span<const T> before = run.Of<T>(x);
             std::copy(before.begin(), before.end(), run.Of<T>(result).begin());
             if (!is_assigned) {
               return CombineValues<Index>(along, putting, includes_self, run.Of<Index>(index),
                                           run.Floats(value).data(), run.Floats(result).data());
             }
             const T* const from = run.Of<T>(value).data();
             T* const to = run.Of<T>(result).data();
             return ForEachAlong<Index>(along, run.Of<Index>(index),
                                        [=](int64_t i, int64_t place) { to[place] = from[i]; });
           }});
      return absl::OkStatus();
    });
  });
}

// Where a place is assigned, what Input has there is gone.
absl::Status PlanPutAlongGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Input");
  ASSIGN_OR_RETURN(const Along along, AlongOf(op, type.dims, op.attributes().Int("Axis")));
  RETURN_IF_ERROR(op.CheckDims("Result@GRAD", type.dims));
  RETURN_IF_ERROR(op.CheckDims("Value", op.InputDims("Index")));
  ASSIGN_OR_RETURN(const Putting putting, PuttingOf(op));
  if (putting == Putting::kMultiply) {
    return absl::UnimplementedError("Reduce is multiply; want assign or add for a gradient");
  }
  const bool keeps = putting == Putting::kAdd && op.attributes().Bool("Include_self");
  ASSIGN_OR_RETURN(const Buffer dresult, op.ReadFloats("Result@GRAD"));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer dinput = op.WriteAs("Input@GRAD", type);
  const Buffer dvalue = op.WriteAs("Value@GRAD", op.InputType("Value"));
  return WithIndexType(op, "Index", [&](auto number) {
    using Index = decltype(number);
    op.AddStep({{dresult, index}, {dinput, dvalue}, [=](const StepContext& run) {
                  const absl::Span<const float> from = run.Floats(dresult);
                  float* const of_input = run.Floats(dinput).data();
                  float* const of_value = run.Floats(dvalue).data();
                  std::copy(from.begin(), from.end(), of_input);
                  return ForEachAlong<Index>(along, run.Of<Index>(index),
                                             [=](int64_t i, int64_t at) {
                                               of_value[i] = from[at];
                                               if (!keeps) of_input[at] = 0;
                                             });
                }});
    return absl::OkStatus();
  });
}

absl::Status CheckIsMatrix(const OpPlanner& op) {
  if (op.InputDims("X").size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("X is ", DimsText(op.InputDims("X")), "; want 2 dimensions"));
}

absl::Status PlanIndexSample(OpPlanner& op) {
  RETURN_IF_ERROR(CheckIsMatrix(op));
  return PlanTakeAlong(op, "X", "Out", 1);
}

absl::Status PlanIndexSampleGradient(OpPlanner& op) {
  RETURN_IF_ERROR(CheckIsMatrix(op));
  return PlanTakeAlongGradient(op, "X", "Out", 1);
}

absl::Status PlanWhere(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  if (op.InputDims("Condition") != type.dims || op.InputType("Y") != type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Condition is ", DimsText(op.InputDims("Condition")), ", X ", DimsText(type.dims),
        " and Y ", DimsText(op.InputDims("Y")), "; want equal dimensions and types"));
  }
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer condition, op.Read("Condition", VarType::BOOL, layout));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype, layout));
  ASSIGN_OR_RETURN(const Buffer y, op.Read("Y", type.dtype, layout));
  const Buffer out = op.WriteOver("Out", type, layout, x);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    AddElementStep(op, {condition, x, y}, out, [](const kernels::ElementBlock& block) {
      kernels::Select(block.In<bool>(0), block.In<T>(1), block.In<T>(2), block.Out<T>());
    });
    return absl::OkStatus();
  });
}

absl::Status PlanWhereGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Condition", type.dims));
  const Layout layout = op.InputLayout("Out@GRAD");
  ASSIGN_OR_RETURN(const Buffer condition, op.Read("Condition", VarType::BOOL, layout));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD", layout));
  for (const bool is_x : {true, false}) {
    const char* const slot = is_x ? "X@GRAD" : "Y@GRAD";
    if (!op.Wants(slot)) continue;
    const Buffer gradient = op.WriteAs(slot, type, layout);
    AddElementStep(op, {condition, dout}, gradient, [is_x](const kernels::ElementBlock& block) {
      const absl::Span<const bool> chosen = block.In<bool>(0);
      const absl::Span<const float> from = block.In<float>(1);
      const absl::Span<float> to = block.Out<float>();
      for (size_t i = 0; i < to.size(); ++i) to[i] = chosen[i] == is_x ? from[i] : 0;
    });
  }
  return absl::OkStatus();
}

}  // namespace

OpPlans GatheringPlans() {
  return {
      {"gather", [](OpPlanner& op) { return PlanPick(op, GatheredOf); }, AlwaysRoundsOnce},
      {"gather_grad", [](OpPlanner& op) { return PlanPickGradient(op, GatheredOf); }},
      {"index_select", [](OpPlanner& op) { return PlanPick(op, SelectedOf); }, AlwaysRoundsOnce},
      {"index_select_grad", [](OpPlanner& op) { return PlanPickGradient(op, SelectedOf); }},
      {"index_sample", PlanIndexSample, AlwaysRoundsOnce},
      {"index_sample_grad", PlanIndexSampleGradient},
      {"take_along_axis",
       [](OpPlanner& op) {
         return PlanTakeAlong(op, "Input", "Result", op.attributes().Int("Axis"));
       },
       AlwaysRoundsOnce},
      {"take_along_axis_grad",
       [](OpPlanner& op) {
         return PlanTakeAlongGradient(op, "Input", "Result", op.attributes().Int("Axis"));
       }},
      {"put_along_axis", PlanPutAlong},
      {"put_along_axis_grad", PlanPutAlongGradient},
      {"where", PlanWhere, AlwaysRoundsOnce},
      {"where_grad", PlanWhereGradient},
  };
}

}  // namespace fixpoint::executor
