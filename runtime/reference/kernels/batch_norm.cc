// Batch normalization: each channel by the mean and variance of its elements, or by given ones.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// X seen as [outer, channels, inner].
absl::StatusOr<AxisView> ChannelView(const OpRun& op) {
  const Dims& dims = op.Input("X").dims;
  if (dims.empty()) {
    return absl::InvalidArgumentError("X is []; want 1 dimension or more");
  }
  const int rank = static_cast<int>(dims.size());
  const bool channels_last = IsChannelsLast(op.String("data_layout"));
  return ViewAround(dims, rank == 1 ? 0 : channels_last ? rank - 1 : 1);
}

// Calls f(i) with each element of channel c.
template <typename F>
void ForEachOfChannel(const AxisView& view, int64_t c, F f) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t k = 0; k < view.inner; ++k) f(view.At(o, c, k));
  }
}

// Whether X is normalized by the statistics of the batch.
bool UsesBatch(const OpRun& op) {
  if (op.Bool("use_global_stats")) return false;
  return !op.Bool("is_test") || op.Bool("trainable_statistics");
}

double At(const Array* vector, int64_t c, double absent) {
  return vector != nullptr ? (*vector)[c] : absent;
}

absl::Status CheckVectors(const OpRun& op, int64_t channels,
                          std::initializer_list<const char*> slots) {
  for (const char* slot : slots) RETURN_IF_ERROR(op.CheckSize(slot, channels));
  return absl::OkStatus();
}

// The momentum is that of the old mean and variance.
absl::Status BatchNorm(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ChannelView(op));
  RETURN_IF_ERROR(CheckVectors(op, view.size, {"Scale", "Bias", "Mean", "Variance"}));
  RETURN_IF_ERROR(op.CheckSize("MomentumTensor", 1));
  if (op.Bool("fuse_with_relu")) {
    return absl::UnimplementedError("fuse_with_relu is true; want false");
  }
  const Array& x = op.Input("X");
  const double epsilon = op.Float("epsilon");
  const double momentum = At(op.FindInput("MomentumTensor"), 0, op.Float("momentum"));
  const bool uses_batch = UsesBatch(op);
  const double count = static_cast<double>(view.outer * view.inner);

  Array y(x.dtype, x.dims);
  Array mean_out = op.Input("Mean");
  Array variance_out = op.Input("Variance");
  Array saved_mean(mean_out.dtype, mean_out.dims);
  Array saved_variance(mean_out.dtype, mean_out.dims);
  for (int64_t c = 0; c < view.size; ++c) {
    double mean = mean_out[c];
    double variance = variance_out[c];
    if (uses_batch) {
      mean = variance = 0;
      ForEachOfChannel(view, c, [&](int64_t i) { mean += x[i] / count; });
      ForEachOfChannel(view, c,
                       [&](int64_t i) { variance += (x[i] - mean) * (x[i] - mean) / count; });
      mean_out[c] = mean_out[c] * momentum + mean * (1 - momentum);
      variance_out[c] = variance_out[c] * momentum + variance * (1 - momentum);
    }
    // SavedVariance is what the gradient op multiplies by.
    saved_mean[c] = mean;
    saved_variance[c] = 1 / std::sqrt(variance + epsilon);
    const double scale = At(op.FindInput("Scale"), c, 1) * saved_variance[c];
    const double bias = At(op.FindInput("Bias"), c, 0);
    ForEachOfChannel(view, c, [&](int64_t i) { y[i] = (x[i] - mean) * scale + bias; });
  }
  op.SetOutput("Y", std::move(y));
  op.SetOutput("MeanOut", std::move(mean_out));
  op.SetOutput("VarianceOut", std::move(variance_out));
  op.SetOutput("SavedMean", std::move(saved_mean));
  op.SetOutput("SavedVariance", std::move(saved_variance));
  op.SetOutput("ReserveSpace", Array(x.dtype, Dims{0}));
  return absl::OkStatus();
}

