// A weight by its largest singular value.

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// The weight as a matrix, and the vectors that its largest singular value belongs to.
struct Spectrum {
  AxisView view;  // the axis of rows
  std::vector<double> u;
  std::vector<double> v;
  double sigma = 0;

  int64_t rows() const { return static_cast<int64_t>(u.size()); }
  int64_t columns() const { return static_cast<int64_t>(v.size()); }
  // Where an element of the matrix is.
  int64_t At(int64_t row, int64_t column) const {
    return view.At(column / view.inner, row, column % view.inner);
  }
};

void Normalise(double epsilon, std::vector<double>* vector) {
  double sum = 0;
  for (const double x : *vector) sum += x * x;
  const double norm = std::sqrt(sum);
  for (double& x : *vector) x /= norm + epsilon;
}

absl::StatusOr<Spectrum> SpectrumOf(const OpRun& op) {
  const Array& weight = op.Input("Weight");
  const int64_t axis = op.Int("dim");
  const int64_t iterations = op.Int("power_iters");
  constexpr int64_t kMostIterations = 1 << 12;
  if (axis < 0 || axis >= weight.rank() || iterations < 0 || iterations > kMostIterations) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dim is ", axis, ", power_iters ", iterations, " and Weight ", DimsText(weight.dims),
        "; want an axis of it, and 0 to ", kMostIterations, " iterations"));
  }
  Spectrum spectrum;
  spectrum.view = ViewAround(weight.dims, static_cast<int>(axis));
  const int64_t rows = spectrum.view.size;
  const int64_t columns = spectrum.view.outer * spectrum.view.inner;
  RETURN_IF_ERROR(op.CheckSize("U", rows));
  RETURN_IF_ERROR(op.CheckSize("V", columns));
  spectrum.u = op.Input("U").values;
  spectrum.v = op.Input("V").values;
  const double epsilon = op.Float("eps");
  const auto multiply = [&](std::vector<double>* u, const std::vector<double>& v) {
    for (int64_t i = 0; i < rows; ++i) {
      (*u)[i] = 0;
      for (int64_t j = 0; j < columns; ++j) (*u)[i] += weight[spectrum.At(i, j)] * v[j];
    }
  };
  for (int64_t k = 0; k < iterations; ++k) {
    for (int64_t j = 0; j < columns; ++j) {
      spectrum.v[j] = 0;
      for (int64_t i = 0; i < rows; ++i) {
        spectrum.v[j] += weight[spectrum.At(i, j)] * spectrum.u[i];
      }
    }
    Normalise(epsilon, &spectrum.v);
    multiply(&spectrum.u, spectrum.v);
    Normalise(epsilon, &spectrum.u);
  }
  std::vector<double> product(rows);
  multiply(&product, spectrum.v);
  for (int64_t i = 0; i < rows; ++i) spectrum.sigma += spectrum.u[i] * product[i];
  return spectrum;
}

absl::Status SpectralNorm(OpRun& op) {
  ASSIGN_OR_RETURN(const Spectrum spectrum, SpectrumOf(op));
  Array out = op.Input("Weight");
  for (double& x : out.values) x /= spectrum.sigma;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Of sigma with the vectors as they are.
absl::Status SpectralNormGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Spectrum spectrum, SpectrumOf(op));
  const Array& weight = op.Input("Weight");
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", weight.dims));
  double sum = 0;
  for (int64_t i = 0; i < weight.size(); ++i) sum += dout[i] * weight[i];
  const double dsigma = -sum / (spectrum.sigma * spectrum.sigma);
  Array dweight(weight.dtype, weight.dims);
  for (int64_t i = 0; i < spectrum.rows(); ++i) {
    for (int64_t j = 0; j < spectrum.columns(); ++j) {
      const int64_t at = spectrum.At(i, j);
      dweight[at] = dout[at] / spectrum.sigma + dsigma * spectrum.u[i] * spectrum.v[j];
    }
  }
  op.SetOutput("Weight@GRAD", std::move(dweight));
  return absl::OkStatus();
}

}  // namespace

Kernels SpectralNormKernels() {
  return {{"spectral_norm", SpectralNorm}, {"spectral_norm_grad", SpectralNormGradient}};
}

}  // namespace fixpoint::reference
