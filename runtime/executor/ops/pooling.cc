// pool2d. Images lie channels last. An average of codes is computed on integers; its gradient is
// that of the floats that they stand for.

#include "runtime/executor/ops/pooling.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/codes/averaged_codes.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/kernels/code_pooling.h"
#include "runtime/kernels/integer_pooling.h"
#include "runtime/kernels/pooling.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

using kernels::PoolingShape;

// What the plan of a pool2d passes to that of its gradient.
struct ForwardPooling {
  std::shared_ptr<kernels::Pooling> pooling;
  Buffer mask;
  Dims x_dims;
  Layout layout;
};

absl::StatusOr<kernels::PoolingType> PoolingTypeOf(const OpPlanner& op) {
  const std::string type = op.attributes().String("pooling_type");
  if (type == "max") return kernels::PoolingType::kMax;
  if (type == "avg") return kernels::PoolingType::kAverage;
  return absl::InvalidArgumentError(
      absl::StrCat("pooling_type is \"", type, "\"; want max or avg"));
}

ImageForm FormOf(const OpPlanner& op) { return ImageForm(op.attributes().String("data_format")); }

TensorType OutputOf(const PoolingShape& shape, const ImageForm& form,
                    VarType::Type dtype = VarType::FP32) {
  return {dtype, form.FromNchw({shape.batch, shape.channels, shape.out_height, shape.out_width})};
}

// Plans the average of codes as integers.
template <typename Code>
absl::Status PlanCodePooling(OpPlanner& op, const PoolingShape& shape) {
  if (shape.type != kernels::PoolingType::kMax) {
    return absl::UnimplementedError("X is integers; want FP32 for an average");
  }
  const VarType::Type dtype = DataTypeOf<Code>();
  const ImageForm form = FormOf(op);
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype, form.layout()));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::CodePooling> pooling,
                   kernels::CodePooling::Plan(shape));
  const Buffer y = op.WriteAs("Out", OutputOf(shape, form, dtype), form.layout());
  op.AddStep({{x},
              {y},
              [=](const StepContext& run) {
                pooling->Run(absl::Span<const Code>(run.Of<Code>(x)), run.Of<Code>(y));
                return absl::OkStatus();
              },
              pooling->implementation()});
  return absl::OkStatus();
}

// The codes of X, as an average on integers takes them; nothing if it is one of floats.
absl::StatusOr<std::optional<Codes>> ReadAveragedCodes(OpPlanner& op, const PoolingShape& shape) {
  const Value& x = op.InputValue("X");
  if (op.builder().HoldsCodes(x) ||
      !SumsOfWindowsFit(op.attributes(), {shape.height, shape.width})) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                   op.builder().ReadCodes(x, FormOf(op).layout()));
  return codes && !codes->channel_axis ? codes : std::nullopt;
}

// Adds the step of an average of codes.
void AddIntegerPooling(OpPlanner& op, std::shared_ptr<kernels::IntegerPooling> pooling,
                       const Codes& codes, Buffer y) {
  const std::string implementation = pooling->implementation();
  op.AddStep({codes.buffers(),
              {y},
              [codes, y, pooling = std::move(pooling)](const StepContext& run) {
                pooling->Run(run.Of<uint8_t>(codes.codes),
                             static_cast<int32_t>(codes.ZeroPointIn(run)), codes.StepIn(run), {},
                             run.Floats(y));
                return absl::OkStatus();
              },
              implementation,
              0,
              absl::StrCat(op.type(), " on integers")});
}