// The statistics that the forward op used: the batch's own, saved; or given ones, which the
// gradient op reads again.
absl::StatusOr<bool> ReadStatistics(const OpRun& op, int64_t channels, std::vector<double>* mean,
                                    std::vector<double>* inverse_deviation) {
  if (UsesBatch(op)) {
    RETURN_IF_ERROR(CheckVectors(op, channels, {"SavedMean", "SavedVariance"}));
    *mean = op.Input("SavedMean").values;
    *inverse_deviation = op.Input("SavedVariance").values;
    return true;
  }
  if (op.FindInput("Mean") == nullptr || op.FindInput("Variance") == nullptr) {
    return absl::InvalidArgumentError(
        "inputs Mean and Variance are absent, and the statistics are not the batch's; want both");
  }
  RETURN_IF_ERROR(CheckVectors(op, channels, {"Mean", "Variance"}));
  *mean = op.FindInput("Mean")->values;
  for (const double variance : op.FindInput("Variance")->values) {
    inverse_deviation->push_back(1 / std::sqrt(variance + op.Float("epsilon")));
  }
  return false;
}

// With n = (x - mean) / deviation: dX = Scale / deviation * (dY - mean(dY) - n * mean(dY * n)),
// without the means where the statistics do not depend on X.
absl::Status BatchNormGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ChannelView(op));
  const Array& x = op.Input("X");
  const Array& dy = op.Input("Y@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", x.dims));
  RETURN_IF_ERROR(CheckVectors(op, view.size, {"Scale", "Bias"}));
  std::vector<double> mean;
  std::vector<double> inverse_deviation;
  ASSIGN_OR_RETURN(const bool uses_batch, ReadStatistics(op, view.size, &mean, &inverse_deviation));
  const double count = static_cast<double>(view.outer * view.inner);

  Array dx(x.dtype, x.dims);
  Array dscale(op.Input("SavedMean").dtype, Dims{view.size});
  Array dbias = dscale;
  for (int64_t c = 0; c < view.size; ++c) {
    const auto normalized = [&](int64_t i) { return (x[i] - mean[c]) * inverse_deviation[c]; };
    ForEachOfChannel(view, c, [&](int64_t i) {
      dscale[c] += dy[i] * normalized(i);
      dbias[c] += dy[i];
    });
    const double factor = At(op.FindInput("Scale"), c, 1) * inverse_deviation[c];
    ForEachOfChannel(view, c, [&](int64_t i) {
      const double through_statistics =
          uses_batch ? (dbias[c] + normalized(i) * dscale[c]) / count : 0;
      dx[i] = factor * (dy[i] - through_statistics);
    });
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Scale@GRAD", std::move(dscale));
  op.SetOutput("Bias@GRAD", std::move(dbias));
  return absl::OkStatus();
}

