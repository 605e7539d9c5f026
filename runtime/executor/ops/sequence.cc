// Ops over sequences. The offsets of their inputs are known when they are planned, so that a kernel
// is made for them as it is for extents.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/row_convolution.h"
#include "runtime/kernels/sequence_context.h"
#include "runtime/kernels/sequence_pooling.h"
#include "runtime/kernels/softmax.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;
using kernels::RowConvolution;
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

// Out[t] is the sum of X[t + i] * Filter[i], within a sequence.
absl::StatusOr<RowConvolution> RowConvolutionOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& filter = op.InputDims("Filter");
  if (x.size() != 2 || filter.size() != 2 || filter[1] != x[1]) {
    return absl::InvalidArgumentError(absl::StrCat("Filter is ", DimsText(filter), " and X ",
                                                   DimsText(x),
                                                   "; want [context, D] and [rows, D]"));
  }
  RowConvolution convolution;
  ASSIGN_OR_RETURN(convolution.sequences, SequencesOfX(op));
  convolution.width = x[1];
  convolution.context = filter[0];
  return convolution;
}

absl::Status PlanRowConvolution(OpPlanner& op) {
  ASSIGN_OR_RETURN(const RowConvolution convolution, RowConvolutionOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, op.InputDims("X")});
  op.AddStep({{x, filter}, {out}, [=](const StepContext& run) {
                kernels::ConvolveRows(convolution, run.Floats(x), run.Floats(filter),
                                      run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanRowConvolutionGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const RowConvolution convolution, RowConvolutionOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims("X")));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  if (op.Wants("Filter@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
    const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
    op.AddStep({{x, dout},
                {dfilter},
                [=](const StepContext& run) {
                  kernels::RowFilterGradient(convolution, run.Floats(x), run.Floats(dout),
                                             run.Floats(dfilter));
                  return absl::OkStatus();
                },
                "",
                0,
                absl::StrCat(op.type(), " of Filter")});
  }
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{filter, dout},
              {dx},
              [=](const StepContext& run) {
                kernels::ConvolveRowsBackward(convolution, run.Floats(filter), run.Floats(dout),
                                              run.Floats(dx));
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(op.type(), " of X")});
  return absl::OkStatus();
}

// The windows of images [N, C, H, W], each the row of a sequence for its image.
struct ImageWindows {
  Dims x;
  int64_t kernel[2];
  int64_t stride[2];
  int64_t before[2];
  int64_t places[2];

  int64_t rows() const { return x[0] * places[0] * places[1]; }
  Dims out_dims() const { return {rows(), x[1] * kernel[0] * kernel[1]}; }

  // Calls f(out_i, x_i, count) with each run of pixels of a window that lie in the image.
  template <typename F>
  void ForEachRun(F f) const {
    int64_t out = 0;
    for (int64_t n = 0; n < x[0]; ++n) {
      for (int64_t place = 0; place < places[0] * places[1]; ++place) {
        const int64_t top = place / places[1] * stride[0] - before[0];
        const int64_t left = place % places[1] * stride[1] - before[1];
        const int64_t first = std::max<int64_t>(0, -left);
        const int64_t count = std::min(kernel[1], x[3] - left) - first;
        for (int64_t c = 0; c < x[1]; ++c) {
          for (int64_t row = top; row < top + kernel[0]; ++row, out += kernel[1]) {
            if (row < 0 || row >= x[2] || count <= 0) continue;
            f(out + first, ((n * x[1] + c) * x[2] + row) * x[3] + left + first, count);
          }
        }
      }
    }
  }
};

absl::StatusOr<ImageWindows> WindowsOf(const OpPlanner& op) {
  if (op.HasInputSlot("Y") && op.HasInput("Y")) {
    return absl::UnimplementedError("Y, the sizes of images, is given; want images of one size");
  }
  const std::vector<int64_t> kernels = op.attributes().Ints("kernels");
  const std::vector<int64_t> strides = op.attributes().Ints("strides");
  const std::vector<int64_t> paddings = op.attributes().Ints("paddings");
  ImageWindows windows;
  windows.x = op.InputDims("X");
  if (windows.x.size() != 4 || kernels.size() != 2 || strides.size() != 2 || paddings.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X is ", DimsText(windows.x), ", and kernels, strides and paddings have ", kernels.size(),
        ", ", strides.size(), " and ", paddings.size(), " numbers; want images, and 2, 2 and 4"));
  }
  for (int i = 0; i < 2; ++i) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const bool is_sane = kernels[i] >= 1 && strides[i] >= 1 && paddings[i] >= 0 &&
                         paddings[i + 2] >= 0 && kernels[i] <= kMost && paddings[i] <= kMost &&
                         paddings[i + 2] <= kMost;
    const int64_t room = is_sane && windows.x[0] >= 1 && windows.x[1] >= 1
                             ? windows.x[2 + i] + paddings[i] + paddings[i + 2] - kernels[i]
                             : -1;
    if (room < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernels are ", DimsText(kernels), ", strides ", DimsText(strides),
                       ", paddings ", DimsText(paddings), " and X is ", DimsText(windows.x),
                       "; want windows that fit in the padded images"));
    }
    windows.kernel[i] = kernels[i];
    windows.stride[i] = strides[i];
    windows.before[i] = paddings[i];
    windows.places[i] = room / strides[i] + 1;
  }
  RETURN_IF_ERROR(ElementCount({windows.x[0], windows.places[0], windows.places[1], windows.x[1],
                                windows.kernel[0], windows.kernel[1]})
                      .status());
  return windows;
}

absl::Status PlanWindows(OpPlanner& op) {
  ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, windows.out_dims()});
  const int64_t rows = windows.places[0] * windows.places[1];
  op.CutOutput("Out", {OffsetsOf(std::vector<int64_t>(windows.x[0], rows))});
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                const absl::Span<float> to = run.Floats(out);
                std::fill(to.begin(), to.end(), 0.0f);
                windows.ForEachRun([&](int64_t out_i, int64_t x_i, int64_t count) {
                  std::copy_n(from + x_i, count, to.data() + out_i);
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanWindowsGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const ImageWindows windows, WindowsOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", windows.out_dims()));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{dout}, {dx}, [=](const StepContext& run) {
                const float* const from = run.Floats(dout).data();
                const absl::Span<float> to = run.Floats(dx);
                std::fill(to.begin(), to.end(), 0.0f);
                windows.ForEachRun([&](int64_t out_i, int64_t x_i, int64_t count) {
                  for (int64_t i = 0; i < count; ++i) to[x_i + i] += from[out_i + i];
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans SequencePlans() {
  return {{"sequence_pool", PlanPool},
          {"sequence_pool_grad", PlanPoolGradient},
          {"sequence_softmax", PlanSoftmax},
          {"sequence_conv", PlanConvolution},
          {"sequence_conv_grad", PlanConvolutionGradient},
          {"row_conv", PlanRowConvolution},
          {"row_conv_grad", PlanRowConvolutionGradient},
          {"im2sequence", PlanWindows, AlwaysRoundsOnce},
          {"im2sequence_grad", PlanWindowsGradient}};
}

}  // namespace fixpoint::executor
