// Conditional random fields and the most likely tags of a sequence.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/recurrence.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/linear_chain_crf.h"

namespace fixpoint::executor {
namespace {

using kernels::CrfSequence;

// Emission [rows, tags] with offsets, or [N, T, tags] with Length.
struct Tagging {
  int64_t tags = 0;
  int64_t rows = 0;
  int64_t longest = 0;              // a sequence has no more steps
  int64_t count = 0;                // of sequences
  std::vector<Sequence> sequences;  // empty: by `lengths`
  std::optional<Buffer> lengths;    // INT64
  Buffer emission;
  Buffer transition;

  // Calls f(s, rows of the sequence) for those that have some, until it fails. Error: a length is
  // out of range.
  template <typename F>
  absl::Status ForEach(const StepContext& run, F f) const {
    for (int64_t s = 0; s < count; ++s) {
      Sequence sequence{s * longest, s * longest};
      if (lengths) {
        const int64_t length = run.Of<int64_t>(*lengths)[s];
        if (length < 0 || length > longest) {
          return absl::InvalidArgumentError(
              absl::StrCat("Length ", s, " is ", length, "; want 0 to ", longest));
        }
        sequence.end += length;
      } else {
        sequence = sequences[s];
      }
      if (sequence.length() > 0) RETURN_IF_ERROR(f(s, sequence));
    }
    return absl::OkStatus();
  }

  CrfSequence Crf(const StepContext& run, const Sequence& sequence) const {
    return {run.Floats(emission).data() + sequence.begin * tags, run.Floats(transition).data(),
            sequence.length(), tags};
  }
};

absl::StatusOr<Tagging> ReadTagging(OpPlanner& op) {
  const Dims& dims = op.InputDims("Emission");
  const bool has_lengths = op.HasInput("Length");
  Tagging tagging;
  if (dims.size() != (has_lengths ? 3 : 2) || dims.back() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("Emission is ", DimsText(dims), "; want ",
                                                   has_lengths ? "[N, T, tags]" : "[rows, tags]",
                                                   " with a tag or more"));
  }
  tagging.tags = dims.back();
  RETURN_IF_ERROR(ElementCount({4, tagging.tags + 2, tagging.tags}).status());
  RETURN_IF_ERROR(op.CheckDims("Transition", {tagging.tags + 2, tagging.tags}));
  if (has_lengths) {
    RETURN_IF_ERROR(op.CheckSize("Length", dims[0]));
    ASSIGN_OR_RETURN(tagging.lengths, op.Read("Length", VarType::INT64));
    tagging.rows = dims[0] * dims[1];
    tagging.longest = dims[1];
    tagging.count = dims[0];
  } else {
    ASSIGN_OR_RETURN(tagging.sequences, SequencesOf("Emission", dims, op.InputLod("Emission")));
    tagging.rows = dims[0];
    tagging.count = static_cast<int64_t>(tagging.sequences.size());
    for (const Sequence& sequence : tagging.sequences) {
      tagging.longest = std::max(tagging.longest, sequence.length());
    }
  }
  ASSIGN_OR_RETURN(tagging.emission, op.ReadFloats("Emission"));
  ASSIGN_OR_RETURN(tagging.transition, op.ReadFloats("Transition"));
  return tagging;
}

std::vector<Buffer> ReadsOf(const Tagging& tagging) {
  std::vector<Buffer> reads = {tagging.emission, tagging.transition};
  if (tagging.lengths) reads.push_back(*tagging.lengths);
  return reads;
}

absl::StatusOr<Buffer> ReadLabels(OpPlanner& op, const Tagging& tagging) {
  RETURN_IF_ERROR(op.CheckSize("Label", tagging.rows));
  return op.Read("Label", VarType::INT64);
}

absl::Status CheckLabels(absl::Span<const int64_t> labels, int64_t tags) {
  for (const int64_t label : labels) {
    if (label >= 0 && label < tags) continue;
    return absl::InvalidArgumentError(absl::StrCat("Label has ", label, "; want 0 to ", tags - 1));
  }
  return absl::OkStatus();
}

absl::Status PlanCrf(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Tagging tagging, ReadTagging(op));
  ASSIGN_OR_RETURN(const Buffer labels, ReadLabels(op, tagging));
  const Buffer scratch =
      op.Scratch("scratch", VarType::FP64, kernels::CrfScratchSize(tagging.longest, tagging.tags));
  const Buffer loss = op.WriteAs("LogLikelihood", {VarType::FP32, {tagging.count, 1}});
  std::vector<Buffer> reads = ReadsOf(tagging);
  reads.push_back(labels);
  op.AddStep({std::move(reads), {loss, scratch}, [=](const StepContext& run) {
                const absl::Span<float> losses = run.Floats(loss);
                std::fill(losses.begin(), losses.end(), 0.0f);
                return tagging.ForEach(run, [&](int64_t s, const Sequence& sequence) {
                  const auto of_sequence =
                      run.Of<int64_t>(labels).subspan(sequence.begin, sequence.length());
                  const absl::Status checked = CheckLabels(of_sequence, tagging.tags);
                  if (!checked.ok()) return checked;
                  losses[s] = kernels::CrfLoss(tagging.Crf(run, sequence), of_sequence.data(),
                                               run.Of<double>(scratch));
                  return absl::OkStatus();
                });
              }});
  for (const char* slot : {"Alpha", "EmissionExps"}) {
    DeferZeros(op, slot, {VarType::FP32, op.InputDims("Emission")});
  }
  DeferZeros(op, "TransitionExps", {VarType::FP32, op.InputDims("Transition")});
  return absl::OkStatus();
}

