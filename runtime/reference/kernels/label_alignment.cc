// Labels that are not aligned with the steps of a sequence, and distances between sequences.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

using Tokens = std::vector<int64_t>;

// Lengths, of at most `most`, of `count` sequences.
absl::StatusOr<std::vector<int64_t>> LengthsOf(const OpRun& op, const char* slot, int64_t count,
                                               int64_t most) {
  RETURN_IF_ERROR(op.CheckSize(slot, count));
  std::vector<int64_t> lengths;
  for (const double value : op.Input(slot).values) {
    lengths.push_back(ToInt(value));
    if (lengths.back() < 0 || lengths.back() > most) {
      return absl::InvalidArgumentError(
          absl::StrCat(slot, " has ", lengths.back(), "; want 0 to ", most));
    }
  }
  return lengths;
}

// The tokens of each sequence of an input: rows [T, 1] with offsets or, where `length_slot` is
// given, [N, T].
absl::StatusOr<std::vector<Tokens>> TokensOf(const OpRun& op, const char* slot,
                                             const char* length_slot) {
  const Array& input = op.Input(slot);
  std::vector<Sequence> sequences;
  if (op.FindInput(length_slot) != nullptr) {
    RETURN_IF_ERROR(op.CheckRank(slot, 2));
    ASSIGN_OR_RETURN(const std::vector<int64_t> lengths,
                     LengthsOf(op, length_slot, input.dims[0], input.dims[1]));
    for (size_t n = 0; n < lengths.size(); ++n) {
      const int64_t begin = static_cast<int64_t>(n) * input.dims[1];
      sequences.push_back({begin, begin + lengths[n]});
    }
  } else {
    ASSIGN_OR_RETURN(sequences, SequencesOf(slot, input.dims, input.lod));
    RETURN_IF_ERROR(op.CheckSize(slot, input.dims[0]));
  }
  std::vector<Tokens> tokens;
  for (const Sequence& sequence : sequences) {
    tokens.emplace_back();
    for (int64_t i = sequence.begin; i < sequence.end; ++i) {
      tokens.back().push_back(ToInt(input[i]));
    }
  }
  return tokens;
}

int64_t DistanceOf(const Tokens& a, const Tokens& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

absl::Status EditDistance(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Tokens> hyps, TokensOf(op, "Hyps", "HypsLength"));
  ASSIGN_OR_RETURN(const std::vector<Tokens> refs, TokensOf(op, "Refs", "RefsLength"));
  if (hyps.size() != refs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("Hyps has ", hyps.size(), " sequences and Refs ",
                                                   refs.size(), "; want as many"));
  }
  const int64_t count = static_cast<int64_t>(hyps.size());
  Array out(VarType::FP32, Dims{count, 1});
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(DistanceOf(hyps[i], refs[i]));
    if (!op.Bool("normalized")) continue;
    if (refs[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Refs ", i, " is empty; want tokens where distances are normalized"));
    }
    out[i] /= static_cast<double>(refs[i].size());
  }
  Array number(VarType::INT64, Dims{1});
  number[0] = static_cast<double>(count);
  op.SetOutput("Out", std::move(out));
  op.SetOutput("SequenceNum", std::move(number));
  return absl::OkStatus();
}

absl::Status CtcAlign(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Tokens> sequences, TokensOf(op, "Input", "InputLength"));
  const Array& input = op.Input("Input");
  const int64_t blank = op.Int("blank");
  std::vector<Tokens> aligned;
  std::vector<int64_t> lengths;
  for (const Tokens& sequence : sequences) {
    aligned.emplace_back();
    for (size_t i = 0; i < sequence.size(); ++i) {
      const bool repeats = op.Bool("merge_repeated") && i > 0 && sequence[i] == sequence[i - 1];
      if (sequence[i] != blank && !repeats) aligned.back().push_back(sequence[i]);
    }
    lengths.push_back(static_cast<int64_t>(aligned.back().size()));
  }
  if (op.FindInput("InputLength") != nullptr) {
    Array out(input.dtype, input.dims);
    Array out_lengths(op.Input("InputLength").dtype, Dims{static_cast<int64_t>(lengths.size()), 1});
    std::fill(out.values.begin(), out.values.end(), static_cast<double>(op.Int("padding_value")));
    for (size_t n = 0; n < aligned.size(); ++n) {
      std::copy(aligned[n].begin(), aligned[n].end(),
                out.values.begin() + static_cast<int64_t>(n) * input.dims[1]);
      out_lengths[n] = static_cast<double>(lengths[n]);
    }
    op.SetOutput("Output", std::move(out));
    op.SetOutput("OutputLength", std::move(out_lengths));
    return absl::OkStatus();
  }
  LoD lod = {OffsetsOf(lengths)};
  const int64_t kept = static_cast<int64_t>(lod[0].back());
  // As in the reference, a tensor is not empty.
  Array out(input.dtype, Dims{std::max<int64_t>(kept, 1), 1});
  if (kept == 0) out[0] = -1;
  int64_t to = 0;
  for (const Tokens& sequence : aligned) {
    for (const int64_t token : sequence) out[to++] = static_cast<double>(token);
  }
  out.lod = std::move(lod);
  op.SetCutOutput("Output", std::move(out));
  return absl::OkStatus();
}

