// Ops that make grids and matrices, or take a triangle of one.

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/copy_step.h"
#include "runtime/executor/ops/number_as_element.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {
namespace {

absl::Status PlanEye(OpPlanner& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.attributes().DataType("dtype"));
  const int64_t rows = op.attributes().Int("num_rows");
  const int64_t named = op.attributes().Int("num_columns");
  const int64_t columns = named == -1 ? rows : named;
  RETURN_IF_ERROR(kernels::CheckExtents("the matrix is", {rows, columns}));
  const Buffer out = op.WriteAs("Out", {dtype, {rows, columns}});
  return WithElementType(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{}, {out}, [=](const StepContext& run) {
                  const absl::Span<T> to = run.Of<T>(out);
                  std::fill(to.begin(), to.end(), T());
                  for (int64_t i = 0; i < std::min(rows, columns); ++i) to[i * columns + i] = T(1);
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// An input of one number, and how to read it in a run.
absl::StatusOr<std::function<double(const StepContext&)>> ReadNumber(OpPlanner& op,
                                                                     absl::string_view slot,
                                                                     std::vector<Buffer>* reads) {
  RETURN_IF_ERROR(op.CheckSize(slot, 1));
  const VarType::Type dtype = op.InputType(slot).dtype;
  ASSIGN_OR_RETURN(const Buffer buffer, op.Read(slot, dtype));
  reads->push_back(buffer);
  std::function<double(const StepContext&)> read;
  RETURN_IF_ERROR(WithElementType(dtype, [&](auto element) {
    using T = decltype(element);
    read = [buffer](const StepContext& run) { return static_cast<double>(run.Of<T>(buffer)[0]); };
    return absl::OkStatus();
  }));
  return read;
}

// Counted from the nearer end, so that both are exact.
absl::Status PlanLinspace(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Num", 1));
  const auto known = op.builder().FindKnown(op.InputValue("Num"));
  if (!known) {
    return absl::UnimplementedError(
        "input Num is not known before the run; want what shapes and constants decide");
  }
  constexpr double kMost = 9e18;
  const auto count = static_cast<int64_t>(std::clamp((*known)[0], -1.0, kMost));
  RETURN_IF_ERROR(kernels::CheckExtents("Num is", {count}));
  VarType::Type dtype = op.InputType("Start").dtype;
  if (op.era() == Era::kPaddle2) {
    ASSIGN_OR_RETURN(dtype, op.attributes().DataType("dtype"));
  }
  std::vector<Buffer> reads;
  ASSIGN_OR_RETURN(const auto start_in, ReadNumber(op, "Start", &reads));
  ASSIGN_OR_RETURN(const auto stop_in, ReadNumber(op, "Stop", &reads));
  const Buffer out = op.WriteAs("Out", {dtype, {count}});
  return WithElementType(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep(
        {std::move(reads), {out}, [=](const StepContext& run) {
           const double start = start_in(run);
           const double stop = stop_in(run);
           const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
           const absl::Span<T> to = run.Of<T>(out);
           for (int64_t i = 0; i < count; ++i) {
             const bool is_near_start = i < count / 2 || count == 1;
             to[i] = ElementOf<T>(is_near_start ? start + step * static_cast<double>(i)
                                                : stop - step * static_cast<double>(count - 1 - i));
           }
           return absl::OkStatus();
         }});
    return absl::OkStatus();
  });
}

absl::Status PlanMeshgrid(OpPlanner& op) {
  const int count = op.InputCount("X");
  Dims dims;
  for (int i = 0; i < count; ++i) {
    if (op.InputDims("X", i).size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("X[", i, "] is ", DimsText(op.InputDims("X", i)), "; want one dimension"));
    }
    dims.push_back(op.InputType("X", i).size());
  }
  if (op.OutputCount("Out") != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", count, " inputs and ", op.OutputCount("Out"), " outputs; want as many"));
  }
  for (int i = 0; i < count; ++i) {
    if (!op.Wants("Out", i)) continue;
    const VarType::Type dtype = op.InputType("X", i).dtype;
    kernels::StridedLayout from{0, Dims(dims.size(), 0)};
    from.strides[i] = 1;
    ASSIGN_OR_RETURN(const std::shared_ptr<kernels::StridedCopy> copy,
                     kernels::StridedCopy::Plan(dims, from, kernels::RowMajorLayout(dims)));
    ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype, Layout::kRowMajor, i));
    const Buffer out = op.WriteAs("Out", {dtype, dims}, Layout::kRowMajor, i);
    RETURN_IF_ERROR(AddCopy(op, dtype, copy, x, out));
  }
  return absl::OkStatus();
}

// The gradient is the same triangle of the gradient.
absl::Status PlanTriangle(OpPlanner& op, const char* input, const char* output) {
  const TensorType type = op.InputType(input);
  if (type.dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(input, " is ", DimsText(type.dims), "; want 2 dimensions or more"));
  }
  const int64_t rows = type.dims[type.dims.size() - 2];
  const int64_t columns = type.dims.back();
  const int64_t diagonal = std::clamp<int64_t>(op.attributes().Int("diagonal"), -rows, columns);
  const bool lower = op.attributes().Bool("lower");
  ASSIGN_OR_RETURN(const Buffer x, op.Read(input, type.dtype));
  const Buffer out = op.WriteOver(output, type, Layout::kRowMajor, x);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x}, {out}, [=](const StepContext& run) {
                  const T* from = run.Of<T>(x).data();
                  const absl::Span<T> to = run.Of<T>(out);
                  const auto lines = columns > 0 ? static_cast<int64_t>(to.size()) / columns : 0;
                  for (int64_t line = 0; line < lines; ++line) {
                    // The columns that stay: up to the diagonal, or from it on.
                    const int64_t end = lower ? diagonal + 1 : diagonal;
                    const int64_t at = std::clamp<int64_t>(line % rows + end, 0, columns);
                    T* const row = to.data() + line * columns;
                    if (row != from + line * columns)
                      std::copy_n(from + line * columns, columns, row);
                    std::fill(row + (lower ? at : 0), row + (lower ? columns : at), T());
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace

OpPlans GridPlans() {
  return {
      {"eye", PlanEye, AlwaysRoundsOnce},
      {"linspace", PlanLinspace},
      {"meshgrid", PlanMeshgrid, AlwaysRoundsOnce},
      {"tril_triu", [](OpPlanner& op) { return PlanTriangle(op, "X", "Out"); }, AlwaysRoundsOnce},
      {"tril_triu_grad", [](OpPlanner& op) { return PlanTriangle(op, "Out@GRAD", "X@GRAD"); }}};
}

}  // namespace fixpoint::executor
