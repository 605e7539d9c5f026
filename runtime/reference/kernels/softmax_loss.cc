// Softmax and losses.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/softmax.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The reference does not let a logit be further than this below the largest of its line.
constexpr double kLowestLogit = -64;
// The loss that it uses for a probability of 0.
constexpr double kInfiniteLoss = 1e20;

absl::StatusOr<AxisView> ViewOf(const Array& x, int64_t axis) {
  ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
  return ViewAround(x.dims, i);
}

// Subtracts the largest of each line.
Array Shifted(const Array& x, const AxisView& view) {
  Array shifted = x;
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    double largest = -INFINITY;
    for (int64_t i = 0; i < size; ++i) largest = std::max(largest, x[start + i * stride]);
    for (int64_t i = 0; i < size; ++i) shifted[start + i * stride] -= largest;
  });
  return shifted;
}

// Sums of exp over each line, in the order of ForEachLine.
std::vector<double> SumsOfExp(const Array& x, const AxisView& view) {
  std::vector<double> sums;
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    double& sum = sums.emplace_back(0);
    for (int64_t i = 0; i < size; ++i) sum += std::exp(x[start + i * stride]);
  });
  return sums;
}

// The logarithm of softmax.
Array LogSoftmaxOf(const Array& x, const AxisView& view) {
  Array out = Shifted(x, view);
  for (double& logit : out.values) logit = std::max(logit, kLowestLogit);
  const std::vector<double> sums = SumsOfExp(out, view);
  auto sum = sums.begin();
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t i = 0; i < size; ++i) out[start + i * stride] -= std::log(*sum);
    ++sum;
  });
  return out;
}

Array Exponential(Array x) {
  for (double& element : x.values) element = std::exp(element);
  return x;
}

absl::Status Softmax(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(op.Input("X"), op.Int("axis")));
  op.SetOutput("Out", SoftmaxOf(op.Input("X"), view));
  return absl::OkStatus();
}

absl::Status LogSoftmax(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(op.Input("X"), op.Int("axis")));
  op.SetOutput("Out", LogSoftmaxOf(op.Input("X"), view));
  return absl::OkStatus();
}

absl::Status SoftmaxGradient(OpRun& op) {
  const Array& out = op.Input("Out");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", out.dims));
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(out, op.Int("axis")));
  Array dx(dout.dtype, out.dims);
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    double dot = 0;
    for (int64_t i = 0; i < size; ++i) dot += out[start + i * stride] * dout[start + i * stride];
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = start + i * stride;
      dx[at] = out[at] * (dout[at] - dot);
    }
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// The labels for the lines of scores along an axis: the index of one class each, or, if soft, a
// distribution of the scores' own dims.
class Labels {
 public:
  // Error (kInvalidArgument): Label is not as long as there are lines, or names no class.
  static absl::StatusOr<Labels> Of(const OpRun& op, const AxisView& view, bool soft) {
    const int64_t lines = view.outer * view.inner;
    RETURN_IF_ERROR(op.CheckSize("Label", soft ? lines * view.size : lines));
    Labels labels(op.Input("Label"), soft, op.Int("ignore_index"));
    if (soft) return labels;
    for (const double value : labels.label_.values) {
      const int64_t label = ToInt(value);
      if (label != labels.ignored_ && (label < 0 || label >= view.size)) {
        return absl::InvalidArgumentError(absl::StrCat("Label has ", label, "; want 0 to ",
                                                       view.size - 1, ", or ", labels.ignored_,
                                                       " for a row to ignore"));
      }
    }
    return labels;
  }

  bool IsIgnored(int64_t line) const { return !soft_ && ClassOf(line) == ignored_; }
  // The class of a line. REQUIRES: the labels are not soft, and the line is not ignored.
  int64_t ClassOf(int64_t line) const { return ToInt(label_[line]); }
  // How much of the line belongs to class i, which is element `at` of the scores.
  double Share(int64_t line, int64_t i, int64_t at) const {
    return soft_ ? label_[at] : ClassOf(line) == i;
  }

 private:
  Labels(const Array& label, bool soft, int64_t ignored)
      : label_(label), soft_(soft), ignored_(ignored) {}

  const Array& label_;
  bool soft_;
  int64_t ignored_;
};

