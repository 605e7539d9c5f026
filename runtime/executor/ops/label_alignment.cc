// Labels that are not aligned with the steps of a sequence, and distances between sequences.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/ctc_loss.h"

namespace fixpoint::executor {
namespace {

// The lengths of padded sequences, integers of either size.
struct Lengths {
  std::string slot;
  Buffer buffer;
  bool is_32 = false;
  int64_t most = 0;

  // Error: it is not 0 to `most`.
  absl::StatusOr<int64_t> At(const StepContext& run, int64_t i) const {
    const int64_t length = is_32 ? run.Of<int32_t>(buffer)[i] : run.Of<int64_t>(buffer)[i];
    if (length >= 0 && length <= most) return length;
    return absl::InvalidArgumentError(absl::StrCat(slot, " has ", length, "; want 0 to ", most));
  }
};

absl::Status CheckInteger(const OpPlanner& op, absl::string_view slot) {
  const VarType::Type dtype = op.InputType(slot).dtype;
  if (dtype == VarType::INT32 || dtype == VarType::INT64) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(slot, " is of ", TypeName(dtype), "; want i32 or i64"));
}

absl::StatusOr<Lengths> ReadLengths(OpPlanner& op, absl::string_view slot, int64_t count,
                                    int64_t most) {
  RETURN_IF_ERROR(op.CheckSize(slot, count));
  RETURN_IF_ERROR(CheckInteger(op, slot));
  Lengths lengths;
  lengths.slot = std::string(slot);
  lengths.is_32 = op.InputType(slot).dtype == VarType::INT32;
  lengths.most = most;
  ASSIGN_OR_RETURN(lengths.buffer, op.Read(slot, op.InputType(slot).dtype));
  return lengths;
}

// Sequences of tokens: rows [T, 1] with offsets or, where there are lengths, [N, T].
struct TokenRows {
  Buffer tokens;
  bool is_32 = false;
  std::vector<Sequence> sequences;  // padded ones whole
  std::optional<Lengths> lengths;
  int64_t longest = 0;

  int64_t count() const { return static_cast<int64_t>(sequences.size()); }
  void AppendReads(std::vector<Buffer>* reads) const {
    reads->push_back(tokens);
    if (lengths) reads->push_back(lengths->buffer);
  }
  absl::StatusOr<Sequence> At(const StepContext& run, int64_t i) const {
    Sequence sequence = sequences[i];
    if (lengths) {
      ASSIGN_OR_RETURN(const int64_t length, lengths->At(run, i));
      sequence.end = sequence.begin + length;
    }
    return sequence;
  }
  int64_t Token(const StepContext& run, int64_t place) const {
    return is_32 ? run.Of<int32_t>(tokens)[place] : run.Of<int64_t>(tokens)[place];
  }
};

absl::StatusOr<TokenRows> ReadTokens(OpPlanner& op, absl::string_view slot,
                                     absl::string_view length_slot) {
  const Dims& dims = op.InputDims(slot);
  TokenRows rows;
  if (op.HasInput(length_slot)) {
    if (dims.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(slot, " is ", DimsText(dims), "; want 2 dimensions"));
    }
    ASSIGN_OR_RETURN(rows.lengths, ReadLengths(op, length_slot, dims[0], dims[1]));
    for (int64_t n = 0; n < dims[0]; ++n)
      rows.sequences.push_back({n * dims[1], (n + 1) * dims[1]});
    rows.longest = dims[1];
  } else {
    ASSIGN_OR_RETURN(rows.sequences, SequencesOf(slot, dims, op.InputLod(slot)));
    RETURN_IF_ERROR(op.CheckSize(slot, dims[0]));
    for (const Sequence& sequence : rows.sequences) {
      rows.longest = std::max(rows.longest, sequence.length());
    }
  }
  RETURN_IF_ERROR(CheckInteger(op, slot));
  rows.is_32 = op.InputType(slot).dtype == VarType::INT32;
  ASSIGN_OR_RETURN(rows.tokens, op.Read(slot, op.InputType(slot).dtype));
  return rows;
}

