// Conditional random fields and the most likely paths of tags.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// Scores of tags along sequences, each of which is a row of places after the other.
struct Tagging {
  int64_t tags = 0;
  std::vector<Sequence> sequences;  // of rows; padding is in none
  const Array* emission = nullptr;
  const Array* transition = nullptr;

  double Emission(int64_t row, int64_t tag) const { return (*emission)[row * tags + tag]; }
  double Start(int64_t tag) const { return (*transition)[tag]; }
  double End(int64_t tag) const { return (*transition)[tags + tag]; }
  double Step(int64_t from, int64_t to) const { return (*transition)[(2 + from) * tags + to]; }
};

// Emission [rows, tags] with offsets, or [N, T, tags] with Length.
absl::StatusOr<Tagging> TaggingOf(const OpRun& op) {
  Tagging tagging;
  tagging.emission = &op.Input("Emission");
  tagging.transition = &op.Input("Transition");
  const Dims& dims = tagging.emission->dims;
  const Array* const length = op.FindInput("Length");
  const int rank = length != nullptr ? 3 : 2;
  RETURN_IF_ERROR(op.CheckRank("Emission", rank));
  tagging.tags = dims.back();
  if (tagging.tags < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Emission is ", DimsText(dims), "; want scores of one tag or more"));
  }
  RETURN_IF_ERROR(op.CheckDims("Transition", Dims{tagging.tags + 2, tagging.tags}));
  if (length == nullptr) {
    ASSIGN_OR_RETURN(tagging.sequences, SequencesOf("Emission", dims, tagging.emission->lod));
    return tagging;
  }
  RETURN_IF_ERROR(op.CheckSize("Length", dims[0]));
  for (int64_t n = 0; n < dims[0]; ++n) {
    const int64_t steps = ToInt((*length)[n]);
    if (steps < 0 || steps > dims[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("Length ", n, " is ", steps, "; want 0 to ", dims[1]));
    }
    tagging.sequences.push_back({n * dims[1], n * dims[1] + steps});
  }
  return tagging;
}

// The tags of Label, one for each row of Emission.
absl::StatusOr<std::vector<int64_t>> LabelsOf(const OpRun& op, const Tagging& tagging) {
  const Array& label = op.Input("Label");
  RETURN_IF_ERROR(op.CheckSize("Label", tagging.emission->size() / tagging.tags));
  std::vector<int64_t> labels;
  for (const double value : label.values) labels.push_back(ToInt(value));
  return labels;
}

absl::Status CheckLabels(const Tagging& tagging, const std::vector<int64_t>& labels) {
  for (const Sequence& sequence : tagging.sequences) {
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      if (labels[row] >= 0 && labels[row] < tagging.tags) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Label has ", labels[row], "; want 0 to ", tagging.tags - 1));
    }
  }
  return absl::OkStatus();
}

double LogSum(const std::vector<double>& logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  return largest + std::log(sum);
}

// The logarithms of the sums over all paths up to each tag of a sequence, and from it on.
struct PathSums {
  std::vector<std::vector<double>> alpha;
  std::vector<std::vector<double>> beta;
  double log_sum;
};

PathSums PathSumsOf(const Tagging& tagging, const Sequence& sequence) {
  const int64_t tags = tagging.tags;
  const int64_t length = sequence.length();
  PathSums sums;
  sums.alpha.assign(length, std::vector<double>(tags));
  sums.beta.assign(length, std::vector<double>(tags));
  std::vector<double> logs(tags);
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t j = 0; j < tags; ++j) {
      for (int64_t i = 0; t > 0 && i < tags; ++i) {
        logs[i] = sums.alpha[t - 1][i] + tagging.Step(i, j);
      }
      sums.alpha[t][j] =
          tagging.Emission(sequence.begin + t, j) + (t == 0 ? tagging.Start(j) : LogSum(logs));
    }
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    for (int64_t i = 0; i < tags; ++i) {
      for (int64_t j = 0; t + 1 < length && j < tags; ++j) {
        logs[j] =
            tagging.Step(i, j) + tagging.Emission(sequence.begin + t + 1, j) + sums.beta[t + 1][j];
      }
      sums.beta[t][i] = t + 1 == length ? tagging.End(i) : LogSum(logs);
    }
  }
  for (int64_t j = 0; j < tags; ++j) logs[j] = sums.alpha[length - 1][j] + tagging.End(j);
  sums.log_sum = LogSum(logs);
  return sums;
}

