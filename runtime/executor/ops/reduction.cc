// Sums, means, maxima, minima and products over axes, and running sums along one. Images stay
// channels last where the result lies in memory as it would from a row-major one.

#include "runtime/kernels/reduction.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/kernels/cast.h"
#include "runtime/kernels/running_sum.h"

namespace fixpoint::executor {
namespace {

using kernels::Reduction;
using kernels::ReductionType;

// How X, or its gradient, lies in memory, and the result.
struct Reading {
  Dims axes;
  Layout x_layout = Layout::kRowMajor;
  Layout out_layout = Layout::kRowMajor;
};

// The axes of X that `dim` names; all, if that is empty or reduce_all is true.
absl::StatusOr<Dims> ReducedAxes(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("AxisTensor"));
  RETURN_IF_ERROR(op.CheckAbsent("AxisTensorList"));
  const int rank = static_cast<int>(op.InputDims("X").size());
  std::vector<int64_t> named = op.attributes().Ints("dim");
  if (op.attributes().Bool("reduce_all")) named.clear();
  Dims axes;
  for (const int64_t axis : named) {
    ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, rank));
    if (std::find(axes.begin(), axes.end(), at) == axes.end()) axes.push_back(at);
  }
  for (int i = 0; i < rank && named.empty(); ++i) axes.push_back(i);
  return axes;
}

absl::StatusOr<Reading> ReadingOf(const OpPlanner& op, Layout preferred) {
  Reading reading;
  ASSIGN_OR_RETURN(reading.axes, ReducedAxes(op));
  if (preferred != Layout::kChannelsLast || op.InputDims("X").size() != 4) return reading;
  const auto is_reduced = [&](int axis) {
    return std::find(reading.axes.begin(), reading.axes.end(), axis) != reading.axes.end();
  };
  const bool lies_alike = is_reduced(1) || (is_reduced(2) && is_reduced(3));
  const bool keeps_rank = op.attributes().Bool("keep_dim");
  if (!lies_alike && !keeps_rank) return reading;
  reading.x_layout = Layout::kChannelsLast;
  if (keeps_rank) reading.out_layout = Layout::kChannelsLast;
  return reading;
}

absl::StatusOr<std::shared_ptr<Reduction>> PlanKernel(const OpPlanner& op, ReductionType type,
                                                      const Reading& reading) {
  kernels::ReductionShape shape{type, DimsInMemory(op.InputDims("X"), reading.x_layout), {}};
  for (const int64_t axis : reading.axes) {
    shape.axes.push_back(AxisInMemory(static_cast<int>(axis), reading.x_layout));
  }
  return Reduction::Plan(shape);
}

// X, row major, for a sum of all that there is of it in a run: with zeros after that.
absl::StatusOr<Buffer> ReadWhatThereIs(OpPlanner& op, const RunShape& shape) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer there = op.Scratch("X", VarType::FP32, x.size);
  op.AddStep({{x, shape.dims},
              {there},
              [=](const StepContext& run) {
                const auto count = static_cast<size_t>(run.CountOf(shape, x.size));
                const absl::Span<float> to = run.Floats(there);
                std::copy_n(run.Floats(x).begin(), count, to.begin());
                std::fill(to.begin() + count, to.end(), 0.0f);
                return absl::OkStatus();
              },
              "",
              0,
              "what there is"});
  return there;
}

absl::Status PlanReduction(OpPlanner& op, ReductionType type) {
  ASSIGN_OR_RETURN(const TensorType out_type, op.OutputType("Out"));
  if (out_type.dtype != VarType::FP32) {
    return absl::UnimplementedError("out_dtype is not that of X; want f32");
  }
  ASSIGN_OR_RETURN(const Reading reading, ReadingOf(op, op.InputLayout("X")));
  ASSIGN_OR_RETURN(const std::shared_ptr<Reduction> reduction, PlanKernel(op, type, reading));
  const RunShape* const decided = op.builder().RunShapeOf(op.InputValue("X"));
  const bool sums_all =
      type == ReductionType::kSum && reading.axes.size() == op.InputDims("X").size();
  Buffer x;
  if (decided != nullptr && sums_all) {
    ASSIGN_OR_RETURN(x, ReadWhatThereIs(op, *op.TakeAnyRunShape("X")));
  } else {
    ASSIGN_OR_RETURN(x, op.ReadFloats("X", reading.x_layout));
  }
  const Buffer out = op.WriteAs("Out", out_type, reading.out_layout);
  StepKernel kernel{{x},
                    {out},
                    [=](const StepContext& run) {
                      reduction->Run(run.Floats(x), run.Floats(out));
                      return absl::OkStatus();
                    },
                    reduction->implementation()};
  if (const auto folding = reduction->folding()) {
    // The terms are the elements.
    kernel.loops.push_back(
        {x.size, {AtPlace(x)}, out, folding, [](const kernels::ElementBlock& block) {
           const absl::Span<const float> elements = block.In<float>(0);
           std::copy(elements.begin(), elements.end(), block.Out<float>().begin());
         }});
  }
  op.AddStep(std::move(kernel));
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op, ReductionType type) {
  ASSIGN_OR_RETURN(const Reading reading, ReadingOf(op, op.InputLayout("X")));
  ASSIGN_OR_RETURN(const std::shared_ptr<Reduction> reduction, PlanKernel(op, type, reading));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", reduction->out_size()));
  const Layout dout_layout =
      op.InputDims("Out@GRAD").size() == 4 ? reading.out_layout : Layout::kRowMajor;
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD", dout_layout));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"), reading.x_layout);
  op.AddStep({{dout},
              {dx},
              [=](const StepContext& run) {
                reduction->Backward(run.Floats(dout), run.Floats(dx));
                return absl::OkStatus();
              },
              reduction->implementation()});
  return absl::OkStatus();
}