// `row` has a place for each token of b, and one more.
template <typename A, typename B>
int64_t Distance(int64_t a_count, A a, int64_t b_count, B b, absl::Span<int64_t> row) {
  for (int64_t j = 0; j <= b_count; ++j) row[j] = j;
  for (int64_t i = 1; i <= a_count; ++i) {
    const int64_t token = a(i - 1);
    int64_t diagonal = row[0];
    row[0] = i;
    for (int64_t j = 1; j <= b_count; ++j) {
      const int64_t replaced = diagonal + (token == b(j - 1) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b_count];
}

absl::Status PlanEditDistance(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TokenRows hyps, ReadTokens(op, "Hyps", "HypsLength"));
  ASSIGN_OR_RETURN(const TokenRows refs, ReadTokens(op, "Refs", "RefsLength"));
  if (hyps.count() != refs.count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Hyps has ", hyps.count(), " sequences and Refs ", refs.count(), "; want as many"));
  }
  const bool is_normalized = op.attributes().Bool("normalized");
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {hyps.count(), 1}});
  const Buffer number = op.WriteAs("SequenceNum", {VarType::INT64, {1}});
  const Buffer scratch = op.Scratch("row", VarType::INT64, refs.longest + 1);
  std::vector<Buffer> reads;
  hyps.AppendReads(&reads);
  refs.AppendReads(&reads);
  op.AddStep(
      {std::move(reads), {out, number, scratch}, [=](const StepContext& run) -> absl::Status {
         run.Of<int64_t>(number)[0] = hyps.count();
         for (int64_t i = 0; i < hyps.count(); ++i) {
           ASSIGN_OR_RETURN(const Sequence hyp, hyps.At(run, i));
           ASSIGN_OR_RETURN(const Sequence ref, refs.At(run, i));
           const int64_t distance = Distance(
               hyp.length(), [&](int64_t j) { return hyps.Token(run, hyp.begin + j); },
               ref.length(), [&](int64_t j) { return refs.Token(run, ref.begin + j); },
               run.Of<int64_t>(scratch));
           if (is_normalized && ref.length() == 0) {
             return absl::InvalidArgumentError(
                 absl::StrCat("Refs ", i, " is empty; want tokens where distances are normalized"));
           }
           run.Floats(out)[i] =
               static_cast<float>(distance) / static_cast<float>(is_normalized ? ref.length() : 1);
         }
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

// Only of padded sequences: how many rows others keep is not known before the run.
absl::Status PlanAlign(OpPlanner& op) {
  if (!op.HasInput("InputLength")) {
    return absl::UnimplementedError(
        "how many tokens are kept is computed in the run; want padded sequences, with InputLength");
  }
  ASSIGN_OR_RETURN(const TokenRows rows, ReadTokens(op, "Input", "InputLength"));
  const OpAttributes& attributes = op.attributes();
  const int64_t blank = attributes.Int("blank");
  const int64_t padding = attributes.Int("padding_value");
  const bool merges = attributes.Bool("merge_repeated");
  const Buffer out = op.WriteAs("Output", op.InputType("Input"));
  const Buffer lengths =
      op.WriteAs("OutputLength", {op.InputType("InputLength").dtype, {rows.count(), 1}});
  std::vector<Buffer> reads;
  rows.AppendReads(&reads);
  op.AddStep({std::move(reads), {out, lengths}, [=](const StepContext& run) -> absl::Status {
                const auto set = [&](Buffer buffer, bool is_32, int64_t i, int64_t value) {
                  if (is_32) {
                    run.Of<int32_t>(buffer)[i] = static_cast<int32_t>(value);
                  } else {
                    run.Of<int64_t>(buffer)[i] = value;
                  }
                };
                for (int64_t n = 0; n < rows.count(); ++n) {
                  ASSIGN_OR_RETURN(const Sequence sequence, rows.At(run, n));
                  int64_t to = rows.sequences[n].begin;
                  for (int64_t i = sequence.begin; i < sequence.end; ++i) {
                    const int64_t token = rows.Token(run, i);
                    const bool repeats =
                        merges && i > sequence.begin && token == rows.Token(run, i - 1);
                    if (token != blank && !repeats) set(out, rows.is_32, to++, token);
                  }
                  set(lengths, rows.lengths->is_32, n, to - rows.sequences[n].begin);
                  while (to < rows.sequences[n].end) set(out, rows.is_32, to++, padding);
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Logits [rows, classes] with offsets, or [T, N, classes] with LogitsLength.
struct CtcLogits {
  int64_t classes = 0;
  int64_t longest = 0;
  int64_t count = 0;
  std::vector<Sequence> sequences;
  std::optional<Lengths> lengths;

  // Where a step of a sequence begins in the logits.
  int64_t At(int64_t n, int64_t t) const {
    return (lengths ? t * count + n : sequences[n].begin + t) * classes;
  }
  absl::StatusOr<int64_t> StepsOf(const StepContext& run, int64_t n) const {
    if (!lengths) return sequences[n].length();
    return lengths->At(run, n);
  }
  Dims gradient_dims() const { return {longest, count, classes}; }
};

absl::StatusOr<CtcLogits> ReadLogits(OpPlanner& op) {
  const Dims& dims = op.InputDims("Logits");
  const bool has_lengths = op.HasInput("LogitsLength");
  CtcLogits logits;
  if (dims.size() != (has_lengths ? 3 : 2) || dims.back() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Logits is ", DimsText(dims), "; want ",
                     has_lengths ? "[T, N, classes]" : "[rows, classes]"));
  }
  logits.classes = dims.back();
  if (has_lengths) {
    logits.longest = dims[0];
    logits.count = dims[1];
    ASSIGN_OR_RETURN(logits.lengths, ReadLengths(op, "LogitsLength", dims[1], dims[0]));
  } else {
    ASSIGN_OR_RETURN(logits.sequences, SequencesOf("Logits", dims, op.InputLod("Logits")));
    logits.count = static_cast<int64_t>(logits.sequences.size());
    for (const Sequence& sequence : logits.sequences) {
      logits.longest = std::max(logits.longest, sequence.length());
    }
  }
  RETURN_IF_ERROR(ElementCount(logits.gradient_dims()).status());
  return logits;
}

absl::Status CheckLabels(absl::Span<const int32_t> labels, int64_t classes, int64_t blank) {
  for (const int32_t label : labels) {
    if (label >= 0 && label < classes && label != blank) continue;
    return absl::InvalidArgumentError(absl::StrCat("Label has ", label, "; want a class, 0 to ",
                                                   classes - 1, ", but not the blank"));
  }
  return absl::OkStatus();
}

// WarpCTCGrad [longest, N, classes]: the gradients of the losses, padded with 0.
absl::Status PlanWarpCtc(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CtcLogits logits, ReadLogits(op));
  ASSIGN_OR_RETURN(const TokenRows labels, ReadTokens(op, "Label", "LabelLength"));
  const int64_t blank = op.attributes().Int("blank");
  if (labels.count() != logits.count || blank < 0 || blank >= logits.classes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Logits has ", logits.count, " sequences of ", logits.classes, " classes, Label ",
        labels.count(), " and blank is ", blank, "; want as many, and a class"));
  }
  if (!labels.is_32) return absl::UnimplementedError("Label is of i64; want i32");
  RETURN_IF_ERROR(ElementCount({4, logits.longest + 1, labels.longest + 1}).status());
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Logits"));
  const Buffer loss = op.WriteAs("Loss", {VarType::FP32, {logits.count, 1}});
  const Buffer gradient = op.WriteAs("WarpCTCGrad", {VarType::FP32, logits.gradient_dims()});
  const Buffer scratch =
      op.Scratch("scratch", VarType::FP64, kernels::CtcScratchSize(logits.longest, labels.longest));
  std::vector<Buffer> reads = {x};
  if (logits.lengths) reads.push_back(logits.lengths->buffer);
  labels.AppendReads(&reads);
  op.AddStep(
      {std::move(reads), {loss, gradient, scratch}, [=](const StepContext& run) -> absl::Status {
         const absl::Span<float> gradients = run.Floats(gradient);
         std::fill(gradients.begin(), gradients.end(), 0.0f);
         const int64_t classes = logits.classes;
         for (int64_t n = 0; n < logits.count; ++n) {
           ASSIGN_OR_RETURN(const int64_t count, logits.StepsOf(run, n));
           ASSIGN_OR_RETURN(const Sequence label, labels.At(run, n));
           const absl::Span<const int32_t> tokens =
               run.Of<int32_t>(labels.tokens).subspan(label.begin, label.length());
           RETURN_IF_ERROR(CheckLabels(tokens, classes, blank));
           kernels::CtcSequence sequence;
           sequence.logits = run.Floats(x).data() + logits.At(n, 0);
           sequence.logits_stride = logits.lengths ? logits.count * classes : classes;
           sequence.gradient_stride = logits.count * classes;
           sequence.steps = count;
           sequence.classes = classes;
           sequence.blank = blank;
           sequence.labels = tokens.data();
           sequence.label_count = label.length();
           run.Floats(loss)[n] =
               kernels::CtcLoss(sequence, run.Of<double>(scratch), gradients.data() + n * classes);
         }
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

absl::Status PlanWarpCtcGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const CtcLogits logits, ReadLogits(op));
  RETURN_IF_ERROR(op.CheckDims("WarpCTCGrad", logits.gradient_dims()));
  RETURN_IF_ERROR(op.CheckSize("Loss@GRAD", logits.count));
  ASSIGN_OR_RETURN(const Buffer gradient, op.ReadFloats("WarpCTCGrad"));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("Loss@GRAD"));
  const Buffer dlogits = op.WriteAs("Logits@GRAD", op.InputType("Logits"));
  const bool by_times = op.attributes().Bool("norm_by_times");
  std::vector<Buffer> reads = {gradient, dloss};
  if (logits.lengths) reads.push_back(logits.lengths->buffer);
  op.AddStep({std::move(reads), {dlogits}, [=](const StepContext& run) -> absl::Status {
                const absl::Span<float> to = run.Floats(dlogits);
                std::fill(to.begin(), to.end(), 0.0f);
                for (int64_t n = 0; n < logits.count; ++n) {
                  ASSIGN_OR_RETURN(const int64_t count, logits.StepsOf(run, n));
                  const float factor =
                      run.Floats(dloss)[n] / static_cast<float>(by_times ? count : 1);
                  for (int64_t t = 0; t < count; ++t) {
                    const float* const from =
                        run.Floats(gradient).data() + (t * logits.count + n) * logits.classes;
                    float* const row = to.data() + logits.At(n, t);
                    for (int64_t k = 0; k < logits.classes; ++k) row[k] = factor * from[k];
                  }
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans LabelAlignmentPlans() {
  return {{"edit_distance", PlanEditDistance},
          {"ctc_align", PlanAlign},
          {"warpctc", PlanWarpCtc},
          {"warpctc_grad", PlanWarpCtcGradient}};
}

}  // namespace fixpoint::executor