// Calls f(line, i, at) with each class of each line that is not ignored.
template <typename F>
void ForEachClass(const AxisView& view, const Labels& labels, F f) {
  int64_t line = 0;
  ForEachLine(view, [&](int64_t start, int64_t stride, int64_t size) {
    for (int64_t i = 0; i < size && !labels.IsIgnored(line); ++i) f(line, i, start + i * stride);
    ++line;
  });
}

// Loss: one per line, the scores' dims with 1 on the axis.
absl::Status SoftmaxWithCrossEntropy(OpRun& op) {
  const Array& logits = op.Input("Logits");
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), logits.rank()));
  const AxisView view = ViewAround(logits.dims, axis);
  ASSIGN_OR_RETURN(const Labels labels, Labels::Of(op, view, op.Bool("soft_label")));
  if (!op.Bool("use_softmax")) {
    return absl::UnimplementedError("use_softmax is false; want logits");
  }
  const Array log_softmax = LogSoftmaxOf(logits, view);
  Array loss(logits.dtype, logits.dims);
  loss.dims[axis] = 1;
  loss.values.assign(view.outer * view.inner, 0);
  ForEachClass(view, labels, [&](int64_t line, int64_t i, int64_t at) {
    const double share = labels.Share(line, i, at);
    if (share != 0) loss[line] -= share * log_softmax[at];
  });
  op.SetOutput("Softmax", Exponential(log_softmax));
  op.SetOutput("Loss", std::move(loss));
  return absl::OkStatus();
}

absl::Status SoftmaxWithCrossEntropyGradient(OpRun& op) {
  const Array& softmax = op.Input("Softmax");
  const Array& dloss = op.Input("Loss@GRAD");
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(softmax, op.Int("axis")));
  ASSIGN_OR_RETURN(const Labels labels, Labels::Of(op, view, op.Bool("soft_label")));
  RETURN_IF_ERROR(op.CheckSize("Loss@GRAD", view.outer * view.inner));
  Array dlogits(softmax.dtype, softmax.dims);
  ForEachClass(view, labels, [&](int64_t line, int64_t i, int64_t at) {
    dlogits[at] = (softmax[at] - labels.Share(line, i, at)) * dloss[line];
  });
  op.SetOutput("Logits@GRAD", std::move(dlogits));
  return absl::OkStatus();
}

double LossOf(double probability) {
  const double loss = -std::log(probability);
  return std::isinf(loss) && loss > 0 ? kInfiniteLoss : loss;
}

// A loss per row: X's dims with a last one of 1, without it where Label has none.
Array Losses(const OpRun& op) {
  const Array& x = op.Input("X");
  Dims dims = x.dims;
  dims.back() = 1;
  if (op.Input("Label").rank() == x.rank() - 1) dims.pop_back();
  return Array(x.dtype, dims);
}

absl::Status CrossEntropy(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(x, -1));
  ASSIGN_OR_RETURN(const Labels labels, Labels::Of(op, view, op.Bool("soft_label")));
  Array y = Losses(op);
  ForEachClass(view, labels, [&](int64_t line, int64_t i, int64_t at) {
    const double share = labels.Share(line, i, at);
    if (share != 0) y[line] += share * LossOf(x[at]);
  });
  op.SetOutput("Y", std::move(y));
  return absl::OkStatus();
}

absl::Status CrossEntropyGradient(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& dy = op.Input("Y@GRAD");
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(x, -1));
  ASSIGN_OR_RETURN(const Labels labels, Labels::Of(op, view, op.Bool("soft_label")));
  RETURN_IF_ERROR(op.CheckSize("Y@GRAD", view.outer));
  Array dx(x.dtype, x.dims);
  ForEachClass(view, labels, [&](int64_t line, int64_t i, int64_t at) {
    const double share = labels.Share(line, i, at);
    if (share != 0) dx[at] = -share * dy[line] / x[at];
  });
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// MatchX: the probability of each row's class. XShape: X's dims and a 0, without data.
absl::Status CrossEntropy2(OpRun& op) {
  const Array& x = op.Input("X");
  ASSIGN_OR_RETURN(const AxisView view, ViewOf(x, -1));
  ASSIGN_OR_RETURN(const Labels labels, Labels::Of(op, view, /*soft=*/false));
  Array y = Losses(op);
  Array match = y;
  for (int64_t row = 0; row < view.outer; ++row) {
    if (labels.IsIgnored(row)) continue;
    match[row] = x[view.At(row, labels.ClassOf(row), 0)];
    y[row] = LossOf(match[row]);
  }
  Dims x_shape = x.dims;
  x_shape.push_back(0);
  op.SetOutput("Y", std::move(y));
  op.SetOutput("MatchX", std::move(match));
  op.SetOutput("XShape", Array(x.dtype, x_shape));
  return absl::OkStatus();
}

