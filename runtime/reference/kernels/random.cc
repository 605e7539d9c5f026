// Random tensors, dropout and dither. runtime/random.h defines the numbers; they are not the
// reference's.

#include "runtime/random.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"

namespace fixpoint::reference {
namespace {

// Fills a tensor of the op's shape and dtype with draw(i).
template <typename Draw>
absl::Status Fill(OpRun& op, Draw draw) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  ASSIGN_OR_RETURN(const Dims dims, ShapeOf(op));
  Array out(dtype, dims);
  for (int64_t i = 0; i < out.size(); ++i) out[i] = draw(i);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status UniformRandom(OpRun& op) {
  if (op.Int("diag_num") != 0) {
    return absl::UnimplementedError(
        absl::StrCat("diag_num is ", op.Int("diag_num"), "; want 0, no diagonal"));
  }
  const RandomStream random = op.Random(op.Int("seed"));
  const double min = op.Float("min");
  const double max = op.Float("max");
  return Fill(op, [&](int64_t i) { return min + (max - min) * random.Uniform(i); });
}

absl::Status GaussianRandom(OpRun& op) {
  const RandomStream random = op.Random(op.Int("seed"));
  const double mean = op.Float("mean");
  const double stddev = op.Float("std");
  return Fill(op, [&](int64_t i) { return mean + stddev * random.Normal(i); });
}

absl::Status TruncatedGaussianRandom(OpRun& op) {
  const RandomStream random = op.Random(op.Int("seed"));
  const double mean = op.Float("mean");
  const double stddev = op.Float("std");
  return Fill(op, [&](int64_t i) { return mean + stddev * random.TruncatedNormal(i); });
}

// dropout_implementation, with the share p that is dropped.
struct Dropout {
  double p;
  bool upscale_in_train;

  // Kept elements are multiplied by this in training; by the other in inference.
  double TrainFactor() const { return !upscale_in_train ? 1 : p < 1 ? 1 / (1 - p) : 0; }
  double TestFactor() const { return upscale_in_train ? 1 : 1 - p; }
};

absl::StatusOr<Dropout> DropoutOf(const OpRun& op) {
  const double p = op.Float("dropout_prob");
  if (!(p >= 0 && p <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("dropout_prob is ", p, "; want 0 to 1"));
  }
  const std::string implementation = op.String("dropout_implementation");
  if (implementation != "upscale_in_train" && implementation != "downgrade_in_infer") {
    return absl::InvalidArgumentError(
        absl::StrCat("dropout_implementation is \"", implementation,
                     "\"; want upscale_in_train or downgrade_in_infer"));
  }
  return Dropout{p, implementation == "upscale_in_train"};
}

// The seed counts if fix_seed is set, and the tensor Seed [1] always.
absl::StatusOr<int64_t> DropoutSeed(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("Seed", 1));
  if (const Array* seed = op.FindInput("Seed"); seed != nullptr) return ToInt((*seed)[0]);
  return op.Bool("fix_seed") ? op.Int("seed") : 0;
}

// Mask, UINT8: 1 where the element is kept. Element i is dropped where number i is below p.
absl::Status RunDropout(OpRun& op) {
  ASSIGN_OR_RETURN(const Dropout dropout, DropoutOf(op));
  Array out = op.Input("X");
  if (op.Bool("is_test")) {
    for (double& x : out.values) x *= dropout.TestFactor();
    op.SetOutput("Out", std::move(out));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t seed, DropoutSeed(op));
  const RandomStream random = op.Random(seed);
  Array mask(VarType::UINT8, out.dims);
  for (int64_t i = 0; i < out.size(); ++i) {
    mask[i] = random.Uniform(i) >= dropout.p;
    out[i] = mask[i] != 0 ? out[i] * dropout.TrainFactor() : 0;
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("Mask", std::move(mask));
  return absl::OkStatus();
}

// Out = X + u - 1/2, with element i's number i as u.
absl::Status Dither(OpRun& op) {
  const RandomStream random = op.Random(op.Int("seed"));
  Array out = op.Input("X");
  for (int64_t i = 0; i < out.size(); ++i) out[i] += random.Uniform(i) - 0.5;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status DropoutGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Dropout dropout, DropoutOf(op));
  Array dx = op.Input("Out@GRAD");
  if (op.Bool("is_test")) {
    for (double& d : dx.values) d *= dropout.TestFactor();
    op.SetOutput("X@GRAD", std::move(dx));
    return absl::OkStatus();
  }
  const Array& mask = op.Input("Mask");
  RETURN_IF_ERROR(op.CheckDims("Mask", dx.dims));
  for (int64_t i = 0; i < dx.size(); ++i) dx[i] *= mask[i] * dropout.TrainFactor();
  op.SetOutput("X@GRAD", std::move(dx));
  return absl::OkStatus();
}

}  // namespace

Kernels RandomKernels() {
  return {
      {"dither", Dither},
      {"uniform_random", UniformRandom},
      {"gaussian_random", GaussianRandom},
      {"truncated_gaussian_random", TruncatedGaussianRandom},
      {"dropout", RunDropout},
      {"dropout_grad", DropoutGradient},
  };
}

}  // namespace fixpoint::reference