// The gradient of each maximum goes to all elements that are equal to it.
absl::Status PlanMaximumGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, ReadingOf(op, Layout::kRowMajor));
  ASSIGN_OR_RETURN(const std::shared_ptr<Reduction> repeated,
                   PlanKernel(op, ReductionType::kSum, reading));
  for (const char* slot : {"Out", "Out@GRAD"}) {
    RETURN_IF_ERROR(op.CheckSize(slot, repeated->out_size()));
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer out, op.ReadFloats("Out"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer maxima = op.Scratch("X", VarType::FP32, x.size);
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{x, out, dout}, {maxima, dx}, [=](const StepContext& run) {
                repeated->Backward(run.Floats(out), run.Floats(maxima));
                repeated->Backward(run.Floats(dout), run.Floats(dx));
                const absl::Span<float> kept = run.Floats(dx);
                for (size_t i = 0; i < kept.size(); ++i) {
                  if (run.Floats(x)[i] != run.Floats(maxima)[i]) kept[i] = 0;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Whether all elements are true is the minimum of them as integers, and whether any is the maximum.
absl::Status PlanLogic(OpPlanner& op, ReductionType type) {
  ASSIGN_OR_RETURN(const TensorType out_type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const Reading reading, ReadingOf(op, Layout::kRowMajor));
  ASSIGN_OR_RETURN(const std::shared_ptr<Reduction> reduction, PlanKernel(op, type, reading));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", VarType::BOOL));
  const Buffer numbers = op.Scratch("X", VarType::FP32, x.size);
  const Buffer reduced = op.Scratch("Out", VarType::FP32, reduction->out_size());
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, out_type.dims});
  op.AddStep({{x}, {numbers, reduced, out}, [=](const StepContext& run) {
                kernels::Cast<bool, float>(run.Of<bool>(x), run.Floats(numbers));
                reduction->Run(run.Floats(numbers), run.Floats(reduced));
                kernels::Cast<float, bool>(run.Floats(reduced), run.Of<bool>(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The gradient is the same sum in the opposite direction.
absl::Status PlanRunningSumGradient(OpPlanner& op) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  const TensorType type = op.InputType("X");
  const Dims dims = op.attributes().Bool("flatten") ? Dims{type.size()} : type.dims;
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", dims));
  ASSIGN_OR_RETURN(const kernels::Lines lines, LinesOf(dims, op.attributes().Int("axis")));
  const kernels::RunningSumRule rule{op.attributes().Bool("exclusive"),
                                     !op.attributes().Bool("reverse")};
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteOver("X@GRAD", type, Layout::kRowMajor, dout);
  op.AddStep({{dout}, {dx}, [=](const StepContext& run) {
                kernels::RunningSum(lines, rule, run.Floats(dout), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanRunningSum(OpPlanner& op) {
  TensorType type = op.InputType("X");
  if (op.attributes().Bool("flatten")) type.dims = {type.size()};
  ASSIGN_OR_RETURN(const kernels::Lines lines, LinesOf(type.dims, op.attributes().Int("axis")));
  const kernels::RunningSumRule rule{op.attributes().Bool("exclusive"),
                                     op.attributes().Bool("reverse")};
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteOver("Out", type, Layout::kRowMajor, x);
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                kernels::RunningSum(lines, rule, run.Floats(x), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans ReductionPlans() {
  OpPlans plans = {
      {"reduce_all", [](OpPlanner& op) { return PlanLogic(op, ReductionType::kMin); }},
      {"reduce_any", [](OpPlanner& op) { return PlanLogic(op, ReductionType::kMax); }},
      {"reduce_prod", [](OpPlanner& op) { return PlanReduction(op, ReductionType::kProduct); }},
      {"reduce_max_grad", PlanMaximumGradient},
      {"cumsum", PlanRunningSum},
      {"cumsum_grad", PlanRunningSumGradient}};
  const std::pair<const char*, ReductionType> reductions[] = {{"reduce_sum", ReductionType::kSum},
                                                              {"reduce_mean", ReductionType::kMean},
                                                              {"reduce_max", ReductionType::kMax},
                                                              {"reduce_min", ReductionType::kMin}};
  for (const auto& [type, reduction] : reductions) {
    const bool adds = reduction == ReductionType::kSum || reduction == ReductionType::kMean;
    plans.push_back(
        {type, [reduction = reduction](OpPlanner& op) { return PlanReduction(op, reduction); },
         adds ? RoundsOnce() : AlwaysRoundsOnce});
    const std::string gradient = absl::StrCat(type, "_grad");
    if (!adds) continue;
    plans.push_back(
        {gradient, [reduction = reduction](OpPlanner& op) { return PlanGradient(op, reduction); }});
  }
  return plans;
}

}  // namespace fixpoint::executor
