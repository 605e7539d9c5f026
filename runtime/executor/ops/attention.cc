// Attention: the steps of its components.

#include <memory>

#include "ops/attention_shape.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/softmax.h"

namespace fixpoint::executor {
namespace {

// Adds the mask to the scores in place.
absl::Status AddMask(OpPlanner& op, const Dims& dims, Buffer scores) {
  RETURN_IF_ERROR(CheckAttentionMask(dims, op.InputDims("Mask")));
  ASSIGN_OR_RETURN(
      const std::shared_ptr<kernels::Elementwise> add,
      kernels::Elementwise::Plan(kernels::Arithmetic::kAdd, {dims, op.InputDims("Mask"), -1}));
  ASSIGN_OR_RETURN(const Buffer mask, op.ReadFloats("Mask"));
  op.AddStep({{scores, mask},
              {scores},
              [=](const StepContext& run) {
                add->Run(run.Floats(scores), run.Floats(mask), run.Floats(scores));
                return absl::OkStatus();
              },
              add->implementation(),
              0,
              "add Mask"});
  return absl::OkStatus();
}

absl::Status PlanAttention(OpPlanner& op) {
  const Dims& q_dims = op.InputDims("Q");
  const Dims& v_dims = op.InputDims("V");
  ASSIGN_OR_RETURN(const AttentionShape shape, AttentionShapeOf(q_dims, op.InputDims("K"), v_dims));
  kernels::ProductShape of_scores;
  of_scores.rows = shape.scores[shape.scores.size() - 2];
  of_scores.columns = shape.scores.back();
  of_scores.inner = q_dims.back();
  of_scores.batch = 1;
  for (size_t i = 0; i + 2 < q_dims.size(); ++i) of_scores.batch *= q_dims[i];
  of_scores.transpose_y = true;
  kernels::ProductShape of_values = of_scores;
  of_values.inner = of_scores.columns;
  of_values.columns = v_dims.back();
  of_values.transpose_y = false;
  ASSIGN_OR_RETURN(const kernels::Lines lines, LinesOf(shape.scores, -1));

  ASSIGN_OR_RETURN(const Buffer q, op.ReadFloats("Q"));
  ASSIGN_OR_RETURN(const Buffer k, op.ReadFloats("K"));
  RETURN_IF_ERROR(kernels::CheckShape(of_scores));
  const Buffer scores = op.Scratch("scores", VarType::FP32, of_scores.out_size());
  RETURN_IF_ERROR(
      AddProduct(op, of_scores, op.attributes().Float("alpha"), q, k, scores, "scores"));
  if (op.HasInput("Mask")) RETURN_IF_ERROR(AddMask(op, shape.scores, scores));
  op.AddStep({{scores},
              {scores},
              [=](const StepContext& run) {
                kernels::Softmax(lines, run.Floats(scores), run.Floats(scores));
                return absl::OkStatus();
              },
              "",
              0,
              "probabilities"});
  ASSIGN_OR_RETURN(const Buffer v, op.ReadFloats("V"));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  return AddProduct(op, of_values, 1, scores, v, op.WriteAs("Out", type));
}

}  // namespace

OpPlans AttentionPlans() { return {{"scaled_dot_product_attention", PlanAttention}}; }

}  // namespace fixpoint::executor
