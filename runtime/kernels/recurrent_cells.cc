#include "runtime/kernels/recurrent_cells.h"

#include <algorithm>

#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/vector_math.h"

namespace fixpoint::kernels {
namespace {

// In place.
inline void ApplyGate(GateFunction function, int64_t size, float* x) {
  switch (function) {
    case GateFunction::kIdentity:
      return;
    case GateFunction::kSigmoid:
      for (int64_t i = 0; i < size; ++i) x[i] = Sigmoid(x[i]);
      return;
    case GateFunction::kTanh:
      for (int64_t i = 0; i < size; ++i) x[i] = Tanh(x[i]);
      return;
    case GateFunction::kRelu:
      for (int64_t i = 0; i < size; ++i) x[i] = x[i] < 0.0f ? 0.0f : x[i];
      return;
  }
}

// d *= the derivative where the function is y.
inline void TimesSlope(GateFunction function, int64_t size, const float* y, float* d) {
  switch (function) {
    case GateFunction::kIdentity:
      return;
    case GateFunction::kSigmoid:
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) d[i] *= y[i] * (1.0f - y[i]);
      return;
    case GateFunction::kTanh:
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) d[i] *= 1.0f - y[i] * y[i];
      return;
    case GateFunction::kRelu:
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) d[i] = y[i] > 0.0f ? d[i] : 0.0f;
      return;
  }
}

inline bool HasEnded(const int64_t* lengths, int64_t row, int64_t step) {
  return lengths != nullptr && step >= lengths[row];
}

// gates = sums + (products + bias).
inline void AddSums(int64_t size, const float* sums, const float* products, const float* bias,
                    float* gates) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) gates[i] = sums[i] + (products[i] + bias[i]);
}

// a += b * c.
inline void AddTimes(int64_t size, const float* b, const float* c, float* a) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) a[i] += b[i] * c[i];
}

inline void Times(int64_t size, const float* b, const float* c, float* a) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) a[i] = b[i] * c[i];
}

inline void LstmRow(const RecurrentCell& cell, const CellStep& s, int64_t row) {
  const int64_t width = cell.width;
  float* const gates = s.gates + row * 4 * width;
  AddSums(4 * width, s.sums + row * 4 * width, s.products + row * 4 * width, s.bias, gates);
  float* const i = gates + cell.places.input * width;
  float* const f = gates + cell.places.forget * width;
  float* const n = gates + cell.places.candidate * width;
  float* const o = gates + cell.places.output * width;
  const float* const before = s.cell_before + row * width;
  float* const c = s.cells + row * width;
  float* const h = s.hidden + row * width;
  if (cell.has_peepholes) {
    AddTimes(width, s.peepholes, before, i);
    AddTimes(width, s.peepholes + width, before, f);
  }
  ApplyGate(cell.gate, width, i);
  ApplyGate(cell.gate, width, f);
  ApplyGate(cell.candidate, width, n);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) c[j] = f[j] * before[j] + i[j] * n[j];
  if (cell.has_peepholes) AddTimes(width, s.peepholes + 2 * width, c, o);
  ApplyGate(cell.gate, width, o);
  std::copy_n(c, width, h);
  ApplyGate(cell.cell, width, h);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) h[j] *= o[j];
}

inline void ResetAfterGruRow(const RecurrentCell& cell, const CellStep& s, int64_t row) {
  const int64_t width = cell.width;
  const float* const sums = s.sums + row * 3 * width;
  const float* const products = s.products + row * 3 * width;
  float* const gates = s.gates + row * 3 * width;
  float* const inner = s.inner + row * width;
  float* const h = s.hidden + row * width;
  AddSums(2 * width, sums, products, s.bias, gates);
  ApplyGate(cell.gate, 2 * width, gates);
  const float* const r = gates;
  const float* const z = gates + width;
  float* const n = gates + 2 * width;
  const float* const bias = s.bias + 2 * width;
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) inner[j] = products[2 * width + j] + s.inner_bias[j];
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) n[j] = sums[2 * width + j] + bias[j] + r[j] * inner[j];
  ApplyGate(cell.candidate, width, n);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) h[j] = z[j] * h[j] + (1.0f - z[j]) * n[j];
}

inline void PlainRow(const RecurrentCell& cell, const CellStep& s, int64_t row) {
  const int64_t width = cell.width;
  float* const gates = s.gates + row * width;
  AddSums(width, s.sums + row * width, s.products + row * width, s.bias, gates);
  ApplyGate(cell.candidate, width, gates);
  std::copy_n(gates, width, s.hidden + row * width);
}