absl::Status Erase(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOf("X", x.dims, x.lod));
  RETURN_IF_ERROR(op.CheckSize("X", x.dims[0]));
  const std::vector<int64_t> tokens = op.Ints("tokens");
  std::vector<double> kept;
  std::vector<int64_t> lengths;
  for (const Sequence& sequence : sequences) {
    lengths.push_back(0);
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      const bool is_erased = std::find(tokens.begin(), tokens.end(), ToInt(x[row])) != tokens.end();
      if (is_erased) continue;
      kept.push_back(x[row]);
      ++lengths.back();
    }
  }
  Dims dims = x.dims;
  dims[0] = static_cast<int64_t>(kept.size());
  Array out(x.dtype, dims);
  out.values = std::move(kept);
  out.lod = {OffsetsOf(lengths)};
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Logits in either form, as the rows of each sequence's steps.
struct CtcInput {
  std::vector<std::vector<int64_t>> rows;
  int64_t classes = 0;
  int64_t longest = 0;
};

absl::StatusOr<CtcInput> CtcInputOf(const OpRun& op) {
  const Array& logits = op.Input("Logits");
  CtcInput input;
  std::vector<Sequence> sequences;
  if (op.FindInput("LogitsLength") != nullptr) {
    // [T, N, classes].
    RETURN_IF_ERROR(op.CheckRank("Logits", 3));
    const int64_t batch = logits.dims[1];
    ASSIGN_OR_RETURN(const std::vector<int64_t> lengths,
                     LengthsOf(op, "LogitsLength", batch, logits.dims[0]));
    for (int64_t n = 0; n < batch; ++n) {
      input.rows.emplace_back();
      for (int64_t t = 0; t < lengths[n]; ++t) input.rows.back().push_back(t * batch + n);
    }
    input.longest = logits.dims[0];
  } else {
    RETURN_IF_ERROR(op.CheckRank("Logits", 2));
    ASSIGN_OR_RETURN(sequences, SequencesOf("Logits", logits.dims, logits.lod));
    for (const Sequence& sequence : sequences) {
      input.rows.emplace_back();
      for (int64_t row = sequence.begin; row < sequence.end; ++row) {
        input.rows.back().push_back(row);
      }
      input.longest = std::max(input.longest, sequence.length());
    }
  }
  input.classes = logits.dims.back();
  return input;
}

double LogAdd(double a, double b) {
  const double largest = std::max(a, b);
  return largest == -INFINITY ? largest
                              : largest + std::log(std::exp(a - largest) + std::exp(b - largest));
}

// The loss of one sequence, and its gradient [steps, classes] by the logits.
double CtcLoss(const Array& logits, const std::vector<int64_t>& rows, int64_t classes,
               const Tokens& labels, int64_t blank, std::vector<std::vector<double>>* gradient) {
  const int64_t steps = static_cast<int64_t>(rows.size());
  gradient->assign(steps, std::vector<double>(classes));
  // Labels with a blank before, between and after them.
  Tokens extended = {blank};
  int64_t fewest_steps = static_cast<int64_t>(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i > 0 && labels[i] == labels[i - 1]) ++fewest_steps;
    extended.push_back(labels[i]);
    extended.push_back(blank);
  }
  if (steps == 0 || fewest_steps > steps) return 0;
  const int64_t size = static_cast<int64_t>(extended.size());
  const auto may_skip = [&](int64_t i) {
    return i > 1 && extended[i] != blank && extended[i] != extended[i - 2];
  };
  std::vector<std::vector<double>> log_p(steps, std::vector<double>(classes));
  for (int64_t t = 0; t < steps; ++t) {
    double log_sum = -INFINITY;
    for (int64_t k = 0; k < classes; ++k) log_sum = LogAdd(log_sum, logits[rows[t] * classes + k]);
    for (int64_t k = 0; k < classes; ++k) {
      log_p[t][k] = logits[rows[t] * classes + k] - log_sum;
      (*gradient)[t][k] = std::exp(log_p[t][k]);
    }
  }
  std::vector<std::vector<double>> alpha(steps, std::vector<double>(size, -INFINITY));
  std::vector<std::vector<double>> beta = alpha;
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 0; i < size; ++i) {
      double sum = t == 0 && i < 2 ? 0 : -INFINITY;
      if (t > 0) {
        sum = alpha[t - 1][i];
        if (i > 0) sum = LogAdd(sum, alpha[t - 1][i - 1]);
        if (may_skip(i)) sum = LogAdd(sum, alpha[t - 1][i - 2]);
      }
      alpha[t][i] = sum + log_p[t][extended[i]];
    }
  }
  for (int64_t t = steps - 1; t >= 0; --t) {
    for (int64_t i = 0; i < size; ++i) {
      if (t == steps - 1) {
        beta[t][i] = i + 2 < size ? -INFINITY : 0;
        continue;
      }
      double sum = beta[t + 1][i] + log_p[t + 1][extended[i]];
      for (int64_t next = i + 1; next < std::min(i + 3, size); ++next) {
        if (next == i + 2 && !may_skip(next)) continue;
        sum = LogAdd(sum, beta[t + 1][next] + log_p[t + 1][extended[next]]);
      }
      beta[t][i] = sum;
    }
  }
  double log_all = alpha[steps - 1][size - 1];
  if (size > 1) log_all = LogAdd(log_all, alpha[steps - 1][size - 2]);
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 0; i < size; ++i) {
      (*gradient)[t][extended[i]] -= std::exp(alpha[t][i] + beta[t][i] - log_all);
    }
  }
  return -log_all;
}

