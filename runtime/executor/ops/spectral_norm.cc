// A weight by its largest singular value.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// How a weight is a matrix, whose row i is made of blocks of `inner` elements.
struct Matrix {
  int64_t rows;
  int64_t blocks;
  int64_t inner;

  int64_t columns() const { return blocks * inner; }
  // Calls f(row, column, i) with each element i, in order.
  template <typename F>
  void ForEach(F f) const {
    int64_t i = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t k = 0; k < inner; ++k) f(row, block * inner + k, i++);
      }
    }
  }
};

struct Spectrum {
  std::vector<double> u;
  std::vector<double> v;
  double sigma = 0;
};

struct Reading {
  Matrix matrix;
  int64_t iterations;
  double epsilon;
  Buffer weight;
  Buffer u;
  Buffer v;

  Spectrum SpectrumIn(const StepContext& run) const;
};

void Normalise(double epsilon, std::vector<double>* vector) {
  double sum = 0;
  for (const double x : *vector) sum += x * x;
  const double norm = std::sqrt(sum) + epsilon;
  for (double& x : *vector) x /= norm;
}

Spectrum Reading::SpectrumIn(const StepContext& run) const {
  const absl::Span<const float> elements = run.Floats(weight);
  Spectrum spectrum;
  spectrum.u.assign(run.Floats(u).begin(), run.Floats(u).end());
  spectrum.v.assign(run.Floats(v).begin(), run.Floats(v).end());
  for (int64_t k = 0; k < iterations; ++k) {
    std::vector<double> next_v(spectrum.v.size());
    matrix.ForEach([&](int64_t row, int64_t column, int64_t i) {
      next_v[column] += elements[i] * spectrum.u[row];
    });
    Normalise(epsilon, &next_v);
    std::vector<double> next_u(spectrum.u.size());
    matrix.ForEach([&](int64_t row, int64_t column, int64_t i) {
      next_u[row] += elements[i] * next_v[column];
    });
    Normalise(epsilon, &next_u);
    spectrum.u = std::move(next_u);
    spectrum.v = std::move(next_v);
  }
  matrix.ForEach([&](int64_t row, int64_t column, int64_t i) {
    spectrum.sigma += spectrum.u[row] * elements[i] * spectrum.v[column];
  });
  return spectrum;
}

absl::StatusOr<Reading> Read(OpPlanner& op) {
  const Dims& dims = op.InputDims("Weight");
  const int64_t axis = op.attributes().Int("dim");
  Reading reading;
  reading.iterations = op.attributes().Int("power_iters");
  reading.epsilon = op.attributes().Float("eps");
  constexpr int64_t kMostIterations = 1 << 12;
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size()) || reading.iterations < 0 ||
      reading.iterations > kMostIterations) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dim is ", axis, ", power_iters ", reading.iterations, " and Weight ", DimsText(dims),
        "; want an axis of it, and 0 to ", kMostIterations, " iterations"));
  }
  reading.matrix = {dims[axis], 1, 1};
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    if (i < axis) reading.matrix.blocks *= dims[i];
    if (i > axis) reading.matrix.inner *= dims[i];
  }
  RETURN_IF_ERROR(op.CheckSize("U", reading.matrix.rows));
  RETURN_IF_ERROR(op.CheckSize("V", reading.matrix.columns()));
  ASSIGN_OR_RETURN(reading.weight, op.ReadFloats("Weight"));
  ASSIGN_OR_RETURN(reading.u, op.ReadFloats("U"));
  ASSIGN_OR_RETURN(reading.v, op.ReadFloats("V"));
  return reading;
}

absl::Status PlanSpectralNorm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, Read(op));
  const Buffer out = op.WriteAs("Out", op.InputType("Weight"));
  op.AddStep({{reading.weight, reading.u, reading.v}, {out}, [=](const StepContext& run) {
                const double sigma = reading.SpectrumIn(run).sigma;
                const absl::Span<const float> from = run.Floats(reading.weight);
                const absl::Span<float> to = run.Floats(out);
                for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i] / sigma);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Of sigma with the vectors as they are.
absl::Status PlanSpectralNormGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, Read(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims("Weight")));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dweight = op.WriteAs("Weight@GRAD", op.InputType("Weight"));
  op.AddStep({{reading.weight, reading.u, reading.v, dout}, {dweight}, [=](const StepContext& run) {
                const Spectrum spectrum = reading.SpectrumIn(run);
                const absl::Span<const float> elements = run.Floats(reading.weight);
                const absl::Span<const float> slopes = run.Floats(dout);
                const absl::Span<float> to = run.Floats(dweight);
                double sum = 0;
                for (size_t i = 0; i < to.size(); ++i) {
                  sum += static_cast<double>(slopes[i]) * elements[i];
                }
                const double dsigma = -sum / (spectrum.sigma * spectrum.sigma);
                reading.matrix.ForEach([&](int64_t row, int64_t column, int64_t i) {
                  to[i] = static_cast<float>(slopes[i] / spectrum.sigma +
                                             dsigma * spectrum.u[row] * spectrum.v[column]);
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans SpectralNormPlans() {
  return {{"spectral_norm", PlanSpectralNorm}, {"spectral_norm_grad", PlanSpectralNormGradient}};
}

}  // namespace fixpoint::executor
