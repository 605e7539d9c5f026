#include "runtime/reference/kernels/recurrence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/code_range.h"
#include "ops/state_codes.h"

namespace fixpoint::reference {

double Gated(GateFunction function, double x) {
  switch (function) {
    case GateFunction::kIdentity:
      return x;
    case GateFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kRelu:
      return x > 0 || std::isnan(x) ? x : 0;
  }
  return x;
}

double SlopeAt(GateFunction function, double y) {
  switch (function) {
    case GateFunction::kIdentity:
      return 1;
    case GateFunction::kSigmoid:
      return y * (1 - y);
    case GateFunction::kTanh:
      return 1 - y * y;
    case GateFunction::kRelu:
      return y > 0 ? 1 : 0;
  }
  return 1;
}

double Clipped(double x, double bound) {
  return bound > 0 && x == x ? std::min(std::max(x, -bound), bound) : x;
}

bool IsAtBound(double clipped, double bound) { return bound > 0 && std::fabs(clipped) >= bound; }

Numbers WeightMatrix::AsMultiplied(const Numbers& x) const {
  if (state_bits == 0) return x;
  const int32_t largest = LargestCode(state_bits);
  Numbers rounded;
  for (const double state : x) {
    const auto number = static_cast<float>(state);
    rounded.push_back(is_of_codes ? StateCode(number, static_cast<float>(largest))
                                  : RoundedState(number, largest));
  }
  return rounded;
}

void WeightMatrix::AddProduct(const Numbers& x, double* sums) const {
  if (rows == 0) return;
  const Numbers multiplied = AsMultiplied(x);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) sums[j] += multiplied[i] * values[i * columns + j];
  }
}

void WeightMatrix::AddProductBack(const Numbers& x, const double* dsums, Numbers* dx) {
  if (rows == 0) return;
  const Numbers multiplied = AsMultiplied(x);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      (*dx)[i] += dsums[j] * values[i * columns + j];
      gradient[i * columns + j] += multiplied[i] * dsums[j];
    }
  }
}

CellStep LstmCell::Step(const double* x, const CellState& before) const {
  CellStep step;
  step.before = before;
  step.after = CellState(width());
  step.gates.assign(x, x + 4 * width());
  weight.AddProduct(before.hidden, step.gates.data());
  const auto& [gate, of_cell, of_candidate] = functions_;
  for (int64_t j = 0; j < width(); ++j) {
    const auto at = [&](int place) -> double& { return step.gates[place * width() + j]; };
    double& i = at(places_.input);
    double& f = at(places_.forget);
    double& n = at(places_.candidate);
    double& o = at(places_.output);
    if (!peepholes.empty()) {
      i += peepholes[j] * before.cell[j];
      f += peepholes[width() + j] * before.cell[j];
    }
    i = Gated(gate, i);
    f = Gated(gate, f);
    n = Gated(of_candidate, n);
    const double c = Clipped(f * before.cell[j] + i * n, clip);
    if (!peepholes.empty()) o += peepholes[2 * width() + j] * c;
    o = Gated(gate, o);
    step.after.cell[j] = c;
  }
  Show(&step);
  return step;
}

void LstmCell::Show(CellStep* step) const {
  for (int64_t j = 0; j < width(); ++j) {
    step->after.hidden[j] =
        step->gates[places_.output * width() + j] * Gated(functions_.cell, step->after.cell[j]);
  }
}

void LstmCell::StepBack(const CellStep& step, CellState* gradient, double* dx) {
  const auto& [gate, of_cell, of_candidate] = functions_;
  dpeepholes.resize(peepholes.size());
  for (int64_t j = 0; j < width(); ++j) {
    const auto at = [&](int place) { return step.gates[place * width() + j]; };
    const double i = at(places_.input);
    const double f = at(places_.forget);
    const double n = at(places_.candidate);
    const double o = at(places_.output);
    const double before = step.before.cell[j];
    const double after = step.after.cell[j];
    const double shown = Gated(of_cell, after);
    const double dh = gradient->hidden[j];
    const double d_o = dh * shown * SlopeAt(gate, o);
    double dc = gradient->cell[j] + dh * o * SlopeAt(of_cell, shown);
    if (!peepholes.empty()) dc += d_o * peepholes[2 * width() + j];
    if (IsAtBound(after, clip)) dc = 0;
    const double di = dc * n * SlopeAt(gate, i);
    const double df = dc * before * SlopeAt(gate, f);
    const double dn = dc * i * SlopeAt(of_candidate, n);
    double dbefore = dc * f;
    if (!peepholes.empty()) {
      dbefore += di * peepholes[j] + df * peepholes[width() + j];
      dpeepholes[j] += di * before;
      dpeepholes[width() + j] += df * before;
      dpeepholes[2 * width() + j] += d_o * after;
    }
    gradient->cell[j] = dbefore;
    gradient->hidden[j] = 0;
    dx[places_.input * width() + j] = di;
    dx[places_.forget * width() + j] = df;
    dx[places_.candidate * width() + j] = dn;
    dx[places_.output * width() + j] = d_o;
  }
  weight.AddProductBack(step.before.hidden, dx, &gradient->hidden);
}

