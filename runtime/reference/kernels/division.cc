// Quotients that are integers, and what they leave.

#include <cmath>
#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

// Of the sign of y. A division of a number by 0 gives NaN.
double Remainder(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
double RoundedDown(double x, double y) { return std::floor(x / y); }
double RoundedTowardsZero(double x, double y) { return std::trunc(x / y); }

// Error: an integer is divided by 0.
absl::Status Divide(OpRun& op, double (*divide)(double x, double y)) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  ASSIGN_OR_RETURN(const Pairing pairing, Pair(x.dims, y.dims, op.Int("axis")));
  const bool are_integers = !IsFloatingPoint(x.dtype);
  for (const double divisor : y.values) {
    if (are_integers && divisor == 0) {
      return absl::InvalidArgumentError("Y has 0; want another integer");
    }
  }
  Array out(x.dtype, pairing.dims);
  ForEachPair(pairing,
              [&](int64_t i, int64_t x_i, int64_t y_i) { out[i] = divide(x[x_i], y[y_i]); });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels DivisionKernels() {
  return {{"elementwise_mod", [](OpRun& op) { return Divide(op, Remainder); }},
          {"elementwise_floordiv", [](OpRun& op) {
             return Divide(op, op.era() == Era::kPaddle2 ? RoundedDown : RoundedTowardsZero);
           }}};
}

}  // namespace fixpoint::reference