absl::Status LinearChainCrf(OpRun& op) {
  ASSIGN_OR_RETURN(const Tagging tagging, TaggingOf(op));
  ASSIGN_OR_RETURN(const std::vector<int64_t> labels, LabelsOf(op, tagging));
  RETURN_IF_ERROR(CheckLabels(tagging, labels));
  const Array& emission = *tagging.emission;
  Array loss(emission.dtype, Dims{static_cast<int64_t>(tagging.sequences.size()), 1});
  for (size_t s = 0; s < tagging.sequences.size(); ++s) {
    const Sequence& sequence = tagging.sequences[s];
    if (sequence.length() == 0) continue;
    double score = tagging.Start(labels[sequence.begin]) + tagging.End(labels[sequence.end - 1]);
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      score += tagging.Emission(row, labels[row]);
      if (row > sequence.begin) score += tagging.Step(labels[row - 1], labels[row]);
    }
    loss[s] = PathSumsOf(tagging, sequence).log_sum - score;
  }
  op.SetOutput("LogLikelihood", std::move(loss));
  // What the reference keeps for its gradient kernel; ours computes it again.
  for (const char* slot : {"Alpha", "EmissionExps"}) {
    op.SetOutput(slot, Array(emission.dtype, emission.dims));
  }
  op.SetOutput("TransitionExps", Array(emission.dtype, tagging.transition->dims));
  return absl::OkStatus();
}

absl::Status LinearChainCrfGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Tagging tagging, TaggingOf(op));
  ASSIGN_OR_RETURN(const std::vector<int64_t> labels, LabelsOf(op, tagging));
  RETURN_IF_ERROR(CheckLabels(tagging, labels));
  RETURN_IF_ERROR(
      op.CheckSize("LogLikelihood@GRAD", static_cast<int64_t>(tagging.sequences.size())));
  const Array& dloss = op.Input("LogLikelihood@GRAD");
  const int64_t tags = tagging.tags;
  Array demission(tagging.emission->dtype, tagging.emission->dims);
  Array dtransition(tagging.transition->dtype, tagging.transition->dims);
  for (size_t s = 0; s < tagging.sequences.size(); ++s) {
    const Sequence& sequence = tagging.sequences[s];
    if (sequence.length() == 0) continue;
    const PathSums sums = PathSumsOf(tagging, sequence);
    const double d = dloss[s];
    for (int64_t t = 0; t < sequence.length(); ++t) {
      const int64_t row = sequence.begin + t;
      for (int64_t j = 0; j < tags; ++j) {
        const double share = std::exp(sums.alpha[t][j] + sums.beta[t][j] - sums.log_sum);
        demission[row * tags + j] = d * (share - (labels[row] == j));
        if (t == 0) dtransition[j] += d * (share - (labels[row] == j));
        if (t + 1 == sequence.length()) dtransition[tags + j] += d * (share - (labels[row] == j));
        for (int64_t i = 0; t > 0 && i < tags; ++i) {
          const double pair = std::exp(sums.alpha[t - 1][i] + tagging.Step(i, j) +
                                       tagging.Emission(row, j) + sums.beta[t][j] - sums.log_sum);
          const bool is_labelled = labels[row - 1] == i && labels[row] == j;
          dtransition[(2 + i) * tags + j] += d * (pair - is_labelled);
        }
      }
    }
  }
  op.SetOutput("Emission@GRAD", std::move(demission));
  op.SetOutput("Transition@GRAD", std::move(dtransition));
  return absl::OkStatus();
}

// The tags with the highest score, of equal ones the lowest, and that score. `first`, `last` and
// `step` are scores; `emission(t, tag)` too.
template <typename Emission, typename First, typename Last, typename Step>
double BestPath(int64_t length, int64_t tags, Emission emission, First first, Last last, Step step,
                std::vector<int64_t>* path) {
  std::vector<double> scores(tags);
  std::vector<std::vector<int64_t>> before(length, std::vector<int64_t>(tags));
  for (int64_t j = 0; j < tags; ++j) scores[j] = first(j) + emission(0, j);
  for (int64_t t = 1; t < length; ++t) {
    std::vector<double> next(tags);
    for (int64_t j = 0; j < tags; ++j) {
      int64_t best = 0;
      for (int64_t i = 1; i < tags; ++i) {
        if (scores[i] + step(i, j) > scores[best] + step(best, j)) best = i;
      }
      before[t][j] = best;
      next[j] = scores[best] + step(best, j) + emission(t, j);
    }
    scores = std::move(next);
  }
  int64_t best = 0;
  for (int64_t j = 0; j < tags; ++j) scores[j] += last(j);
  for (int64_t j = 1; j < tags; ++j) {
    if (scores[j] > scores[best]) best = j;
  }
  const double score = scores[best];
  path->assign(length, 0);
  for (int64_t t = length - 1; t >= 0; --t) {
    (*path)[t] = best;
    best = before[t][best];
  }
  return score;
}

