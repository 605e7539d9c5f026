// Pooling over windows of an image.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/families/integer_ops.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferPool2d(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  if (x.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want 4 dimensions"));
  }
  const int height_axis = IsChannelsLast(op.String("data_format")) ? 1 : 2;
  const std::vector<int64_t> ksize = op.Ints("ksize");
  if (!op.Bool("global_pooling") && (ksize.size() != 2 || ksize[0] < 1 || ksize[1] < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ksize is [", absl::StrJoin(ksize, ", "), "]; want two positive numbers"));
  }
  Dims out(x.dims.begin(), x.dims.end());
  if (op.Bool("global_pooling")) {
    out[height_axis] = out[height_axis + 1] = 1;
  } else if (op.Bool("adaptive")) {
    out[height_axis] = ksize[0];
    out[height_axis + 1] = ksize[1];
  } else {
    const WindowAttrs attrs{
        op.Ints("strides"), op.Ints("paddings"), {1, 1}, op.String("padding_algorithm")};
    ASSIGN_OR_RETURN(const Window window, MakeWindow(attrs, ksize, x.dims.subspan(height_axis, 2)));
    for (int i = 0; i < 2; ++i) {
      int64_t& size = out[height_axis + i];
      ASSIGN_OR_RETURN(size, WindowCount(size, window[i], op.Bool("ceil_mode")));
    }
  }
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

OpSchemaBuilder& DefineWindows(OpSchemaBuilder& op) {
  return op.Attr("ksize", Required(INTS))
      .Attr("global_pooling", Bool(false))
      .Attr("strides", Ints({1, 1}))
      .Attr("paddings", Ints({0, 0}))
      .Attr("padding_algorithm", String("EXPLICIT"))
      .Attr("exclusive", Bool(true))
      .Attr("adaptive", Bool(false))
      .Attr("ceil_mode", Bool(false))
      .Attr("data_format", String("NCHW"));
}

bool IsMaxPooling(const OpAttributes& op) { return op.String("pooling_type") == "max"; }

// Whether no window can lie in padding alone, whatever the image: a maximum over nothing is the
// lowest value of the type.
bool EveryWindowMeetsTheImage(const OpAttributes& op) {
  if (op.Bool("global_pooling") || op.Bool("adaptive")) return true;
  const WindowAttrs attrs{
      op.Ints("strides"), op.Ints("paddings"), {1, 1}, op.String("padding_algorithm")};
  if (attrs.padding_algorithm == "SAME") return true;
  const std::vector<int64_t> ksize = op.Ints("ksize");
  if (ksize.size() != 2) return false;
  const absl::StatusOr<Window> window = MakeWindow(attrs, ksize, {-1, -1});
  if (!window.ok()) return false;
  const bool ceil_mode = op.Bool("ceil_mode");
  return std::all_of(window->begin(), window->end(), [=](const WindowAxis& axis) {
    // One that sticks out starts up to a stride later.
    const bool last_meets =
        axis.pad_after < axis.kernel && (!ceil_mode || axis.stride <= axis.kernel - axis.pad_after);
    return axis.pad_before < axis.kernel && last_meets;
  });
}

bool KeepsRange(const OpAttributes& op) { return IsMaxPooling(op) && EveryWindowMeetsTheImage(op); }

// An average over nothing is 0.
bool KeepsSign(const OpAttributes& op) { return !IsMaxPooling(op) || EveryWindowMeetsTheImage(op); }

absl::Status InferMaxout(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  ASSIGN_OR_RETURN(const int64_t groups, PositiveAttr(op, "groups"));
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  if (x.dims[axis] >= 0 && x.dims[axis] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("groups is ", groups, " and X ",
                                                   DimsText(x.dims), "; want a divisor of the ",
                                                   x.dims[axis], " channels"));
  }
  Dims out(x.dims.begin(), x.dims.end());
  if (out[axis] >= 0) out[axis] /= groups;
  op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> PoolingOps() {
  OpList ops;
  OpSchemaBuilder& pooling = ops.Define("pool2d(X) -> (Out)");
  pooling
      .Doc(
          "Maximum or average over windows of X [N,C,H,W]. global_pooling: over the whole image. "
          "adaptive: ksize is the output's size. exclusive: an average counts no padding.")
      .Attr("pooling_type", Required(STRING), Eras::kFluid)
      .Attr("pooling_type", String(""), Eras::kPaddle2);
  DefineWindows(pooling)
      .Hints("is_test, use_cudnn, use_mkldnn, use_quantizer, mkldnn_data_type@2")
      .Infer(InferPool2d)
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Out"})
      .KeepsRangeIf(KeepsRange)
      .KeepsSignIf(KeepsSign)
      .IsOfSamples()
      .Gradient("pool2d_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  OpSchemaBuilder& average = ops.Define("integer_average_pool2d(X, Scales, Operands*?) -> (Out)");
  DefineEpilogue(DefineWindows(average))
      .Doc(
          "pool2d of averages of codes X [N,C,H,W], INT8 or UINT8: each exact sum as FP32 times "
          "Scales [1] / the count, then the epilogue. A channel is one of axis 1.")
      .KeepsSignIf(EpilogueKeepsSign)
      .GivesImages()
      .IsOfSamples()
      .Infer(InferStored(InferPool2d, "Out"));
  ops.Define("maxout(X) -> (Out)")
      .Doc("The largest of each `groups` adjacent channels, which are along axis.")
      .Attr("groups", Required(INT))
      .Attr("axis", Int(1))
      .Infer(InferMaxout)
      .KeepsRange()
      .KeepsSign()
      .QuantizableOutputs({"Out"})
      .Gradient("maxout_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