CellStep GruCell::Step(const double* x, const CellState& before) const {
  CellStep step;
  step.before = before;
  step.after = CellState(width());
  step.gates.assign(x, x + 3 * width());
  step.inner.resize(width());
  of_gates.AddProduct(before.hidden, step.gates.data());
  for (int64_t j = 0; j < 2 * width(); ++j) step.gates[j] = Gated(gate_, step.gates[j]);
  for (int64_t j = 0; j < width(); ++j) step.inner[j] = step.gates[width() + j] * before.hidden[j];
  of_candidate.AddProduct(step.inner, step.gates.data() + 2 * width());
  for (int64_t j = 0; j < width(); ++j) {
    double& n = step.gates[2 * width() + j];
    n = Gated(candidate_, n);
    const double u = step.gates[j];
    const double of_before = is_origin_mode_ ? u : 1 - u;
    step.after.hidden[j] = of_before * before.hidden[j] + (1 - of_before) * n;
  }
  return step;
}

void GruCell::StepBack(const CellStep& step, CellState* gradient, double* dx) {
  Numbers dbefore(width());
  Numbers dinner(width());
  for (int64_t j = 0; j < width(); ++j) {
    const double u = step.gates[j];
    const double n = step.gates[2 * width() + j];
    const double dh = gradient->hidden[j];
    const double of_before = is_origin_mode_ ? u : 1 - u;
    const double difference = step.before.hidden[j] - n;
    dx[j] = dh * (is_origin_mode_ ? difference : -difference) * SlopeAt(gate_, u);
    dx[2 * width() + j] = dh * (1 - of_before) * SlopeAt(candidate_, n);
    dbefore[j] = dh * of_before;
  }
  of_candidate.AddProductBack(step.inner, dx + 2 * width(), &dinner);
  for (int64_t j = 0; j < width(); ++j) {
    const double r = step.gates[width() + j];
    dx[width() + j] = dinner[j] * step.before.hidden[j] * SlopeAt(gate_, r);
    dbefore[j] += dinner[j] * r;
  }
  of_gates.AddProductBack(step.before.hidden, dx, &dbefore);
  gradient->hidden = std::move(dbefore);
}

CellStep ResetAfterGruCell::Step(const double* x, const CellState& before) const {
  CellStep step;
  step.before = before;
  step.after = CellState(width());
  step.gates.assign(x, x + 3 * width());
  step.inner = bias;
  weight.AddProduct(before.hidden, step.inner.data());
  for (int64_t j = 0; j < 2 * width(); ++j) {
    step.gates[j] = Gated(GateFunction::kSigmoid, step.gates[j] + step.inner[j]);
  }
  for (int64_t j = 0; j < width(); ++j) {
    double& n = step.gates[2 * width() + j];
    n = std::tanh(n + step.gates[j] * step.inner[2 * width() + j]);
    const double z = step.gates[width() + j];
    step.after.hidden[j] = z * before.hidden[j] + (1 - z) * n;
  }
  return step;
}

void ResetAfterGruCell::StepBack(const CellStep& step, CellState* gradient, double* dx) {
  Numbers dproduct(3 * width());
  for (int64_t j = 0; j < width(); ++j) {
    const double r = step.gates[j];
    const double z = step.gates[width() + j];
    const double n = step.gates[2 * width() + j];
    const double dh = gradient->hidden[j];
    const double dn = dh * (1 - z) * SlopeAt(GateFunction::kTanh, n);
    dx[j] = dn * step.inner[2 * width() + j] * SlopeAt(GateFunction::kSigmoid, r);
    dx[width() + j] = dh * (step.before.hidden[j] - n) * SlopeAt(GateFunction::kSigmoid, z);
    dx[2 * width() + j] = dn;
    dproduct[j] = dx[j];
    dproduct[width() + j] = dx[width() + j];
    dproduct[2 * width() + j] = dn * r;
    gradient->hidden[j] = dh * z;
  }
  for (int64_t j = 0; j < 3 * width(); ++j) dbias[j] += dproduct[j];
  weight.AddProductBack(step.before.hidden, dproduct.data(), &gradient->hidden);
}

CellStep PlainCell::Step(const double* x, const CellState& before) const {
  CellStep step;
  step.before = before;
  step.after = CellState(width());
  step.gates.assign(x, x + width());
  weight.AddProduct(before.hidden, step.gates.data());
  for (int64_t j = 0; j < width(); ++j) {
    step.gates[j] = step.after.hidden[j] = Gated(function_, step.gates[j]);
  }
  return step;
}

void PlainCell::StepBack(const CellStep& step, CellState* gradient, double* dx) {
  for (int64_t j = 0; j < width(); ++j) {
    dx[j] = gradient->hidden[j] * SlopeAt(function_, step.gates[j]);
    gradient->hidden[j] = 0;
  }
  weight.AddProductBack(step.before.hidden, dx, &gradient->hidden);
}

}  // namespace fixpoint::reference
