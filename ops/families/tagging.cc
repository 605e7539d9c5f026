// Tags of the steps of a sequence: conditional random fields and the most likely paths.

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

// Transition [tags + 2, tags]: the scores of beginning and of ending with each tag come first.
absl::Status CheckTransition(const TensorInfo& emission, const TensorInfo& transition) {
  if (!emission.has_dims() || !transition.has_dims()) return absl::OkStatus();
  const int64_t tags = emission.dims.back();
  const bool fits = transition.rank() == 2 && emission.rank() >= 2 && emission.rank() <= 3 &&
                    MayBeEqual(tags, transition.dims[1]) &&
                    (tags < 0 || transition.dims[0] < 0 || transition.dims[0] - 2 == tags);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Emission is ", DimsText(emission.dims), " and Transition ", DimsText(transition.dims),
      "; want [rows, tags] or [N, T, tags], and [tags + 2, "
      "tags]"));
}

absl::Status InferLinearChainCrf(InferContext& op) {
  const TensorInfo emission = op.Input("Emission");
  const TensorInfo transition = op.Input("Transition");
  for (const char* slot : {"Alpha", "EmissionExps"}) op.SetOutputLike(slot, emission);
  op.SetOutputLike("TransitionExps", transition);
  const int64_t sequences = emission.rank() == 3 ? emission.dims[0] : kUnknownDim;
  op.SetOutput("LogLikelihood", emission.dtype, Dims{sequences, 1});
  return CheckTransition(emission, transition);
}

absl::Status InferCrfDecoding(InferContext& op) {
  const TensorInfo emission = op.Input("Emission");
  op.SetOutput("ViterbiPath", VarType::INT64, std::nullopt);
  if (emission.rank() == 2) {
    op.SetOutput("ViterbiPath", VarType::INT64, Dims{emission.dims[0], 1});
  } else if (emission.rank() == 3) {
    op.SetOutput("ViterbiPath", VarType::INT64, Dims{emission.dims[0], emission.dims[1]});
  }
  return CheckTransition(emission, op.Input("Transition"));
}

absl::Status InferViterbiDecode(InferContext& op) {
  const TensorInfo input = op.Input("Input");
  const TensorInfo transition = op.Input("Transition");
  op.SetOutput("Scores", input.dtype, std::nullopt);
  op.SetOutput("Path", VarType::INT64, std::nullopt);
  if (!input.has_dims() || !transition.has_dims()) return absl::OkStatus();
  if (input.rank() != 3 || transition.rank() != 2 ||
      !MayBeEqual(input.dims[2], transition.dims[0]) ||
      !MayBeEqual(input.dims[2], transition.dims[1])) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input.dims),
                                                   " and Transition ", DimsText(transition.dims),
                                                   "; want [N, T, tags] and [tags, tags]"));
  }
  op.SetOutput("Scores", input.dtype, Dims{input.dims[0]});
  op.SetOutput("Path", VarType::INT64, Dims{input.dims[0], kUnknownDim});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> TaggingOps() {
  OpList ops;
  ops.Define(
         "linear_chain_crf(Emission, Transition, Label, Length?) -> (Alpha, EmissionExps, "
         "TransitionExps, LogLikelihood)")
      .Doc("Negative logarithm of the likelihood of a sequence's tags.")
      .Infer(InferLinearChainCrf)
      .TakeLod({})
      .Gradient(
          "linear_chain_crf_grad(Emission, Transition, Label, Length, Alpha, EmissionExps, "
          "TransitionExps, LogLikelihood@GRAD) -> (Emission@GRAD, Transition@GRAD)");
  ops.Define("crf_decoding(Emission, Transition, Label?, Length?) -> (ViterbiPath)")
      .Doc("The most likely tags of a sequence; with Label, 1 where they are its tags.")
      .Infer(InferCrfDecoding)
      .NeverNegative();
  ops.Define("viterbi_decode(Input, Transition, Length) -> (Scores, Path)")
      .Doc("The path of tags with the highest score, of each sequence of Input [N,T,D].")
      .Attr("include_bos_eos_tag", Bool(true))
      .Infer(InferViterbiDecode)
      .TakeLod({});
  return ops.Build();
}

}  // namespace fixpoint