// WarpCTCGrad [longest, N, classes]: the gradients of the losses, padded with 0.
absl::Status WarpCtc(OpRun& op) {
  const Array& logits = op.Input("Logits");
  ASSIGN_OR_RETURN(const CtcInput input, CtcInputOf(op));
  ASSIGN_OR_RETURN(const std::vector<Tokens> labels, TokensOf(op, "Label", "LabelLength"));
  const int64_t count = static_cast<int64_t>(input.rows.size());
  const int64_t blank = op.Int("blank");
  if (static_cast<int64_t>(labels.size()) != count || blank < 0 || blank >= input.classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("Logits has ", count, " sequences of ", input.classes, " classes, Label ",
                     labels.size(), " and blank is ", blank, "; want as many, and a class"));
  }
  for (const Tokens& sequence : labels) {
    for (const int64_t label : sequence) {
      if (label >= 0 && label < input.classes && label != blank) continue;
      return absl::InvalidArgumentError(absl::StrCat("Label has ", label, "; want a class, 0 to ",
                                                     input.classes - 1, ", but not the blank"));
    }
  }
  Array loss(logits.dtype, Dims{count, 1});
  Array gradients(logits.dtype, Dims{input.longest, count, input.classes});
  for (int64_t n = 0; n < count; ++n) {
    std::vector<std::vector<double>> gradient;
    loss[n] = CtcLoss(logits, input.rows[n], input.classes, labels[n], blank, &gradient);
    for (size_t t = 0; t < gradient.size(); ++t) {
      std::copy(gradient[t].begin(), gradient[t].end(),
                gradients.values.begin() + (static_cast<int64_t>(t) * count + n) * input.classes);
    }
  }
  op.SetOutput("Loss", std::move(loss));
  op.SetOutput("WarpCTCGrad", std::move(gradients));
  return absl::OkStatus();
}

absl::Status WarpCtcGradient(OpRun& op) {
  const Array& logits = op.Input("Logits");
  ASSIGN_OR_RETURN(const CtcInput input, CtcInputOf(op));
  const int64_t count = static_cast<int64_t>(input.rows.size());
  RETURN_IF_ERROR(op.CheckDims("WarpCTCGrad", Dims{input.longest, count, input.classes}));
  RETURN_IF_ERROR(op.CheckSize("Loss@GRAD", count));
  const Array& gradients = op.Input("WarpCTCGrad");
  Array dlogits(logits.dtype, logits.dims);
  for (int64_t n = 0; n < count; ++n) {
    const std::vector<int64_t>& rows = input.rows[n];
    const double factor = op.Input("Loss@GRAD")[n] /
                          (op.Bool("norm_by_times") ? static_cast<double>(rows.size()) : 1.0);
    for (size_t t = 0; t < rows.size(); ++t) {
      for (int64_t k = 0; k < input.classes; ++k) {
        dlogits[rows[t] * input.classes + k] =
            factor * gradients[(static_cast<int64_t>(t) * count + n) * input.classes + k];
      }
    }
  }
  op.SetOutput("Logits@GRAD", std::move(dlogits));
  return absl::OkStatus();
}

}  // namespace

Kernels LabelAlignmentKernels() {
  return {{"edit_distance", EditDistance},
          {"ctc_align", CtcAlign},
          {"sequence_erase", Erase},
          {"warpctc", WarpCtc},
          {"warpctc_grad", WarpCtcGradient}};
}

}  // namespace fixpoint::reference
