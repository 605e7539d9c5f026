// Ops over sequences: rows of a tensor, cut by its offsets (LoD) or padded.

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

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

// X's rows become others: as many as the run decides.
absl::Status InferRows(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  Dims dims(x.dims.begin(), x.dims.end());
  dims[0] = kUnknownDim;
  op.SetOutput("Out", x.dtype, dims);
  return absl::OkStatus();
}

absl::Status InferSequencePad(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  op.SetOutput("Length", VarType::INT64, Dims{kUnknownDim});
  const int64_t length = op.Int("padded_length");
  if (length < -1 || length == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("padded_length is ", length, "; want 1 or more, or -1 for the longest"));
  }
  if (!x.has_dims()) return absl::OkStatus();
  Dims dims = {kUnknownDim, length < 0 ? kUnknownDim : length};
  std::copy(x.dims.begin() + 1, x.dims.end(), std::back_inserter(dims));
  op.SetOutput("Out", x.dtype, dims);
  return absl::OkStatus();
}

// X [sequences, length, ...].
absl::Status InferSequenceUnpad(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  if (x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x.dims), "; want at least 2 dimensions"));
  }
  Dims dims = {kUnknownDim};
  std::copy(x.dims.begin() + 2, x.dims.end(), std::back_inserter(dims));
  op.SetOutput("Out", x.dtype, dims);
  return absl::OkStatus();
}

absl::Status InferSequenceMask(InferContext& op) {
  const TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(const DataType dtype, DataTypeAttr(op, "out_dtype"));
  op.SetOutput("Y", dtype, std::nullopt);
  const int64_t length = op.Int("maxlen");
  if (length < -1 || length == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("maxlen is ", length, "; want 1 or more, or -1 for the largest of X"));
  }
  if (!x.has_dims()) return absl::OkStatus();
  Dims dims(x.dims.begin(), x.dims.end());
  dims.push_back(length < 0 || op.HasInput("MaxLenTensor") ? kUnknownDim : length);
  op.SetOutput("Y", dtype, dims);
  return absl::OkStatus();
}

absl::Status InferSequenceReshape(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  const int64_t width = op.Int("new_dim");
  if (!x.has_dims()) return absl::OkStatus();
  if (x.rank() != 2 || width < 1) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and new_dim ",
                                                   width,
                                                   "; want rows of a dimension, and at least 1"));
  }
  ASSIGN_OR_RETURN(const int64_t size, ElementCount(x.dims));
  op.SetOutput("Out", x.dtype, Dims{size < 0 ? kUnknownDim : size / width, width});
  return absl::OkStatus();
}

absl::Status InferRowConv(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo filter = op.Input("Filter");
  op.SetOutputLike("Out", x);
  if (!x.has_dims() || !filter.has_dims()) return absl::OkStatus();
  if (filter.rank() != 2 || filter.dims[0] == 0 || !MayBeEqual(filter.dims[1], x.dims.back())) {
    return absl::InvalidArgumentError(absl::StrCat("Filter is ", DimsText(filter.dims), " and X ",
                                                   DimsText(x.dims),
                                                   "; want [context, X's last dimension]"));
  }
  return absl::OkStatus();
}

