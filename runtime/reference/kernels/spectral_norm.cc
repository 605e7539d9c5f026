// A weight by its largest singular value.

#include "ops/spectral_norm.h"

#include <cmath>
#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// The weight as a matrix, and the vectors that its largest singular value belongs to.
struct Spectrum {
  SpectralMatrix matrix;
  std::vector<double> u;
  std::vector<double> v;
  double sigma = 0;
};

void Normalise(double epsilon, std::vector<double>* vector) {
  double sum = 0;
  for (const double x : *vector) sum += x * x;
  const double norm = std::sqrt(sum);
  for (double& x : *vector) x /= norm + epsilon;
}

absl::StatusOr<Spectrum> SpectrumOf(const OpRun& op) {
  const Array& weight = op.Input("Weight");
  const int64_t iterations = op.Int("power_iters");
  RETURN_IF_ERROR(CheckPowerIterations(iterations));
  Spectrum spectrum;
  ASSIGN_OR_RETURN(spectrum.matrix, SpectralMatrix::Of(weight.dims, op.Int("dim")));
  const int64_t rows = spectrum.matrix.rows;
  const int64_t columns = spectrum.matrix.columns;
  RETURN_IF_ERROR(op.CheckSize("U", rows));
  RETURN_IF_ERROR(op.CheckSize("V", columns));
  spectrum.u = op.Input("U").values;
  spectrum.v = op.Input("V").values;
  const double epsilon = op.Float("eps");
  const auto multiply = [&](std::vector<double>* u, const std::vector<double>& v) {
    for (int64_t i = 0; i < rows; ++i) {
      (*u)[i] = 0;
      for (int64_t j = 0; j < columns; ++j) (*u)[i] += weight[spectrum.matrix.At(i, j)] * v[j];
    }
  };
  for (int64_t k = 0; k < iterations; ++k) {
    for (int64_t j = 0; j < columns; ++j) {
      spectrum.v[j] = 0;
      for (int64_t i = 0; i < rows; ++i) {
        spectrum.v[j] += weight[spectrum.matrix.At(i, j)] * spectrum.u[i];
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
  for (int64_t i = 0; i < spectrum.matrix.rows; ++i) {
    for (int64_t j = 0; j < spectrum.matrix.columns; ++j) {
      const int64_t at = spectrum.matrix.At(i, j);
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