absl::Status FoldedBatchNorm(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ChannelView(op));
  const Array& x = op.Input("X");
  const Array& unfolded = op.Input("Unfolded");
  RETURN_IF_ERROR(op.CheckDims("Unfolded", x.dims));
  RETURN_IF_ERROR(CheckVectors(op, view.size, {"Deviation", "Scale", "Bias", "Mean", "Variance"}));
  const double momentum = op.Float("momentum");
  const bool is_test = op.Bool("is_test");
  const double count = static_cast<double>(view.outer * view.inner);

  Array y(x.dtype, x.dims);
  Array mean_out = op.Input("Mean");
  Array variance_out = op.Input("Variance");
  Array saved_mean = mean_out;
  Array saved_variance(mean_out.dtype, mean_out.dims);
  for (int64_t c = 0; c < view.size; ++c) {
    const double deviation = op.Input("Deviation")[c];
    double mean = mean_out[c];
    saved_variance[c] = 1 / deviation;
    if (!is_test) {
      double variance = mean = 0;
      ForEachOfChannel(view, c, [&](int64_t i) { mean += unfolded[i] / count; });
      ForEachOfChannel(view, c, [&](int64_t i) {
        variance += (unfolded[i] - mean) * (unfolded[i] - mean) / count;
      });
      mean_out[c] = mean_out[c] * momentum + mean * (1 - momentum);
      variance_out[c] = variance_out[c] * momentum + variance * (1 - momentum);
      saved_mean[c] = mean;
      saved_variance[c] = 1 / std::sqrt(variance + op.Float("epsilon"));
    }
    const double factor = is_test ? 1 : deviation * saved_variance[c];
    const double addend = op.Input("Bias")[c] - mean * op.Input("Scale")[c] * saved_variance[c];
    ForEachOfChannel(view, c, [&](int64_t i) { y[i] = x[i] * factor + addend; });
  }
  op.SetOutput("Y", std::move(y));
  op.SetOutput("MeanOut", std::move(mean_out));
  op.SetOutput("VarianceOut", std::move(variance_out));
  op.SetOutput("SavedMean", std::move(saved_mean));
  op.SetOutput("SavedVariance", std::move(saved_variance));
  return absl::OkStatus();
}

// With i = 1 / sqrt(variance + epsilon), Y = X * Deviation * i + Bias - mean * Scale * i. So, with
// sums over a channel, di = Deviation * sum(dY * X) - Scale * mean * sum(dY), and the gradient of
// Unfolded is that of its mean and, by i, of its variance. In test mode neither depends on it.
absl::Status FoldedBatchNormGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const AxisView view, ChannelView(op));
  const Array& x = op.Input("X");
  const Array& unfolded = op.Input("Unfolded");
  const Array& dy = op.Input("Y@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Unfolded", x.dims));
  RETURN_IF_ERROR(op.CheckDims("Y@GRAD", x.dims));
  RETURN_IF_ERROR(
      CheckVectors(op, view.size, {"Deviation", "Scale", "Mean", "SavedMean", "SavedVariance"}));
  const bool is_test = op.Bool("is_test");
  const double count = static_cast<double>(view.outer * view.inner);

  Array dx(x.dtype, x.dims);
  Array dunfolded(x.dtype, x.dims);
  Array dscale(op.Input("Scale").dtype, Dims{view.size});
  Array dbias = dscale;
  for (int64_t c = 0; c < view.size; ++c) {
    const double deviation = op.Input("Deviation")[c];
    const double scale = op.Input("Scale")[c];
    const double inverse = is_test ? 1 / deviation : op.Input("SavedVariance")[c];
    const double mean = op.Input(is_test ? "Mean" : "SavedMean")[c];
    double of_products = 0;
    ForEachOfChannel(view, c, [&](int64_t i) {
      dbias[c] += dy[i];
      of_products += dy[i] * x[i];
    });
    dscale[c] = -mean * inverse * dbias[c];
    const double of_inverse = deviation * of_products - scale * mean * dbias[c];
    const double of_mean = -scale * inverse * dbias[c];
    const double of_variance = -inverse * inverse * inverse / 2 * of_inverse;
    ForEachOfChannel(view, c, [&](int64_t i) {
      dx[i] = is_test ? dy[i] : dy[i] * deviation * inverse;
      const double centered = unfolded[i] - mean;
      dunfolded[i] = is_test ? 0 : (of_mean + 2 * of_variance * centered) / count;
    });
  }
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Unfolded@GRAD", std::move(dunfolded));
  op.SetOutput("Scale@GRAD", std::move(dscale));
  op.SetOutput("Bias@GRAD", std::move(dbias));
  return absl::OkStatus();
}

}  // namespace

Kernels BatchNormKernels() {
  return {{"batch_norm", BatchNorm},
          {"batch_norm_grad", BatchNormGradient},
          {"folded_batch_norm", FoldedBatchNorm},
          {"folded_batch_norm_grad", FoldedBatchNormGradient}};
}

}  // namespace fixpoint::reference
