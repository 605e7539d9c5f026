// Ops over sequences. The offsets of their inputs are known when they are planned, so that a kernel
// is made for them as it is for extents.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sequence_context.h"
#include "runtime/kernels/sequence_pooling.h"
#include "runtime/kernels/softmax.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;
using kernels::SequenceContext;
using kernels::SequencePooling;
using kernels::SequencePoolingShape;

absl::StatusOr<std::vector<Sequence>> SequencesOfX(const OpPlanner& op) {
  return SequencesOf("X", op.InputDims("X"), op.InputLod("X"));
}

absl::StatusOr<SequencePooling> PoolingOf(const OpPlanner& op) {
  const std::string type = op.attributes().String("pooltype");
  if (type == "AVERAGE") return SequencePooling::kAverage;
  if (type == "SUM") return SequencePooling::kSum;
  if (type == "SQRT") return SequencePooling::kSqrt;
  if (type == "MAX") return SequencePooling::kMax;
  if (type == "LAST") return SequencePooling::kLast;
  if (type == "FIRST") return SequencePooling::kFirst;
  return absl::InvalidArgumentError(
      absl::StrCat("pooltype is \"", type, "\"; want AVERAGE, SUM, SQRT, MAX, LAST or FIRST"));
}

absl::StatusOr<SequencePoolingShape> PoolingShapeOf(const OpPlanner& op) {
  SequencePoolingShape shape;
  ASSIGN_OR_RETURN(shape.sequences, SequencesOfX(op));
  const Dims& dims = op.InputDims("X");
  for (size_t i = 1; i < dims.size(); ++i) shape.width *= dims[i];
  return shape;
}

// A row for each sequence.
Dims PooledDims(const OpPlanner& op, const SequencePoolingShape& shape) {
  Dims dims = op.InputDims("X");
  dims[0] = static_cast<int64_t>(shape.sequences.size());
  return dims;
}

absl::Status PlanPool(OpPlanner& op) {
  ASSIGN_OR_RETURN(const SequencePooling pooling, PoolingOf(op));
  ASSIGN_OR_RETURN(const SequencePoolingShape shape, PoolingShapeOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const float padding = op.Number("pad_value");
  const Buffer out = op.WriteAs("Out", {VarType::FP32, PooledDims(op, shape)});
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                kernels::PoolSequences(pooling, shape, run.Floats(x), padding, run.Floats(out));
                return absl::OkStatus();
              }});
  if (!op.Wants("MaxIndex")) return absl::OkStatus();
  const Buffer rows = op.WriteAs("MaxIndex", {VarType::INT32, PooledDims(op, shape)});
  op.AddStep({{x},
              {rows},
              [=](const StepContext& run) {
                kernels::FindLargestRows(shape, run.Floats(x), run.Of<int32_t>(rows));
                return absl::OkStatus();
              },
              "",
              0,
              "find largest rows"});
  return absl::OkStatus();
}

