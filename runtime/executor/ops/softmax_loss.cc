// Softmax and cross entropies.

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/cross_entropy.h"
#include "runtime/kernels/labels.h"
#include "runtime/kernels/softmax.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;

// Whether the attribute axis is the first one of an input. REQUIRES: it is one of them.
bool IsFirstAxis(const OpPlanner& op, absl::string_view slot) {
  const int64_t axis = op.attributes().Int("axis");
  return axis == 0 || axis == -static_cast<int64_t>(op.InputDims(slot).size());
}

absl::Status PlanSoftmax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), Layout::kRowMajor, x);
  if (!IsFirstAxis(op, "X")) op.KeepRows("X", "Out");
  if (lines.inner == 1 && lines.size() > 0) {
    AddRowStep(op, {x}, {}, y, lines.length, [lines](const kernels::ElementBlock& block) {
      const absl::Span<float> out = block.Out<float>();
      kernels::Softmax({static_cast<int64_t>(out.size()) / lines.length, lines.length},
                       block.In<float>(0), out);
    });
    return absl::OkStatus();
  }
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                kernels::Softmax(lines, run.Floats(x), run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSoftmaxGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("Out"), op.attributes().Int("axis")));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", lines.size()));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Out"));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("Out"), Layout::kRowMajor, dy);
  std::vector<Buffer> reads = {y, dy};
  ReadShape y_shape{op.InputDims("Out"), {}, std::nullopt};
  ReadShape dy_shape{op.InputDims("Out@GRAD"), {}, std::nullopt};
  if (!IsFirstAxis(op, "Out")) {
    y_shape = ReadShape::Of(op, "Out");
    dy_shape = ReadShape::Of(op, "Out@GRAD");
    op.KeepRows("Out", "X@GRAD");
  }
  const bool is_decided = y_shape.decided || dy_shape.decided;
  for (const ReadShape& shape : {y_shape, dy_shape}) {
    for (const Buffer buffer : shape.buffers()) reads.push_back(buffer);
  }
  op.AddStep({reads, {dx}, [=](const StepContext& run) {
                if (is_decided && y_shape.DimsIn(run) != dy_shape.DimsIn(run)) {
                  return absl::InvalidArgumentError(
                      absl::StrCat("Out@GRAD is ", DimsText(dy_shape.DimsIn(run)), "; want ",
                                   DimsText(y_shape.DimsIn(run)), ", as Out"));
                }
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
  RETURN_IF_ERROR(op.CheckSize("Label", soft ? lines.size() : lines.count()));
  LabelBuffer labels;
  labels.soft = soft;
  labels.ignored = op.attributes().Int("ignore_index");
  ASSIGN_OR_RETURN(labels.buffer, op.Read("Label", soft ? VarType::FP32 : VarType::INT64));
  return labels;
}

// One value for each line.
TensorType LossType(Dims dims, int axis) {
  dims[axis] = 1;
  return {VarType::FP32, dims};
}

absl::Status PlanLogSoftmax(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(op.InputDims("X"), op.attributes().Int("axis")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), Layout::kRowMajor, x);
  if (!IsFirstAxis(op, "X")) op.KeepRows("X", "Out");
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
  const Dims dims = op.InputDims("Logits");
  const int64_t axis = op.attributes().Int("axis");
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(dims, axis));
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(dims.size())));
  ASSIGN_OR_RETURN(const LabelBuffer label,
                   ReadLabels(op, lines, op.attributes().Bool("soft_label")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Logits"));
  const Buffer y = op.WriteAs("Softmax", op.InputType("Logits"));
  const Buffer loss = op.WriteAs("Loss", LossType(dims, at));
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
  RETURN_IF_ERROR(op.CheckSize("Loss@GRAD", lines.count()));
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

// For a cross entropy of the lines on the last axis of X: labels without a trailing 1 give a loss
// without one.
TensorType LossTypeOf(const OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  TensorType loss = LossType(dims, static_cast<int>(dims.size()) - 1);
  if (op.InputDims("Label").size() + 1 == dims.size()) loss.dims.pop_back();
  return loss;
}

// Adds the step of cross_entropy and cross_entropy2.
absl::Status AddCrossEntropy(OpPlanner& op, const Lines& lines, const LabelBuffer& label) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer loss = op.WriteAs("Y", LossTypeOf(op));
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
  RETURN_IF_ERROR(op.CheckSize("Y@GRAD", lines.count()));
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
    const Buffer matched = op.WriteAs("MatchX", LossTypeOf(op));
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
  RETURN_IF_ERROR(op.CheckSize("MatchX", lines.count()));
  RETURN_IF_ERROR(op.CheckSize("Y@GRAD", lines.count()));
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
  RETURN_IF_ERROR(op.CheckDims("Label", op.InputDims("X")));
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
