// Labels that are not aligned with the steps of a sequence, and distances between sequences.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferEditDistance(InferContext& op) {
  const TensorInfo hyps = op.Input("Hyps");
  const int64_t sequences =
      op.HasInput("HypsLength") && hyps.has_dims() ? hyps.dims[0] : kUnknownDim;
  op.SetOutput("Out", VarType::FP32, Dims{sequences, 1});
  op.SetOutput("SequenceNum", VarType::INT64, Dims{1});
  return absl::OkStatus();
}

absl::Status InferCtcAlign(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  if (!op.HasInput("InputLength")) {
    op.SetOutput("Output", input.dtype, Dims{kUnknownDim, 1});
    return absl::OkStatus();
  }
  op.SetOutputLike("Output", input);
  op.SetOutput("OutputLength", op.Input("InputLength").dtype, std::nullopt);
  if (!input.has_dims()) return absl::OkStatus();
  if (input.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input is ", DimsText(input.dims), "; want [N, T] with InputLength"));
  }
  op.SetOutput("OutputLength", op.Input("InputLength").dtype, Dims{input.dims[0], 1});
  return absl::OkStatus();
}

absl::Status InferWarpCtc(InferContext& op) {
  const TensorInfo logits = op.Input("Logits");
  op.SetOutput("Loss", logits.dtype, std::nullopt);
  op.SetOutput("WarpCTCGrad", logits.dtype, std::nullopt);
  const int64_t blank = op.Int("blank");
  if (!logits.has_dims()) return absl::OkStatus();
  const int64_t classes = logits.dims.back();
  const int rank = op.HasInput("LogitsLength") ? 3 : 2;
  if (logits.rank() != rank || blank < 0 || (classes >= 0 && blank >= classes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Logits is ", DimsText(logits.dims), " and blank ", blank, "; want ",
        rank == 3 ? "[T, N, classes]" : "[rows, classes]", ", and one of the classes"));
  }
  op.SetOutput("Loss", logits.dtype, Dims{rank == 3 ? logits.dims[1] : kUnknownDim, 1});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> LabelAlignmentOps() {
  OpList ops;
  ops.Define("edit_distance(Hyps, Refs, HypsLength?, RefsLength?) -> (SequenceNum, Out)")
      .Doc("The fewest insertions, deletions and replacements from one sequence to another.")
      .Attr("normalized", Bool(false))
      .Infer(InferEditDistance)
      .TakeLod({})
      .NeverNegative();
  ops.Define("ctc_align(Input, InputLength?) -> (Output, OutputLength?)")
      .Doc("Each sequence of tokens without blanks and, if merged, without repetitions.")
      .Attr("blank", Int(0))
      .Attr("merge_repeated", Bool(true))
      .Attr("padding_value", Int(0))
      .Infer(InferCtcAlign)
      .TakeLod({});
  ops.Define("warpctc(Logits, Label, LogitsLength?, LabelLength?) -> (Loss, WarpCTCGrad)")
      .Doc("Connectionist temporal classification: -ln p(Label), with a softmax inside.")
      .Attr("blank", Int(0))
      .Attr("norm_by_times", Bool(false))
      .Infer(InferWarpCtc)
      .TakeLod({})
      .Gradient("warpctc_grad(Logits, LogitsLength, WarpCTCGrad, Loss@GRAD) -> (Logits@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