// Rows for the places of a window over images, each with the channels of all its pixels.
absl::Status InferIm2Sequence(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  const std::vector<int64_t> kernels = op.Ints("kernels");
  if (x.rank() != 4 || kernels.size() != 2) return absl::OkStatus();
  if (kernels[0] < 1 || kernels[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernels are ", DimsText(kernels), "; want at least 1"));
  }
  ASSIGN_OR_RETURN(const int64_t columns, ElementCount({x.dims[1], kernels[0], kernels[1]}));
  op.SetOutput("Out", x.dtype, Dims{kUnknownDim, columns});
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
  ops.Define("sequence_reverse(X) -> (Y)")
      .Doc("Each sequence from its last row to its first.")
      .Infer(SameAs("X", {"Y"}))
      .KeepsRange()
      .Gradient("sequence_reverse(X=Y@GRAD) -> (Y=X@GRAD)");
  ops.Define("sequence_concat(X*) -> (Out)")
      .Doc("The first sequences of all inputs, one after the other, then the second ones, ...")
      .Infer(InferRows)
      .TakeLod({})
      .KeepsRange()
      .Gradient("sequence_concat_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_expand(X, Y) -> (Out)")
      .Doc("X's sequences, or rows, repeated as Y's offsets say.")
      .Attr("ref_level", Int(-1))
      .Infer(InferRows)
      .TakeLod({})
      .KeepsRange()
      .Gradient("sequence_expand_grad(X, Y, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_expand_as(X, Y) -> (Out)")
      .Doc("Each row of X as often as the sequence of Y has rows.")
      .Infer(InferRows)
      .TakeLod({})
      .KeepsRange()
      .Gradient("sequence_expand_as_grad(X, Y, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_pad(X, PadValue) -> (Out, Length)")
      .Doc("The sequences of X side by side, filled up to one length with PadValue.")
      .Attr("padded_length", Int(-1))
      .Infer(InferSequencePad)
      .TakeLod({})
      .Gradient("sequence_pad_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_unpad(X, Length) -> (Out)")
      .Doc("The first rows, as many as Length says, of each X[i], one after the other.")
      .Infer(InferSequenceUnpad)
      .TakeLod({})
      .KeepsRange()
      .Gradient("sequence_unpad_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_mask(X, MaxLenTensor?) -> (Y)")
      .Doc("1 at the places below each number of X, of maxlen places, and 0 at the others.")
      .Attr("maxlen", Int(-1))
      .Attr("out_dtype", Required(INT))
      .Infer(InferSequenceMask)
      .TakeLod({})
      .NeverNegative();
  ops.Define("sequence_reshape(X) -> (Out)")
      .Doc("The elements of each sequence in rows of new_dim.")
      .Attr("new_dim", Required(INT))
      .Infer(InferSequenceReshape)
      .TakeLod({})
      .KeepsRange()
      .Gradient("sequence_reshape_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_slice(X, Offset, Length) -> (Out)")
      .Doc("Length[i] rows of the i-th sequence of X from Offset[i] on.")
      .Infer(InferRows)
      .TakeLod({})
      .KeepsRange()
      .Gradient("sequence_slice_grad(X, Offset, Length, Out@GRAD) -> (X@GRAD)");
  ops.Define("sequence_erase(X) -> (Out)")
      .Doc("The rows of X [T,1] that are none of the tokens.")
      .Attr("tokens", Required(INTS))
      .Infer(InferRows)
      .TakeLod({});
  ops.Define("row_conv(X, Filter) -> (Out)")
      .Doc("Sums of each row and the rows after it, weighted by Filter [context,D].")
      .Infer(InferRowConv)
      .Gradient("row_conv_grad(X, Filter, Out@GRAD) -> (X@GRAD, Filter@GRAD)");
  ops.Define("im2sequence(X, Y?) -> (Out)")
      .Doc("The windows of each image of X [N,C,H,W], row by row, as a sequence.")
      .Attr("kernels", Required(INTS))
      .Attr("strides", Ints({1, 1}))
      .Attr("paddings", Ints({0, 0, 0, 0}))
      .Attr("out_stride", Ints({1, 1}))
      .Infer(InferIm2Sequence)
      .TakeLod({})
      .Gradient("im2sequence_grad(X, Out@GRAD) -> (X@GRAD)");
  ops.Define("lod_reset(X, Y?) -> (Out)")
      .Doc("X with other offsets: those of Y, or the numbers in it, or target_lod.")
      .Attr("target_lod", Ints({}))
      .Attr("append", Bool(false))
      .Infer(SameAs("X", {"Out"}))
      .TakeLod({})
      .KeepsRange()
      .Gradient("lod_reset_grad(X, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