absl::Status PlanPoolGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const SequencePooling pooling, PoolingOf(op));
  ASSIGN_OR_RETURN(const SequencePoolingShape shape, PoolingShapeOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", PooledDims(op, shape)));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  std::vector<Buffer> reads = {dout};
  if (pooling == SequencePooling::kMax) {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
    reads.push_back(x);
  }
  const Buffer dx = op.WriteAs("X@GRAD", {VarType::FP32, op.InputDims("X")});
  op.AddStep({reads, {dx}, [=](const StepContext& run) {
                const absl::Span<const float> x =
                    reads.size() > 1 ? run.Floats(reads[1]) : absl::Span<const float>();
                kernels::PoolSequencesBackward(pooling, shape, x, run.Floats(dout), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// X [T] or [T, 1].
absl::Status PlanSoftmax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOfX(op));
  RETURN_IF_ERROR(op.CheckSize("X", op.InputDims("X")[0]));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), Layout::kRowMajor, x);
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                for (const Sequence& sequence : sequences) {
                  kernels::Softmax({1, sequence.length(), 1},
                                   run.Floats(x).subspan(sequence.begin, sequence.length()),
                                   run.Floats(y).subspan(sequence.begin, sequence.length()));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Out [T, M] is the product of the context of X [T, D] with Filter [length * D, M].
struct Convolution {
  SequenceContext context;
  ProductShape product;
};

absl::StatusOr<Convolution> ConvolutionOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& filter = op.InputDims("Filter");
  if (op.attributes().Bool("paddingTrainable") || op.attributes().Int("contextStride") != 1) {
    return absl::UnimplementedError(
        "paddingTrainable or a contextStride; want rows of 0 around sequences, and a stride of 1");
  }
  Convolution convolution;
  SequenceContext& context = convolution.context;
  ASSIGN_OR_RETURN(context.sequences, SequencesOfX(op));
  context.start = op.attributes().Int("contextStart");
  context.length = op.attributes().Int("contextLength");
  const bool fits = x.size() == 2 && filter.size() == 2 && context.length > 0 &&
                    filter[0] % context.length == 0 && filter[0] / context.length == x[1];
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("Filter is ", DimsText(filter), ", contextLength ", context.length, " and X ",
                     DimsText(x), "; want contextLength * X's width rows"));
  }
  context.width = x[1];
  convolution.product = {1, x[0], filter[0], filter[1]};
  RETURN_IF_ERROR(kernels::CheckShape(convolution.product));
  return convolution;
}

// Adds the step that gathers the context of X.
absl::StatusOr<Buffer> AddContext(OpPlanner& op, const SequenceContext& shape) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer context =
      op.Scratch("context", VarType::FP32, shape.rows() * shape.length * shape.width);
  op.AddStep({{x},
              {context},
              [=](const StepContext& run) {
                kernels::GatherContext(shape, run.Floats(x), run.Floats(context));
                return absl::OkStatus();
              },
              "",
              0,
              "gather context"});
  return context;
}

absl::Status PlanConvolution(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Convolution convolution, ConvolutionOf(op));
  const ProductShape& product = convolution.product;
  ASSIGN_OR_RETURN(const Buffer context, AddContext(op, convolution.context));
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {product.rows, product.columns}});
  return AddProduct(op, product, 1, context, filter, out);
}

absl::Status PlanConvolutionGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Convolution convolution, ConvolutionOf(op));
  const ProductShape& product = convolution.product;
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", {product.rows, product.columns}));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  if (op.Wants("Filter@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer context, AddContext(op, convolution.context));
    const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
    RETURN_IF_ERROR(AddProduct(
        op, {1, product.inner, product.rows, product.columns, /*transpose_x=*/true, false}, 1,
        context, dout, dfilter, absl::StrCat(op.type(), " of Filter")));
  }
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer dcontext = op.Scratch("context@GRAD", VarType::FP32, product.rows * product.inner);
  RETURN_IF_ERROR(AddProduct(op, {1, product.rows, product.columns, product.inner, false, true}, 1,
                             dout, filter, dcontext, absl::StrCat(op.type(), " of X")));
  const Buffer dx = op.WriteAs("X@GRAD", {VarType::FP32, op.InputDims("X")});
  op.AddStep({{dcontext},
              {dx},
              [dcontext, dx, shape = convolution.context](const StepContext& run) {
                kernels::GatherContextBackward(shape, run.Floats(dcontext), run.Floats(dx));
                return absl::OkStatus();
              },
              "",
              0,
              "sum of context@GRAD"});
  return absl::OkStatus();
}

}  // namespace

OpPlans SequencePlans() {
  return {{"sequence_pool", PlanPool},
          {"sequence_pool_grad", PlanPoolGradient},
          {"sequence_softmax", PlanSoftmax},
          {"sequence_conv", PlanConvolution},
          {"sequence_conv_grad", PlanConvolutionGradient}};
}

}  // namespace fixpoint::executor
