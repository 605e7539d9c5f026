// Softmax and cross entropies.

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/kernels/cross_entropy.h"
#include "runtime/kernels/labels.h"
#include "runtime/kernels/softmax.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;

absl::Status PlanSoftmax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), Layout::kRowMajor, x);
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                kernels::Softmax(lines, run.Floats(x), run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSoftmaxGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("Out"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Out"));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD"));
  if (dy.size != y.size) {
    return absl::InvalidArgumentError(absl::StrCat("Out@GRAD is ",
                                                   DimsText(op.InputDims("Out@GRAD")), "; want ",
                                                   DimsText(op.InputDims("Out"))));
  }
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("Out"), Layout::kRowMajor, dy);
  op.AddStep({{y, dy}, {dx}, [=](const StepContext& run) {
                kernels::SoftmaxBackward(lines, run.Floats(y), run.Floats(dy), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The input Label: a class for each line, or, if soft, a distribution.
struct LabelBuffer {
  Buffer buffer;
  bool soft = false;
  int64_t ignored = -100;

  absl::StatusOr<kernels::Labels> In(const StepContext& run, const Lines& lines) const {
    kernels::Labels labels;
    labels.ignored = ignored;
    if (soft) {
      labels.soft = run.Floats(buffer);
    } else {
      labels.classes = run.Of<int64_t>(buffer);
    }
    if (absl::Status status = kernels::CheckLabels(lines, labels); !status.ok()) return status;
    return labels;
  }
};

absl::StatusOr<LabelBuffer> ReadLabels(OpPlanner& op, const Lines& lines, bool soft) {
  const int64_t wanted = soft ? lines.size() : lines.count();
  if (op.InputType("Label").size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("Label is ", DimsText(op.InputDims("Label")), "; want ", wanted, " elements"));
  }
  LabelBuffer labels;
  labels.soft = soft;
  labels.ignored = op.attributes().Int("ignore_index");
  ASSIGN_OR_RETURN(labels.buffer, op.Read("Label", soft ? VarType::FP32 : VarType::INT64));
  return labels;
}

absl::Status CheckLossGradient(const OpPlanner& op, absl::string_view slot, const Lines& lines) {
  if (op.InputType(slot).size() == lines.count()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(op.InputDims(slot)),
                                                 "; want ", lines.count(), " elements"));
}

absl::Status PlanLogSoftmax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), Layout::kRowMajor, x);
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                kernels::LogSoftmax(lines, run.Floats(x), run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSoftmaxWithCrossEntropy(OpPlanner& op) {
  if (!op.attributes().Bool("use_softmax")) {
    return absl::UnimplementedError("use_softmax is false; want logits");
  }
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("Logits"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const LabelBuffer label,
                   ReadLabels(op, lines, op.attributes().Bool("soft_label")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Logits"));
  const Buffer y = op.WriteAs("Softmax", op.InputType("Logits"));
  ASSIGN_OR_RETURN(const Buffer loss, op.Write("Loss"));
  op.AddStep({{x, label.buffer}, {y, loss}, [=](const StepContext& run) {
                ASSIGN_OR_RETURN(const kernels::Labels labels, label.In(run, lines));
                kernels::SoftmaxCrossEntropy(lines, run.Floats(x), labels, run.Floats(y),
                                             run.Floats(loss));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSoftmaxWithCrossEntropyGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines,
                   LinesOf(op.InputDims("Softmax"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const LabelBuffer label,
                   ReadLabels(op, lines, op.attributes().Bool("soft_label")));
  RETURN_IF_ERROR(CheckLossGradient(op, "Loss@GRAD", lines));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Softmax"));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("Loss@GRAD"));
  const Buffer dx = op.WriteOver("Logits@GRAD", op.InputType("Softmax"), Layout::kRowMajor, y);
  op.AddStep({{y, label.buffer, dloss}, {dx}, [=](const StepContext& run) {
                ASSIGN_OR_RETURN(const kernels::Labels labels, label.In(run, lines));
                kernels::SoftmaxCrossEntropyBackward(lines, run.Floats(y), labels,
                                                     run.Floats(dloss), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Adds the step of cross_entropy and cross_entropy2.
absl::Status AddCrossEntropy(OpPlanner& op, const Lines& lines, const LabelBuffer& label) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer loss, op.Write("Y"));
  op.AddStep({{x, label.buffer}, {loss}, [=](const StepContext& run) {
                ASSIGN_OR_RETURN(const kernels::Labels labels, label.In(run, lines));
                kernels::CrossEntropy(lines, run.Floats(x), labels, run.Floats(loss));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanCrossEntropy(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), -1));
  ASSIGN_OR_RETURN(const LabelBuffer label,
                   ReadLabels(op, lines, op.attributes().Bool("soft_label")));
  return AddCrossEntropy(op, lines, label);
}

absl::Status PlanCrossEntropyGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), -1));
  ASSIGN_OR_RETURN(const LabelBuffer label,
                   ReadLabels(op, lines, op.attributes().Bool("soft_label")));
  RETURN_IF_ERROR(CheckLossGradient(op, "Y@GRAD", lines));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("Y@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{x, label.buffer, dloss}, {dx}, [=](const StepContext& run) {
                ASSIGN_OR_RETURN(const kernels::Labels labels, label.In(run, lines));
                kernels::CrossEntropyBackward(lines, run.Floats(x), labels, run.Floats(dloss),
                                              run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// XShape has no elements: its dimensions are what the gradient op reads.
absl::Status PlanCrossEntropy2(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), -1));
  ASSIGN_OR_RETURN(const LabelBuffer label, ReadLabels(op, lines, /*soft=*/false));
  if (op.Wants("XShape")) RETURN_IF_ERROR(op.Write("XShape").status());
  if (op.Wants("MatchX")) {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
    ASSIGN_OR_RETURN(const Buffer matched, op.Write("MatchX"));
    op.AddStep({{x, label.buffer}, {matched}, [=](const StepContext& run) {
                  ASSIGN_OR_RETURN(const kernels::Labels labels, label.In(run, lines));
                  kernels::MatchedProbabilities(lines, run.Floats(x), labels, run.Floats(matched));
                  return absl::OkStatus();
                }});
  }
  return AddCrossEntropy(op, lines, label);
}

absl::Status PlanCrossEntropy2Gradient(OpPlanner& op) {
  Dims dims = op.InputDims("XShape");
  if (dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("XShape is ", DimsText(dims), "; want X's dimensions and a 0"));
  }
  dims.pop_back();
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(dims, -1));
  ASSIGN_OR_RETURN(const LabelBuffer label, ReadLabels(op, lines, /*soft=*/false));
  RETURN_IF_ERROR(CheckLossGradient(op, "MatchX", lines));
  RETURN_IF_ERROR(CheckLossGradient(op, "Y@GRAD", lines));
  ASSIGN_OR_RETURN(const Buffer matched, op.ReadFloats("MatchX"));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("Y@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", {VarType::FP32, dims});
  op.AddStep({{matched, label.buffer, dloss}, {dx}, [=](const StepContext& run) {
                ASSIGN_OR_RETURN(const kernels::Labels labels, label.In(run, lines));
                kernels::MatchedCrossEntropyBackward(lines, run.Floats(matched), labels,
                                                     run.Floats(dloss), run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// A label for each logit.
absl::Status PlanSigmoidCrossEntropy(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("pos_weight"));
  if (op.attributes().Bool("normalize")) {
    return absl::UnimplementedError("normalize is true; want false");
  }
  if (op.InputDims("Label") != op.InputDims("X")) {
    return absl::InvalidArgumentError(absl::StrCat("Label is ", DimsText(op.InputDims("Label")),
                                                   " and X ", DimsText(op.InputDims("X")),
                                                   "; want equal dimensions"));
  }
  const Layout layout = op.InputLayout("X");
  const float ignored = static_cast<float>(op.attributes().Int("ignore_index"));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer label, op.ReadFloats("Label", layout));
  const Buffer loss = op.WriteOver("Out", op.InputType("X"), layout, x);
  op.AddStep({{x, label}, {loss}, [=](const StepContext& run) {
                kernels::SigmoidCrossEntropy(run.Floats(x), run.Floats(label), ignored,
                                             run.Floats(loss));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans SoftmaxLossPlans() {
  return {
      {"softmax", PlanSoftmax},
      {"softmax_grad", PlanSoftmaxGradient},
      {"log_softmax", PlanLogSoftmax},
      {"softmax_with_cross_entropy", PlanSoftmaxWithCrossEntropy},
      {"softmax_with_cross_entropy_grad", PlanSoftmaxWithCrossEntropyGradient},
      {"cross_entropy", PlanCrossEntropy},
      {"cross_entropy_grad", PlanCrossEntropyGradient},
      {"cross_entropy2", PlanCrossEntropy2},
      {"cross_entropy_grad2", PlanCrossEntropy2Gradient},
      {"sigmoid_cross_entropy_with_logits", PlanSigmoidCrossEntropy},
  };
}

}  // namespace fixpoint::executor