inline void LstmRowBack(const RecurrentCell& cell, const CellStepBack& s, int64_t row) {
  const int64_t width = cell.width;
  const float* const gates = s.gates + row * 4 * width;
  const float* const i = gates + cell.places.input * width;
  const float* const f = gates + cell.places.forget * width;
  const float* const n = gates + cell.places.candidate * width;
  const float* const o = gates + cell.places.output * width;
  float* const d = s.dproducts + row * 4 * width;
  float* const di = d + cell.places.input * width;
  float* const df = d + cell.places.forget * width;
  float* const dn = d + cell.places.candidate * width;
  float* const d_o = d + cell.places.output * width;
  const float* const before = s.cell_before + row * width;
  const float* const after = s.cells + row * width;
  float* const dh = s.dhidden + row * width;
  float* const dc = s.dcell + row * width;
  // C(c') and the gradient that goes through it, in places that are written later.
  float* const shown = dn;
  float* const through = di;
  std::copy_n(after, width, shown);
  ApplyGate(cell.cell, width, shown);
  Times(width, dh, shown, d_o);
  Times(width, dh, o, through);
  TimesSlope(cell.cell, width, shown, through);
  TimesSlope(cell.gate, width, o, d_o);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) dc[j] += through[j];
  if (cell.has_peepholes) AddTimes(width, d_o, s.peepholes + 2 * width, dc);
  Times(width, dc, i, dn);
  Times(width, dc, n, di);
  Times(width, dc, before, df);
  TimesSlope(cell.candidate, width, n, dn);
  TimesSlope(cell.gate, width, i, di);
  TimesSlope(cell.gate, width, f, df);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) dc[j] *= f[j];
  if (cell.has_peepholes) {
    AddTimes(width, di, s.peepholes, dc);
    AddTimes(width, df, s.peepholes + width, dc);
    float* const dpeepholes = s.dpeepholes + row * 3 * width;
    Times(width, di, before, dpeepholes);
    Times(width, df, before, dpeepholes + width);
    Times(width, d_o, after, dpeepholes + 2 * width);
  }
  std::fill_n(dh, width, 0.0f);
  std::copy_n(d, 4 * width, s.dsums + row * 4 * width);
}

inline void ResetAfterGruRowBack(const RecurrentCell& cell, const CellStepBack& s, int64_t row) {
  const int64_t width = cell.width;
  const float* const r = s.gates + row * 3 * width;
  const float* const z = r + width;
  const float* const n = z + width;
  const float* const inner = s.inner + row * width;
  const float* const before = s.hidden_before + row * width;
  float* const dh = s.dhidden + row * width;
  float* const dr = s.dsums + row * 3 * width;
  float* const dz = dr + width;
  float* const dn = dz + width;
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) dn[j] = dh[j] * (1.0f - z[j]);
  TimesSlope(cell.candidate, width, n, dn);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) dz[j] = dh[j] * (before[j] - n[j]);
  Times(width, dn, inner, dr);
  TimesSlope(cell.gate, width, r, dr);
  TimesSlope(cell.gate, width, z, dz);
  float* const dproducts = s.dproducts + row * 3 * width;
  std::copy_n(dr, 2 * width, dproducts);
  Times(width, dn, r, dproducts + 2 * width);
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) dh[j] *= z[j];
}

inline void PlainRowBack(const RecurrentCell& cell, const CellStepBack& s, int64_t row) {
  const int64_t width = cell.width;
  float* const dh = s.dhidden + row * width;
  float* const d = s.dproducts + row * width;
  std::copy_n(dh, width, d);
  TimesSlope(cell.candidate, width, s.gates + row * width, d);
  std::copy_n(d, width, s.dsums + row * width);
  std::fill_n(dh, width, 0.0f);
}

// Adds the gradient of the output to that of the state. Returns false for a row that has ended,
// whose gates then have no gradient.
inline bool BeginRowBack(const RecurrentCell& cell, const CellStepBack& s, int64_t row) {
  if (HasEnded(s.lengths, row, s.step)) {
    std::fill_n(s.dproducts + row * cell.columns(), cell.columns(), 0.0f);
    std::fill_n(s.dsums + row * cell.columns(), cell.columns(), 0.0f);
    return false;
  }
  const float* const from = s.dstates + row * cell.width;
  float* const dh = s.dhidden + row * cell.width;
#pragma GCC ivdep
  for (int64_t j = 0; j < cell.width; ++j) dh[j] += from[j];
  return true;
}

// The bytes of a row, several times its floats, because of exp.
int64_t BytesOfRow(const RecurrentCell& cell) { return 64 * cell.columns(); }

}  // namespace

