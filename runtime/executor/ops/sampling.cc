// Images sampled between their elements, at places that another tensor gives.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/deformable_shape.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/deformable_columns.h"
#include "runtime/kernels/grid_sampling.h"
#include "runtime/kernels/product.h"

namespace fixpoint::executor {
namespace {

using kernels::GridPadding;
using kernels::GridSampling;
using kernels::SampleCorners;

absl::StatusOr<GridSampling> SamplingOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& grid = op.InputDims("Grid");
  if (x.size() != 4 || grid.size() != 4 || grid[0] != x[0] || grid[3] != 2) {
    return absl::InvalidArgumentError(absl::StrCat("Grid is ", DimsText(grid), " and X is ",
                                                   DimsText(x),
                                                   "; want [X's batch, height, width, 2]"));
  }
  GridSampling sampling{x[0], x[1], x[2], x[3], grid[1] * grid[2]};
  ASSIGN_OR_RETURN(const int64_t plane, ElementCount({x[2], x[3]}));
  if (plane > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat("X is ", DimsText(x), "; want planes of less than 2^31 elements"));
  }
  if (op.era() == Era::kFluid) return sampling;
  const std::string mode = op.attributes().String("mode");
  const std::string padding = op.attributes().String("padding_mode");
  if ((mode != "bilinear" && mode != "nearest") ||
      (padding != "zeros" && padding != "border" && padding != "reflection")) {
    return absl::InvalidArgumentError(
        absl::StrCat("mode is \"", mode, "\" and padding_mode \"", padding,
                     "\"; want bilinear or nearest, and zeros, border or reflection"));
  }
  sampling.is_nearest = mode == "nearest";
  sampling.aligns_corners = op.attributes().Bool("align_corners");
  sampling.padding = padding == "zeros"    ? GridPadding::kZeros
                     : padding == "border" ? GridPadding::kBorder
                                           : GridPadding::kReflection;
  return sampling;
}

// Adds the step that finds the elements that each sample is made of.
absl::StatusOr<Buffer> AddCorners(OpPlanner& op, const GridSampling& sampling) {
  ASSIGN_OR_RETURN(const Buffer grid, op.ReadFloats("Grid"));
  ASSIGN_OR_RETURN(const int64_t bytes,
                   ElementCount({sampling.images, sampling.samples,
                                 static_cast<int64_t>(sizeof(SampleCorners))}));
  const Buffer corners = op.Scratch("corners", VarType::UINT8, bytes);
  op.AddStep({{grid},
              {corners},
              [=](const StepContext& run) {
                FindCorners(sampling, run.Floats(grid),
                            absl::MakeSpan(
                                reinterpret_cast<SampleCorners*>(run.Of<uint8_t>(corners).data()),
                                sampling.images * sampling.samples));
                return absl::OkStatus();
              },
              "",
              0,
              "find corners"});
  return corners;
}

absl::Span<const SampleCorners> CornersIn(const StepContext& run, Buffer corners) {
  return absl::MakeConstSpan(
      reinterpret_cast<const SampleCorners*>(run.Of<uint8_t>(corners).data()),
      corners.size / sizeof(SampleCorners));
}

Dims OutputDims(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& grid = op.InputDims("Grid");
  return {x[0], x[1], grid[1], grid[2]};
}

