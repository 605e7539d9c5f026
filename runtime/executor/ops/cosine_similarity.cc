// The cosine of the angle between rows.

#include "runtime/kernels/cosine_similarity.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

using kernels::CosineShape;

absl::StatusOr<CosineShape> ShapeOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& y = op.InputDims("Y");
  const bool fits = x.size() >= 2 && x.size() == y.size() &&
                    std::equal(x.begin() + 1, x.end(), y.begin() + 1) &&
                    (y[0] == 1 || y[0] == x[0]);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and Y ", DimsText(y),
                                                   "; want rows alike, and as many or one of Y"));
  }
  CosineShape shape;
  shape.rows = x[0];
  for (size_t i = 1; i < x.size(); ++i) shape.width *= x[i];
  shape.has_one_y = y[0] == 1;
  return shape;
}

absl::Status PlanCosine(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CosineShape shape, ShapeOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {shape.rows, 1}});
  const Buffer x_norm = op.WriteAs("XNorm", {VarType::FP32, {shape.rows, 1}});
  const Buffer y_norm = op.WriteAs("YNorm", {VarType::FP32, {op.InputDims("Y")[0], 1}});
  op.AddStep({{x, y}, {out, x_norm, y_norm}, [=](const StepContext& run) {
                kernels::CosineSimilarity(shape, run.Floats(x), run.Floats(y), run.Floats(out),
                                          run.Floats(x_norm), run.Floats(y_norm));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CosineShape shape, ShapeOf(op));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", shape.rows));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const bool wants_x = op.Wants("X@GRAD");
  const bool wants_y = op.Wants("Y@GRAD");
  std::vector<Buffer> writes;
  if (wants_x) writes.push_back(op.WriteAs("X@GRAD", op.InputType("X")));
  if (wants_y) writes.push_back(op.WriteAs("Y@GRAD", op.InputType("Y")));
  op.AddStep({{x, y, dout}, writes, [=](const StepContext& run) {
                kernels::CosineSimilarityBackward(
                    shape, run.Floats(x), run.Floats(y), run.Floats(dout),
                    wants_x ? run.Floats(writes.front()) : absl::Span<float>(),
                    wants_y ? run.Floats(writes.back()) : absl::Span<float>());
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans CosineSimilarityPlans() {
  return {{"cos_sim", PlanCosine}, {"cos_sim_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
