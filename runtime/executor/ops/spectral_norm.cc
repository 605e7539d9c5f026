// A weight by its largest singular value.

#include "ops/spectral_norm.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// Calls f(row, column, i) with each element i, in order.
template <typename F>
void ForEach(const SpectralMatrix& matrix, F f) {
  int64_t i = 0;
  for (int64_t block = 0; block < matrix.blocks; ++block) {
    for (int64_t row = 0; row < matrix.rows; ++row) {
      for (int64_t k = 0; k < matrix.inner; ++k) f(row, block * matrix.inner + k, i++);
    }
  }
}

struct Spectrum {
  std::vector<double> u;
  std::vector<double> v;
  double sigma = 0;
};

struct Reading {
  SpectralMatrix matrix;
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
    ForEach(matrix, [&](int64_t row, int64_t column, int64_t i) {
      next_v[column] += elements[i] * spectrum.u[row];
    });
    Normalise(epsilon, &next_v);
    std::vector<double> next_u(spectrum.u.size());
    ForEach(matrix, [&](int64_t row, int64_t column, int64_t i) {
      next_u[row] += elements[i] * next_v[column];
    });
    Normalise(epsilon, &next_u);
    spectrum.u = std::move(next_u);
    spectrum.v = std::move(next_v);
  }
  ForEach(matrix, [&](int64_t row, int64_t column, int64_t i) {
    spectrum.sigma += spectrum.u[row] * elements[i] * spectrum.v[column];
  });
  return spectrum;
}

absl::StatusOr<Reading> Read(OpPlanner& op) {
  Reading reading;
  reading.iterations = op.attributes().Int("power_iters");
  RETURN_IF_ERROR(CheckPowerIterations(reading.iterations));
  reading.epsilon = op.attributes().Float("eps");
  ASSIGN_OR_RETURN(reading.matrix,
                   SpectralMatrix::Of(op.InputDims("Weight"), op.attributes().Int("dim")));
  RETURN_IF_ERROR(op.CheckSize("U", reading.matrix.rows));
  RETURN_IF_ERROR(op.CheckSize("V", reading.matrix.columns));
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
                ForEach(reading.matrix, [&](int64_t row, int64_t column, int64_t i) {
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