void RunCell(const RecurrentCell& cell, const CellStep& step) {
  ParallelFor(step.rows, BytesOfRow(cell), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * cell.width;
      if (HasEnded(step.lengths, row, step.step)) {
        std::fill_n(step.gates + row * cell.columns(), cell.columns(), 0.0f);
        if (step.cells != nullptr) std::copy_n(step.cell_before + at, cell.width, step.cells + at);
        if (step.inner != nullptr) std::fill_n(step.inner + at, cell.width, 0.0f);
      } else if (cell.type == RecurrentCell::Type::kLstm) {
        LstmRow(cell, step, row);
      } else if (cell.type == RecurrentCell::Type::kResetAfterGru) {
        ResetAfterGruRow(cell, step, row);
      } else {
        PlainRow(cell, step, row);
      }
      std::copy_n(step.hidden + at, cell.width, step.states + at);
    }
  });
}

void RunGruGates(const RecurrentCell& cell, const CellStep& step) {
  ParallelFor(step.rows, BytesOfRow(cell), [=](int64_t begin, int64_t end) {
    const int64_t width = cell.width;
    for (int64_t row = begin; row < end; ++row) {
      float* const gates = step.gates + row * 3 * width;
      AddSums(2 * width, step.sums + row * 3 * width, step.products + row * 2 * width, step.bias,
              gates);
      ApplyGate(cell.gate, 2 * width, gates);
      float* const reset = step.reset + row * width;
      Times(width, gates + width, step.hidden + row * width, reset);
      std::copy_n(reset, width, step.inner + row * width);
    }
  });
}

void RunGruState(const RecurrentCell& cell, const CellStep& step, const float* of_candidate) {
  ParallelFor(step.rows, BytesOfRow(cell), [=](int64_t begin, int64_t end) {
    const int64_t width = cell.width;
    for (int64_t row = begin; row < end; ++row) {
      const float* const u = step.gates + row * 3 * width;
      float* const n = step.gates + row * 3 * width + 2 * width;
      float* const h = step.hidden + row * width;
      AddSums(width, step.sums + row * 3 * width + 2 * width, of_candidate + row * width,
              step.bias + 2 * width, n);
      ApplyGate(cell.candidate, width, n);
      if (cell.is_origin_mode) {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) h[j] = u[j] * h[j] + (1.0f - u[j]) * n[j];
      } else {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) h[j] = (1.0f - u[j]) * h[j] + u[j] * n[j];
      }
      std::copy_n(h, width, step.states + row * width);
    }
  });
}

void RunCellBack(const RecurrentCell& cell, const CellStepBack& step) {
  ParallelFor(step.rows, BytesOfRow(cell), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (!BeginRowBack(cell, step, row)) continue;
      if (cell.type == RecurrentCell::Type::kLstm) {
        LstmRowBack(cell, step, row);
      } else if (cell.type == RecurrentCell::Type::kResetAfterGru) {
        ResetAfterGruRowBack(cell, step, row);
      } else {
        PlainRowBack(cell, step, row);
      }
    }
  });
}

void RunGruStateBack(const RecurrentCell& cell, const CellStepBack& step) {
  ParallelFor(step.rows, BytesOfRow(cell), [=](int64_t begin, int64_t end) {
    const int64_t width = cell.width;
    for (int64_t row = begin; row < end; ++row) {
      BeginRowBack(cell, step, row);
      const float* const u = step.gates + row * 3 * width;
      const float* const n = u + 2 * width;
      const float* const h = step.hidden_before + row * width;
      float* const dh = step.dhidden + row * width;
      float* const du = step.dsums + row * 3 * width;
      float* const dn = du + 2 * width;
      if (cell.is_origin_mode) {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) {
          du[j] = dh[j] * (h[j] - n[j]);
          dn[j] = dh[j] * (1.0f - u[j]);
          dh[j] *= u[j];
        }
      } else {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) {
          du[j] = dh[j] * (n[j] - h[j]);
          dn[j] = dh[j] * u[j];
          dh[j] *= 1.0f - u[j];
        }
      }
      TimesSlope(cell.gate, width, u, du);
      TimesSlope(cell.candidate, width, n, dn);
      std::copy_n(dn, width, step.dproducts + row * width);
    }
  });
}

void RunGruGatesBack(const RecurrentCell& cell, const CellStepBack& step, const float* dreset) {
  ParallelFor(step.rows, BytesOfRow(cell), [=](int64_t begin, int64_t end) {
    const int64_t width = cell.width;
    for (int64_t row = begin; row < end; ++row) {
      const float* const r = step.gates + row * 3 * width + width;
      const float* const h = step.hidden_before + row * width;
      const float* const d = dreset + row * width;
      float* const dsums = step.dsums + row * 3 * width;
      Times(width, d, h, dsums + width);
      TimesSlope(cell.gate, width, r, dsums + width);
      AddTimes(width, d, r, step.dhidden + row * width);
      std::copy_n(dsums, 2 * width, step.dproducts + row * 2 * width);
    }
  });
}

void AddUp(int64_t size, const float* a, const float* b, float* out) {
  ParallelFor(size, 12, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
  });
}

}  // namespace fixpoint::kernels
