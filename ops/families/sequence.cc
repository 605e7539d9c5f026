// Ops over sequences: rows of a tensor, cut by its offsets (LoD) or padded.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferSequenceConv(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (x.rank() != 2 || filter.rank() != 2) return absl::OkStatus();
  const int64_t length = op.Int("contextLength");
  int64_t rows = kUnknownDim;
  if (length < 1 || (x.dims[1] >= 0 && __builtin_mul_overflow(length, x.dims[1], &rows)) ||
      !MayBeEqual(rows, filter.dims[0])) {
    return absl::InvalidArgumentError(absl::StrCat("Filter is ", DimsText(filter.dims), ", X ",
                                                   DimsText(x.dims), " and contextLength ", length,
                                                   "; want contextLength * X's width rows"));
  }
  op.SetOutput("Out", x.dtype, Dims{x.dims[0], filter.dims[1]});
  return absl::OkStatus();
}

// Only MAX's gradient op has the slot.
void DropMaxIndexUnlessMax(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  const std::optional<OpAttributes> pool = OpAttributes::Of(forward, era);
  if (!pool || pool->String("pooltype") != "MAX") DropGradientInput("MaxIndex", gradients);
}

}  // namespace

std::vector<OpSchema> SequenceOps() {
  OpList ops;
  ops.Define("sequence_conv(X, PaddingData?, Filter) -> (Out)")
      .Doc("Product of Filter [contextLength*D,M] with the rows around each row of X.")
      .Attr("paddingTrainable", Bool(false))
      .Attr("contextLength", Required(INT))
      .Attr("contextStart", Int(0))
      .Attr("contextStride", Int(1))
      .Infer(InferSequenceConv)
      .Gradient("sequence_conv_grad(X, Filter, Out@GRAD) -> (X@GRAD, Filter@GRAD)");
  ops.Define("sequence_pool(X) -> (Out, MaxIndex)")
      .Doc("One row per sequence: its AVERAGE, SUM, SQRT, MAX, LAST or FIRST.")
      .Attr("pooltype", String("AVERAGE"))
      .Attr("pad_value", Float(0))
      .Hints("is_test")
      .Infer(SameAs("X", {"Out"}))
      .PoolsSequences()
      .Gradient("sequence_pool_grad(X, MaxIndex?, Out@GRAD) -> (X@GRAD)")
      .GradientBy(DropMaxIndexUnlessMax);
  ops.Define("sequence_softmax(X) -> (Out)")
      .Doc("Softmax over each sequence.")
      .Attr("data_format", String("AnyLayout"))
      .Hints("use_cudnn")
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
  ops.Define("sequence_expand(X, Y) -> (Out)")
      .Doc("X's sequences repeated as Y's offsets say.")
      .Attr("ref_level", Int(-1))
      .GradientNotKnown();
  ops.Define("lod_reset(X, Y?) -> (Out)")
      .Doc("X with other offsets.")
      .Attr("target_lod", Ints({}))
      .Attr("append", Bool(false))
      .Infer(SameAs("X", {"Out"}))
      .GradientNotKnown();
  return ops.Build();
}

}  // namespace fixpoint