absl::Status PlanCrfGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Tagging tagging, ReadTagging(op));
  ASSIGN_OR_RETURN(const Buffer labels, ReadLabels(op, tagging));
  RETURN_IF_ERROR(op.CheckSize("LogLikelihood@GRAD", tagging.count));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("LogLikelihood@GRAD"));
  const Buffer scratch =
      op.Scratch("scratch", VarType::FP64, kernels::CrfScratchSize(tagging.longest, tagging.tags));
  const Buffer sums = op.Scratch("sums", VarType::FP64, tagging.transition.size);
  const Buffer demission = op.WriteAs("Emission@GRAD", op.InputType("Emission"));
  const Buffer dtransition = op.WriteAs("Transition@GRAD", op.InputType("Transition"));
  std::vector<Buffer> reads = ReadsOf(tagging);
  reads.push_back(labels);
  reads.push_back(dloss);
  op.AddStep({std::move(reads),
              {demission, dtransition, scratch, sums},
              [=](const StepContext& run) -> absl::Status {
                const absl::Span<float> of_emission = run.Floats(demission);
                const absl::Span<double> of_transition = run.Of<double>(sums);
                std::fill(of_emission.begin(), of_emission.end(), 0.0f);
                std::fill(of_transition.begin(), of_transition.end(), 0.0);
                RETURN_IF_ERROR(tagging.ForEach(run, [&](int64_t s, const Sequence& sequence) {
                  const auto of_sequence =
                      run.Of<int64_t>(labels).subspan(sequence.begin, sequence.length());
                  const absl::Status checked = CheckLabels(of_sequence, tagging.tags);
                  if (!checked.ok()) return checked;
                  kernels::CrfLossBackward(tagging.Crf(run, sequence), of_sequence.data(),
                                           run.Floats(dloss)[s], run.Of<double>(scratch),
                                           of_emission.data() + sequence.begin * tagging.tags,
                                           of_transition.data());
                  return absl::OkStatus();
                }));
                const absl::Span<float> to = run.Floats(dtransition);
                for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(of_transition[i]);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanDecoding(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Tagging tagging, ReadTagging(op));
  std::vector<Buffer> reads = ReadsOf(tagging);
  std::optional<Buffer> labels;
  if (op.HasInput("Label")) {
    ASSIGN_OR_RETURN(labels, ReadLabels(op, tagging));
    reads.push_back(*labels);
  }
  const Dims& dims = op.InputDims("Emission");
  const Buffer path = op.WriteAs(
      "ViterbiPath", {VarType::INT64, {dims[0], dims.size() == 3 ? dims[1] : int64_t{1}}});
  const Buffer scratch = op.Scratch("scratch", VarType::FP32, 2 * tagging.tags);
  const Buffer before = op.Scratch("before", VarType::INT64, tagging.longest * tagging.tags);
  op.AddStep({std::move(reads), {path, scratch, before}, [=](const StepContext& run) {
                const absl::Span<int64_t> paths = run.Of<int64_t>(path);
                std::fill(paths.begin(), paths.end(), int64_t{0});
                return tagging.ForEach(run, [&](int64_t, const Sequence& sequence) {
                  kernels::CrfDecode(tagging.Crf(run, sequence), run.Floats(scratch),
                                     run.Of<int64_t>(before), paths.data() + sequence.begin);
                  for (int64_t row = sequence.begin; labels && row < sequence.end; ++row) {
                    paths[row] = paths[row] == run.Of<int64_t>(*labels)[row];
                  }
                  return absl::OkStatus();
                });
              }});
  return absl::OkStatus();
}

// What viterbi_decode finds paths in.
struct Scored {
  int64_t steps;
  int64_t tags;
  bool has_ends;  // rows of the transitions for the begin and the end
  const float* transition;

  // The best path of a sequence of `length` steps; returns its score.
  float BestPath(const float* emission, int64_t length, std::vector<float>* scores,
                 std::vector<int64_t>* before, int64_t* path) const {
    std::vector<float> next(tags);
    for (int64_t j = 0; j < tags; ++j) {
      (*scores)[j] = emission[j] + (has_ends ? transition[(tags - 1) * tags + j] : 0);
    }
    for (int64_t t = 1; t < length; ++t) {
      for (int64_t j = 0; j < tags; ++j) {
        int64_t best = 0;
        for (int64_t i = 1; i < tags; ++i) {
          if ((*scores)[i] + transition[i * tags + j] >
              (*scores)[best] + transition[best * tags + j]) {
            best = i;
          }
        }
        (*before)[t * tags + j] = best;
        next[j] = (*scores)[best] + transition[best * tags + j] + emission[t * tags + j];
      }
      scores->swap(next);
    }
    int64_t best = 0;
    for (int64_t j = 0; j < tags; ++j) {
      if (has_ends) (*scores)[j] += transition[(tags - 2) * tags + j];
      if ((*scores)[j] > (*scores)[best]) best = j;
    }
    const float score = (*scores)[best];
    for (int64_t t = length - 1; t >= 0; --t) {
      path[t] = best;
      best = (*before)[t * tags + best];
    }
    return score;
  }
};

// A run decides how long the longest path is.
absl::Status PlanViterbi(OpPlanner& op) {
  const Dims dims = op.InputDims("Input");
  const bool has_ends = op.attributes().Bool("include_bos_eos_tag");
  const int64_t fewest_tags = has_ends ? 2 : 1;
  if (dims.size() != 3 || dims[2] < fewest_tags) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(dims), "; want scores of ",
                                                   fewest_tags, " tags or more of each step"));
  }
  const int64_t batch = dims[0];
  const int64_t steps = dims[1];
  const int64_t tags = dims[2];
  RETURN_IF_ERROR(op.CheckDims("Transition", {tags, tags}));
  RETURN_IF_ERROR(op.CheckSize("Length", batch));
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer transition, op.ReadFloats("Transition"));
  ASSIGN_OR_RETURN(const Buffer length, op.Read("Length", VarType::INT64));
  const Buffer scores = op.WriteAs("Scores", {VarType::FP32, {batch}});
  const Buffer paths = op.WriteAs("Path", {VarType::INT64, {batch, steps}});
  const RunShape shape = op.DecideExtents("Path");
  op.AddStep(
      {{input, transition, length}, {scores, paths, shape.dims}, [=](const StepContext& run) {
         const absl::Span<const int64_t> lengths = run.Of<int64_t>(length);
         int64_t longest = 0;
         for (int64_t n = 0; n < batch; ++n) {
           if (lengths[n] < 1 || lengths[n] > steps) {
             return absl::InvalidArgumentError(
                 absl::StrCat("Length ", n, " is ", lengths[n], "; want 1 to ", steps));
           }
           longest = std::max(longest, lengths[n]);
         }
         const Scored scored{steps, tags, has_ends, run.Floats(transition).data()};
         std::vector<float> sums(tags);
         std::vector<int64_t> before(longest * tags);
         const absl::Span<int64_t> to = run.Of<int64_t>(paths);
         std::fill(to.begin(), to.end(), int64_t{0});
         for (int64_t n = 0; n < batch; ++n) {
           run.Floats(scores)[n] =
               scored.BestPath(run.Floats(input).data() + n * steps * tags, lengths[n], &sums,
                               &before, to.data() + n * longest);
         }
         DecideRows(run, shape, {batch, longest}, to);
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

}  // namespace

OpPlans TaggingPlans() {
  return {{"linear_chain_crf", PlanCrf},
          {"linear_chain_crf_grad", PlanCrfGradient},
          {"crf_decoding", PlanDecoding},
          {"viterbi_decode", PlanViterbi}};
}

}  // namespace fixpoint::executor