absl::Status CrossEntropy2Gradient(OpRun& op) {
  const Array& match = op.Input("MatchX");
  const Array& dy = op.Input("Y@GRAD");
  Dims dims = op.Input("XShape").dims;
  if (dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("XShape is ", DimsText(dims), "; want X's dimensions and a 0"));
  }
  dims.pop_back();
  Array dx(match.dtype, dims);
  const AxisView view = ViewAround(dims, static_cast<int>(dims.size()) - 1);
  ASSIGN_OR_RETURN(const Labels labels, Labels::Of(op, view, /*soft=*/false));
  RETURN_IF_ERROR(op.CheckSize("MatchX", view.outer));
  RETURN_IF_ERROR(op.CheckSize("Y@GRAD", view.outer));
  for (int64_t row = 0; row < view.outer; ++row) {
    if (!labels.IsIgnored(row)) dx[view.At(row, labels.ClassOf(row), 0)] = -dy[row] / match[row];
  }
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

// max(x, 0) - x * label + log(1 + exp(-|x|)), element by element; 0 where the label is ignored.
absl::Status SigmoidCrossEntropy(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& label = op.Input("Label");
  RETURN_IF_ERROR(op.CheckDims("Label", x.dims));
  if (op.Bool("normalize") || (op.HasInputSlot("pos_weight") && op.FindInput("pos_weight"))) {
    return absl::UnimplementedError(
        "normalize is true, or input pos_weight is there; want the losses alone");
  }
  Array out(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (label[i] == op.Int("ignore_index")) continue;
    out[i] = std::max(x[i], 0.0) - x[i] * label[i] + std::log1p(std::exp(-std::fabs(x[i])));
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The share of rows one of whose Indices [N, k] is their Label [N, 1].
absl::Status Accuracy(OpRun& op) {
  const Array& indices = op.Input("Indices");
  const Array& label = op.Input("Label");
  RETURN_IF_ERROR(op.CheckRank("Indices", 2));
  const int64_t rows = indices.dims[0];
  RETURN_IF_ERROR(op.CheckSize("Label", rows));
  Array correct(VarType::INT32, op.ScalarDims());
  Array total(VarType::INT32, op.ScalarDims());
  Array accuracy(VarType::FP32, op.ScalarDims());
  for (int64_t row = 0; row < rows; ++row) {
    const auto first = indices.values.begin() + row * indices.dims[1];
    const auto last = first + indices.dims[1];
    correct[0] += std::find(first, last, label[row]) != last;
  }
  total[0] = rows;
  accuracy[0] = correct[0] / rows;
  op.SetOutput("Correct", std::move(correct));
  op.SetOutput("Total", std::move(total));
  op.SetOutput("Accuracy", std::move(accuracy));
  return absl::OkStatus();
}

}  // namespace

Array SoftmaxOf(const Array& x, const AxisView& view) { return Exponential(LogSoftmaxOf(x, view)); }

Kernels SoftmaxLossKernels() {
  return {
      {"softmax", Softmax},
      {"softmax_grad", SoftmaxGradient},
      {"log_softmax", LogSoftmax},
      {"softmax_with_cross_entropy", SoftmaxWithCrossEntropy},
      {"softmax_with_cross_entropy_grad", SoftmaxWithCrossEntropyGradient},
      {"cross_entropy", CrossEntropy},
      {"cross_entropy_grad", CrossEntropyGradient},
      {"cross_entropy2", CrossEntropy2},
      {"cross_entropy_grad2", CrossEntropy2Gradient},
      {"sigmoid_cross_entropy_with_logits", SigmoidCrossEntropy},
      {"accuracy", Accuracy},
  };
}

}  // namespace fixpoint::reference