absl::Status PlanGridSampler(OpPlanner& op) {
  ASSIGN_OR_RETURN(const GridSampling sampling, SamplingOf(op));
  RETURN_IF_ERROR(ElementCount(OutputDims(op)).status());
  ASSIGN_OR_RETURN(const Buffer corners, AddCorners(op, sampling));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Output", {VarType::FP32, OutputDims(op)});
  op.AddStep({{corners, x}, {out}, [=](const StepContext& run) {
                SampleGrid(sampling, CornersIn(run, corners), run.Floats(x), run.Floats(out));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGridSamplerGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const GridSampling sampling, SamplingOf(op));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", OutputDims(op)));
  ASSIGN_OR_RETURN(const Buffer corners, AddCorners(op, sampling));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Output@GRAD"));
  if (op.Wants("X@GRAD")) {
    const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
    op.AddStep({{corners, dout},
                {dx},
                [=](const StepContext& run) {
                  SampleGridBackwardX(sampling, CornersIn(run, corners), run.Floats(dout),
                                      run.Floats(dx));
                  return absl::OkStatus();
                },
                "",
                0,
                absl::StrCat(op.type(), " of X")});
  }
  if (!op.Wants("Grid@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer dgrid = op.WriteAs("Grid@GRAD", op.InputType("Grid"));
  op.AddStep({{corners, x, dout},
              {dgrid},
              [=](const StepContext& run) {
                SampleGridBackwardGrid(sampling, CornersIn(run, corners), run.Floats(x),
                                       run.Floats(dout), run.Floats(dgrid));
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat(op.type(), " of Grid")});
  return absl::OkStatus();
}

// A deformable convolution, and what it reads.
struct Deformable {
  DeformableShape shape;
  Buffer input;
  Buffer offset;
  std::optional<Buffer> mask;

  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = {input, offset};
    if (mask) all.push_back(*mask);
    return all;
  }
  absl::Span<float> Image(const StepContext& run, Buffer buffer, int64_t i) const {
    const int64_t size = buffer.size / shape.batch;
    return run.Floats(buffer).subspan(i * size, size);
  }
  kernels::DeformableImage ImageIn(const StepContext& run, int64_t i) const {
    kernels::DeformableImage image{Image(run, input, i), Image(run, offset, i), {}};
    if (mask) image.mask = Image(run, *mask, i);
    return image;
  }
  // For one image and all groups: of the filter and the columns.
  kernels::ProductShape Product() const {
    return {shape.groups, shape.out_channels / shape.groups,
            shape.channels_of_group() * shape.taps(), shape.places()};
  }
};

absl::StatusOr<Deformable> ReadDeformable(OpPlanner& op) {
  Deformable deformable;
  ASSIGN_OR_RETURN(deformable.shape, DeformableShapeOf(op.attributes(), op.InputDims("Input"),
                                                       op.InputDims("Filter")));
  RETURN_IF_ERROR(op.CheckDims("Offset", deformable.shape.OffsetDims()));
  ASSIGN_OR_RETURN(deformable.input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(deformable.offset, op.ReadFloats("Offset"));
  if (!op.HasInputSlot("Mask")) return deformable;
  RETURN_IF_ERROR(op.CheckDims("Mask", deformable.shape.MaskDims()));
  ASSIGN_OR_RETURN(deformable.mask, op.ReadFloats("Mask"));
  return deformable;
}

// A product whose second operand is made anew for each image.
struct ImageProduct {
  std::shared_ptr<kernels::Product> product;
  Buffer packed;

  void Run(const StepContext& run, absl::Span<const float> x, absl::Span<const float> y,
           absl::Span<float> out) const {
    product->Pack(y, run.Of<uint8_t>(packed));
    product->Run(x, run.Of<uint8_t>(packed), {}, out);
  }
};

absl::StatusOr<ImageProduct> PlanImageProduct(OpPlanner& op, const kernels::ProductShape& shape,
                                              absl::string_view what) {
  ImageProduct planned;
  ASSIGN_OR_RETURN(planned.product, kernels::Product::Plan(shape));
  planned.packed =
      op.Scratch(absl::StrCat("packed ", what), VarType::UINT8, planned.product->packed_bytes());
  return planned;
}

int64_t OperationsOf(const Deformable& deformable) {
  const kernels::ProductShape shape = deformable.Product();
  return 2 * deformable.shape.batch * shape.out_size() * shape.inner;
}

absl::Status PlanDeformableConv(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Deformable deformable, ReadDeformable(op));
  const kernels::ProductShape shape = deformable.Product();
  ASSIGN_OR_RETURN(const ImageProduct product, PlanImageProduct(op, shape, "columns"));
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer columns = op.Scratch("columns", VarType::FP32, shape.y_size());
  const Buffer out = op.WriteAs("Output", {VarType::FP32, deformable.shape.OutputDims()});
  std::vector<Buffer> reads = deformable.buffers();
  reads.push_back(filter);
  op.AddStep({std::move(reads),
              {out, columns, product.packed},
              [=](const StepContext& run) {
                for (int64_t i = 0; i < deformable.shape.batch; ++i) {
                  kernels::GatherDeformed(deformable.shape, deformable.ImageIn(run, i),
                                          run.Floats(columns));
                  product.Run(run, run.Floats(filter), run.Floats(columns),
                              deformable.Image(run, out, i));
                }
                return absl::OkStatus();
              },
              product.product->implementation(),
              OperationsOf(deformable)});
  return absl::OkStatus();
}

// The sum over all images of the product of the output's gradient and the columns.
absl::Status AddFilterGradient(OpPlanner& op, const Deformable& deformable, Buffer dout) {
  const kernels::ProductShape s = deformable.Product();
  ASSIGN_OR_RETURN(
      const ImageProduct product,
      PlanImageProduct(op, {s.batch, s.rows, s.columns, s.inner, false, /*transpose_y=*/true},
                       "columns of Filter@GRAD"));
  const Buffer columns = op.Scratch("columns", VarType::FP32, s.y_size());
  const Buffer term = op.Scratch("Filter@GRAD of an image", VarType::FP32, s.x_size());
  const Buffer dfilter = op.WriteAs("Filter@GRAD", op.InputType("Filter"));
  std::vector<Buffer> reads = deformable.buffers();
  reads.push_back(dout);
  op.AddStep({std::move(reads),
              {dfilter, columns, term, product.packed},
              [=](const StepContext& run) {
                const absl::Span<float> sums = run.Floats(dfilter);
                const absl::Span<const float> terms = run.Floats(term);
                std::fill(sums.begin(), sums.end(), 0.0f);
                for (int64_t i = 0; i < deformable.shape.batch; ++i) {
                  kernels::GatherDeformed(deformable.shape, deformable.ImageIn(run, i),
                                          run.Floats(columns));
                  product.Run(run, deformable.Image(run, dout, i), run.Floats(columns),
                              run.Floats(term));
                  for (size_t k = 0; k < sums.size(); ++k) sums[k] += terms[k];
                }
                return absl::OkStatus();
              },
              product.product->implementation(),
              OperationsOf(deformable),
              absl::StrCat(op.type(), " of Filter")});
  return absl::OkStatus();
}

absl::Status AddOtherGradients(OpPlanner& op, const Deformable& deformable, Buffer dout) {
  const kernels::ProductShape s = deformable.Product();
  ASSIGN_OR_RETURN(
      const ImageProduct product,
      PlanImageProduct(op, {s.batch, s.inner, s.rows, s.columns, /*transpose_x=*/true, false},
                       "Output@GRAD"));
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer dcolumns = op.Scratch("columns@GRAD", VarType::FP32, s.y_size());
  const Buffer dinput = op.WriteAs("Input@GRAD", op.InputType("Input"));
  const Buffer doffset = op.WriteAs("Offset@GRAD", op.InputType("Offset"));
  std::vector<Buffer> writes = {dinput, doffset, dcolumns, product.packed};
  std::optional<Buffer> dmask;
  if (deformable.mask) {
    dmask = op.WriteAs("Mask@GRAD", op.InputType("Mask"));
    writes.push_back(*dmask);
  }
  std::vector<Buffer> reads = deformable.buffers();
  reads.insert(reads.end(), {filter, dout});
  op.AddStep({std::move(reads), std::move(writes),
              [=](const StepContext& run) {
                for (int64_t i = 0; i < deformable.shape.batch; ++i) {
                  const kernels::DeformableImage image = deformable.ImageIn(run, i);
                  const absl::Span<float> of_columns = run.Floats(dcolumns);
                  product.Run(run, run.Floats(filter), deformable.Image(run, dout, i), of_columns);
                  kernels::GatherDeformedBackwardX(deformable.shape, image, of_columns,
                                                   deformable.Image(run, dinput, i));
                  kernels::GatherDeformedBackwardOffset(
                      deformable.shape, image, of_columns, deformable.Image(run, doffset, i),
                      dmask ? deformable.Image(run, *dmask, i) : absl::Span<float>());
                }
                return absl::OkStatus();
              },
              product.product->implementation(), OperationsOf(deformable),
              absl::StrCat(op.type(), " of Input and Offset")});
  return absl::OkStatus();
}

absl::Status PlanDeformableConvGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Deformable deformable, ReadDeformable(op));
  RETURN_IF_ERROR(op.CheckDims("Output@GRAD", deformable.shape.OutputDims()));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Output@GRAD"));
  if (op.Wants("Filter@GRAD")) RETURN_IF_ERROR(AddFilterGradient(op, deformable, dout));
  const bool wants_others = op.Wants("Input@GRAD") || op.Wants("Offset@GRAD") ||
                            (deformable.mask && op.Wants("Mask@GRAD"));
  if (wants_others) RETURN_IF_ERROR(AddOtherGradients(op, deformable, dout));
  return absl::OkStatus();
}

}  // namespace

OpPlans SamplingPlans() {
  return {{"grid_sampler", PlanGridSampler},
          {"grid_sampler_grad", PlanGridSamplerGradient},
          {"deformable_conv", PlanDeformableConv},
          {"deformable_conv_grad", PlanDeformableConvGradient},
          {"deformable_conv_v1", PlanDeformableConv},
          {"deformable_conv_v1_grad", PlanDeformableConvGradient}};
}

}  // namespace fixpoint::executor
