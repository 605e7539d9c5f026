// Training in low precision: gradients of a scaled loss, and the scale.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// A variable that is written as it was, or changed.
struct Pair {
  Buffer before;
  Buffer after;
};

// The gradients of X, and where they go.
absl::StatusOr<std::vector<Pair>> ReadGradients(OpPlanner& op) {
  std::vector<Pair> pairs;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    Pair pair;
    ASSIGN_OR_RETURN(pair.before, op.ReadFloats("X", Layout::kRowMajor, i));
    pair.after = op.WriteOver("Out", op.InputType("X", i), Layout::kRowMajor, pair.before, i);
    pairs.push_back(pair);
  }
  return pairs;
}

absl::StatusOr<Pair> ReadNumber(OpPlanner& op, const char* in, const char* out,
                                VarType::Type dtype) {
  RETURN_IF_ERROR(op.CheckSize(in, 1));
  Pair pair;
  ASSIGN_OR_RETURN(pair.before, op.Read(in, dtype));
  pair.after = op.WriteOver(out, op.InputType(in), Layout::kRowMajor, pair.before);
  return pair;
}

void AddBuffers(const std::vector<Pair>& pairs, StepKernel* step) {
  for (const Pair& pair : pairs) {
    step->reads.push_back(pair.before);
    step->writes.push_back(pair.after);
  }
}

absl::Status PlanUnscale(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Scale", 1));
  ASSIGN_OR_RETURN(const Buffer scale, op.ReadFloats("Scale"));
  ASSIGN_OR_RETURN(const std::vector<Pair> gradients, ReadGradients(op));
  const Buffer found = op.WriteAs("FoundInfinite", {VarType::BOOL, {1}});
  StepKernel step;
  step.reads = {scale};
  step.writes = {found};
  AddBuffers(gradients, &step);
  step.run = [=](const StepContext& run) {
    const float divisor = run.Floats(scale)[0];
    bool has_found = false;
    for (const Pair& gradient : gradients) {
      const absl::Span<const float> from = run.Floats(gradient.before);
      const absl::Span<float> to = run.Floats(gradient.after);
      for (size_t i = 0; i < to.size(); ++i) {
        has_found |= !std::isfinite(from[i]);
        to[i] = from[i] / divisor;
      }
    }
    run.Of<bool>(found)[0] = has_found;
    return absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

// How the scale follows from steps.
struct ScaleRule {
  int64_t steps_to_raise;
  int64_t steps_to_lower;
  float raising;
  float lowering;

  // A counter stays at the largest number there is.
  static int32_t Next(int32_t counter) {
    return counter < std::numeric_limits<int32_t>::max() ? counter + 1 : counter;
  }

  void Apply(bool has_found, float* scale, int32_t* good, int32_t* bad) const {
    if (has_found) {
      *good = 0;
      *bad = Next(*bad);
      if (*bad != steps_to_lower) return;
      *scale = std::max(*scale * lowering, 1.0f);
      *bad = 0;
      return;
    }
    *bad = 0;
    *good = Next(*good);
    if (*good != steps_to_raise) return;
    const float raised = *scale * raising;
    if (std::isfinite(raised)) *scale = raised;
    *good = 0;
  }
};

absl::Status PlanUpdate(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("FoundInfinite", 1));
  ASSIGN_OR_RETURN(const Buffer found, op.Read("FoundInfinite", VarType::BOOL));
  ASSIGN_OR_RETURN(const std::vector<Pair> gradients, ReadGradients(op));
  ASSIGN_OR_RETURN(const Pair scale,
                   ReadNumber(op, "PrevLossScaling", "LossScaling", VarType::FP32));
  ASSIGN_OR_RETURN(const Pair good, ReadNumber(op, "InGoodSteps", "OutGoodSteps", VarType::INT32));
  ASSIGN_OR_RETURN(const Pair bad, ReadNumber(op, "InBadSteps", "OutBadSteps", VarType::INT32));
  StepKernel step;
  step.reads = {found};
  std::optional<Buffer> stop;
  if (op.HasInput("StopUpdate")) {
    RETURN_IF_ERROR(op.CheckSize("StopUpdate", 1));
    ASSIGN_OR_RETURN(stop, op.Read("StopUpdate", VarType::BOOL));
    step.reads.push_back(*stop);
  }
  AddBuffers(gradients, &step);
  AddBuffers({scale, good, bad}, &step);
  const OpAttributes& attributes = op.attributes();
  const ScaleRule rule = {attributes.Int("incr_every_n_steps"),
                          attributes.Int("decr_every_n_nan_or_inf"), op.Number("incr_ratio"),
                          op.Number("decr_ratio")};
  const bool stops_always = attributes.Bool("stop_update");
  step.run = [=](const StepContext& run) {
    const bool has_found = run.Of<bool>(found)[0];
    for (const Pair& gradient : gradients) {
      const absl::Span<float> to = run.Floats(gradient.after);
      if (has_found) {
        std::fill(to.begin(), to.end(), 0.0f);
      } else if (gradient.after != gradient.before) {
        const absl::Span<const float> from = run.Floats(gradient.before);
        std::copy(from.begin(), from.end(), to.begin());
      }
    }
    float next_scale = run.Floats(scale.before)[0];
    int32_t next_good = run.Of<int32_t>(good.before)[0];
    int32_t next_bad = run.Of<int32_t>(bad.before)[0];
    const bool stops = stop ? run.Of<bool>(*stop)[0] : stops_always;
    if (!stops) rule.Apply(has_found, &next_scale, &next_good, &next_bad);
    run.Floats(scale.after)[0] = next_scale;
    run.Of<int32_t>(good.after)[0] = next_good;
    run.Of<int32_t>(bad.after)[0] = next_bad;
    return absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace

OpPlans LossScalingPlans() {
  return {{"check_finite_and_unscale", PlanUnscale}, {"update_loss_scaling", PlanUpdate}};
}

}  // namespace fixpoint::executor