absl::Status CrfDecoding(OpRun& op) {
  ASSIGN_OR_RETURN(const Tagging tagging, TaggingOf(op));
  const Dims& dims = tagging.emission->dims;
  Array result(VarType::INT64, dims.size() == 3 ? Dims{dims[0], dims[1]} : Dims{dims[0], 1});
  std::vector<int64_t> labels;
  if (op.FindInput("Label") != nullptr) {
    ASSIGN_OR_RETURN(labels, LabelsOf(op, tagging));
  }
  for (const Sequence& sequence : tagging.sequences) {
    if (sequence.length() == 0) continue;
    std::vector<int64_t> path;
    BestPath(
        sequence.length(), tagging.tags,
        [&](int64_t t, int64_t tag) { return tagging.Emission(sequence.begin + t, tag); },
        [&](int64_t tag) { return tagging.Start(tag); },
        [&](int64_t tag) { return tagging.End(tag); },
        [&](int64_t from, int64_t to) { return tagging.Step(from, to); }, &path);
    for (int64_t t = 0; t < sequence.length(); ++t) {
      const int64_t row = sequence.begin + t;
      result[row] = static_cast<double>(labels.empty() ? path[t] : path[t] == labels[row]);
    }
  }
  op.SetOutput("ViterbiPath", std::move(result));
  return absl::OkStatus();
}

absl::Status ViterbiDecode(OpRun& op) {
  const Array& input = op.Input("Input");
  const Array& transition = op.Input("Transition");
  RETURN_IF_ERROR(op.CheckRank("Input", 3));
  const int64_t batch = input.dims[0];
  const int64_t steps = input.dims[1];
  const int64_t tags = input.dims[2];
  const bool has_ends = op.Bool("include_bos_eos_tag");
  if (tags < (has_ends ? 2 : 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input is ", DimsText(input.dims), "; want scores of ", has_ends ? 2 : 1, " tags or more"));
  }
  RETURN_IF_ERROR(op.CheckDims("Transition", Dims{tags, tags}));
  RETURN_IF_ERROR(op.CheckSize("Length", batch));
  int64_t longest = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = ToInt(op.Input("Length")[n]);
    if (length < 1 || length > steps) {
      return absl::InvalidArgumentError(
          absl::StrCat("Length ", n, " is ", length, "; want 1 to ", steps));
    }
    longest = std::max(longest, length);
  }
  Array scores(input.dtype, Dims{batch});
  Array paths(VarType::INT64, Dims{batch, longest});
  const auto from_row = [&](int64_t row) {
    return [&, row](int64_t tag) { return has_ends ? transition[row * tags + tag] : 0.0; };
  };
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = ToInt(op.Input("Length")[n]);
    std::vector<int64_t> path;
    scores[n] = BestPath(
        length, tags, [&](int64_t t, int64_t tag) { return input[(n * steps + t) * tags + tag]; },
        from_row(tags - 1), from_row(tags - 2),
        [&](int64_t from, int64_t to) { return transition[from * tags + to]; }, &path);
    for (int64_t t = 0; t < length; ++t) {
      paths[n * longest + t] = static_cast<double>(path[t]);
    }
  }
  op.SetOutput("Scores", std::move(scores));
  op.SetOutput("Path", std::move(paths));
  return absl::OkStatus();
}

}  // namespace

Kernels TaggingKernels() {
  return {{"linear_chain_crf", LinearChainCrf},
          {"linear_chain_crf_grad", LinearChainCrfGradient},
          {"crf_decoding", CrfDecoding},
          {"viterbi_decode", ViterbiDecode}};
}

}  // namespace fixpoint::reference
