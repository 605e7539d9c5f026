// Norms of the vectors along an axis.

#include <algorithm>
#include <cmath>

#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/lines_of.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;

bool IsOfAll(const OpPlanner& op) {
  return op.era() == Era::kPaddle2 && op.attributes().Bool("asvector");
}

absl::StatusOr<Lines> VectorsOf(const OpPlanner& op) {
  if (IsOfAll(op)) return Lines{1, op.InputType("X").size(), 1};
  return LinesOf(op.InputDims("X"), op.attributes().Int("axis"));
}

// Calls f(line, start) with each vector and its first element.
template <typename F>
void ForEachVector(const Lines& lines, F f) {
  for (int64_t outer = 0; outer < lines.outer; ++outer) {
    for (int64_t inner = 0; inner < lines.inner; ++inner) {
      f(outer * lines.inner + inner, outer * lines.length * lines.inner + inner);
    }
  }
}

double Power(double magnitude, double order) {
  if (order == 1) return magnitude;
  return order == 2 ? magnitude * magnitude : std::pow(magnitude, order);
}

double NormOf(const float* x, int64_t length, int64_t stride, double order) {
  double norm = order == -INFINITY ? INFINITY : 0;
  for (int64_t i = 0; i < length; ++i) {
    const double magnitude = std::fabs(static_cast<double>(x[i * stride]));
    if (std::isinf(order)) {
      norm = order > 0 ? std::max(norm, magnitude) : std::min(norm, magnitude);
    } else {
      norm += order == 0 ? (magnitude != 0 ? 1 : 0) : Power(magnitude, order);
    }
  }
  return order == 0 || std::isinf(order) ? norm : std::pow(norm, 1 / order);
}

absl::Status PlanNorm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, VectorsOf(op));
  const double order = op.attributes().Float("porder");
  const bool keeps = op.attributes().Bool("keepdim");
  Dims dims = op.InputDims("X");
  if (IsOfAll(op)) {
    dims.assign(keeps ? dims.size() : 0, 1);
  } else {
    ASSIGN_OR_RETURN(const int axis,
                     NormalizeAxis(op.attributes().Int("axis"), static_cast<int>(dims.size())));
    dims[axis] = 1;
    if (!keeps) dims.erase(dims.begin() + axis);
  }
  if (dims.empty()) dims = {1};  // a scalar
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, dims});
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                float* const to = run.Floats(out).data();
                ForEachVector(lines, [=](int64_t line, int64_t start) {
                  to[line] =
                      static_cast<float>(NormOf(from + start, lines.length, lines.inner, order));
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Lines lines, VectorsOf(op));
  const double order = op.attributes().Float("porder");
  const double epsilon = op.attributes().Float("epsilon");
  RETURN_IF_ERROR(op.CheckSize("Out", lines.count()));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", lines.count()));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer out, op.ReadFloats("Out"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{x, out, dout}, {dx}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                const absl::Span<float> norms = run.Floats(out);
                const absl::Span<float> dnorms = run.Floats(dout);
                float* const to = run.Floats(dx).data();
                ForEachVector(lines, [=](int64_t line, int64_t start) {
                  const double norm = norms[line];
                  const double dnorm = dnorms[line];
                  const double factor = dnorm * std::pow(norm + epsilon, 1 - order);
                  for (int64_t i = 0; i < lines.length; ++i) {
                    const int64_t at = start + i * lines.inner;
                    const double element = from[at];
                    const double sign = element > 0 ? 1 : element < 0 ? -1 : 0;
                    const double magnitude = std::fabs(element);
                    double gradient = 0;
                    if (std::isinf(order)) {
                      gradient = magnitude == norm ? sign * dnorm : 0;
                    } else if (order != 0) {
                      gradient = std::pow(magnitude, order - 1) * sign * factor;
                    }
                    to[at] = static_cast<float>(gradient);
                  }
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The sum of a vector's squares and epsilon.
double SquaresOf(const float* x, int64_t length, int64_t stride, double epsilon) {
  double squares = epsilon;
  for (int64_t i = 0; i < length; ++i) {
    squares += static_cast<double>(x[i * stride]) * x[i * stride];
  }
  return squares;
}

absl::Status PlanNormalize(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(type.dims, op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(op.attributes().Int("axis"), static_cast<int>(type.dims.size())));
  const double epsilon = op.attributes().Float("epsilon");
  Dims dims = type.dims;
  dims[axis] = 1;
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  std::vector<Buffer> writes = {op.WriteAs("Out", type)};
  if (op.Wants("Norm")) writes.push_back(op.WriteAs("Norm", {VarType::FP32, dims}));
  op.AddStep({{x}, writes, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                float* const to = run.Floats(writes[0]).data();
                float* const norms = writes.size() > 1 ? run.Floats(writes[1]).data() : nullptr;
                ForEachVector(lines, [=](int64_t line, int64_t start) {
                  const double norm =
                      std::sqrt(SquaresOf(from + start, lines.length, lines.inner, epsilon));
                  for (int64_t i = 0; i < lines.length; ++i) {
                    const int64_t at = start + i * lines.inner;
                    to[at] = static_cast<float>(from[at] / norm);
                  }
                  if (norms != nullptr) norms[line] = static_cast<float>(norm);
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Finds the norms again.
absl::Status PlanNormalizeGradient(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(type.dims, op.attributes().Int("axis")));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", type.dims));
  const double epsilon = op.attributes().Float("epsilon");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", type);
  op.AddStep({{x, dout}, {dx}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                const float* const gradient = run.Floats(dout).data();
                float* const to = run.Floats(dx).data();
                ForEachVector(lines, [=](int64_t, int64_t start) {
                  const double squares =
                      SquaresOf(from + start, lines.length, lines.inner, epsilon);
                  const int64_t end = start + lines.length * lines.inner;
                  double dot = 0;
                  for (int64_t at = start; at < end; at += lines.inner) {
                    dot += static_cast<double>(from[at]) * gradient[at];
                  }
                  for (int64_t at = start; at < end; at += lines.inner) {
                    to[at] = static_cast<float>((gradient[at] - from[at] * dot / squares) /
                                                std::sqrt(squares));
                  }
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans VectorNormPlans() {
  return {{"p_norm", PlanNorm},
          {"p_norm_grad", PlanGradient},
          {"norm", PlanNormalize},
          {"norm_grad", PlanNormalizeGradient}};
}

}  // namespace fixpoint::executor