absl::Status PlanPooling(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::PoolingType type, PoolingTypeOf(op));
  ASSIGN_OR_RETURN(const PoolingShape shape, PoolingShapeOf(op, type));
  const VarType::Type dtype = op.InputType("X").dtype;
  if (dtype == VarType::UINT8) return PlanCodePooling<uint8_t>(op, shape);
  if (dtype == VarType::INT8) return PlanCodePooling<int8_t>(op, shape);
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::Pooling> pooling, kernels::Pooling::Plan(shape));
  const Buffer mask = op.Scratch("mask", VarType::INT32, pooling->mask_size());
  const ImageForm form = FormOf(op);
  const auto write = [&] {
    const Buffer y = op.WriteAs("Out", OutputOf(shape, form), form.layout());
    if (op.Wants("Out"))
      op.builder().Attach(op.OutputValue("Out"),
                          ForwardPooling{pooling, mask, op.InputDims("X"), form.layout()});
    return y;
  };
  std::optional<Codes> codes;
  if (type == kernels::PoolingType::kAverage) {
    ASSIGN_OR_RETURN(codes, ReadAveragedCodes(op, shape));
  }
  if (codes) {
    ASSIGN_OR_RETURN(std::shared_ptr<kernels::IntegerPooling> integers,
                     kernels::IntegerPooling::Plan(shape, codes->type));
    AddIntegerPooling(op, std::move(integers), *codes, write());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", form.layout()));
  const Buffer y = write();
  op.AddStep({{x},
              {y, mask},
              [=](const StepContext& run) {
                pooling->Forward(run.Floats(x), run.Floats(y), run.Of<int32_t>(mask));
                return absl::OkStatus();
              },
              pooling->implementation()});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  const auto* forward = op.builder().Attached<ForwardPooling>(op.InputValue("Out"));
  if (forward == nullptr) {
    return absl::UnimplementedError("no pool2d of the program wrote Out; want one that did");
  }
  RETURN_IF_ERROR(op.CheckDims("X", forward->x_dims));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims("Out")));
  const Layout layout = FormOf(op).layout();
  if (forward->layout != layout) {
    return absl::InvalidArgumentError("data_format is not that of the pool2d that wrote Out");
  }
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", layout));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"), layout);
  op.AddStep({{dy, forward->mask},
              {dx},
              [dy, dx, forward = *forward](const StepContext& run) {
                forward.pooling->Backward(run.Floats(dy), run.Of<int32_t>(forward.mask),
                                          run.Floats(dx));
                return absl::OkStatus();
              },
              forward->pooling->implementation()});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PoolingShape> PoolingShapeOf(const OpPlanner& op, kernels::PoolingType type) {
  const OpAttributes& attributes = op.attributes();
  if (op.InputDims("X").size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(op.InputDims("X")), "; want images of 4 dimensions"));
  }
  const Dims x = FormOf(op).ToNchw(op.InputDims("X"));
  PoolingShape shape;
  shape.batch = x[0];
  shape.channels = x[1];
  shape.height = x[2];
  shape.width = x[3];
  shape.type = type;
  if (attributes.Bool("exclusive")) {
    shape.divisor = kernels::PoolingDivisor::kImage;
  } else {
    shape.divisor = op.era() == Era::kPaddle2 ? kernels::PoolingDivisor::kPaddedImage
                                              : kernels::PoolingDivisor::kWindow;
  }
  if (attributes.Bool("global_pooling")) {
    shape.adaptive = true;
    return shape;
  }
  const std::vector<int64_t> ksize = attributes.Ints("ksize");
  if (ksize.size() != 2 || ksize[0] < 1 || ksize[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("ksize is [", absl::StrJoin(ksize, ", "), "]; want two positive numbers"));
  }
  if (attributes.Bool("adaptive")) {
    shape.adaptive = true;
    shape.out_height = ksize[0];
    shape.out_width = ksize[1];
    return shape;
  }
  const WindowAttrs window{attributes.Ints("strides"),
                           attributes.Ints("paddings"),
                           {1, 1},
                           attributes.String("padding_algorithm")};
  ASSIGN_OR_RETURN(shape.window, MakeWindow(window, ksize, DimsView(x).subspan(2)));
  shape.ceil_mode = attributes.Bool("ceil_mode");
  RETURN_IF_ERROR(kernels::CompleteShape(&shape));
  return shape;
}

OpPlans PoolingPlans() { return {{"pool2d", PlanPooling}, {"pool2d_grad", PlanGradient}}; }

}  // namespace fixpoint::executor
