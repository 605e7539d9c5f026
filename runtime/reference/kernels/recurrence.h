// Cells of recurrent networks, and walks of them along the rows of a sequence, there and back.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_RECURRENCE_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_RECURRENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "ops/gate_function.h"

namespace fixpoint::reference {

using Numbers = std::vector<double>;

double Gated(GateFunction function, double x);
// The derivative where the function is y.
double SlopeAt(GateFunction function, double y);

// A matrix of weights, and the gradient that comes together while a cell walks back.
struct WeightMatrix {
  WeightMatrix(int64_t row_count, int64_t column_count)
      : rows(row_count),
        columns(column_count),
        values(row_count * column_count),
        gradient(row_count * column_count) {}

  // sums += x * values, with as many sums as columns.
  void AddProduct(const Numbers& x, double* sums) const;
  // dx += dsums * values^T, and gradient += x^T * dsums.
  void AddProductBack(const Numbers& x, const double* dsums, Numbers* dx);

  int64_t rows;
  int64_t columns;
  Numbers values;
  Numbers gradient;
  // The bits of the codes to which x is rounded (ops/state_codes.h), 0: it is not; and whether it
  // is the codes that are multiplied, whose step is in `values`.
  int state_bits = 0;
  bool is_of_codes = false;

 private:
  Numbers AsMultiplied(const Numbers& x) const;
};

// What a cell hands from step to step, or its gradient; cells without a `cell` leave it alone.
struct CellState {
  CellState() = default;
  explicit CellState(int64_t width) : hidden(width), cell(width) {}

  Numbers hidden;
  Numbers cell;
};

// A step, for the way back.
struct CellStep {
  CellState before;
  CellState after;
  Numbers gates;  // after their functions
  Numbers inner;  // what a GRU multiplies by its reset gate, or has multiplied by it
};

class Cell {
 public:
  explicit Cell(int64_t width) : width_(width) {}
  virtual ~Cell() = default;

  virtual int gates() const = 0;
  // `x`: the projections of the gates.
  virtual CellStep Step(const double* x, const CellState& before) const = 0;
  // `gradient` is that of the state after the step, then that of the state before it.
  virtual void StepBack(const CellStep& step, CellState* gradient, double* dx) = 0;

 protected:
  int64_t width() const { return width_; }

 private:
  int64_t width_;
};

// A number within a bound, if that is above 0. A NaN stays.
double Clipped(double x, double bound);
// Whether what was clipped is at the bound, so that it has no gradient.
bool IsAtBound(double clipped, double bound);

// g = x + h W. i += w_i c, f += w_f c; c' = G(f) c + G(i) A(n); o += w_o c'; h' = G(o) C(c').
class LstmCell final : public Cell {
 public:
  // The places of the gates among the projections.
  struct Places {
    int input;
    int forget;
    int candidate;
    int output;
  };
  struct Functions {
    GateFunction gate = GateFunction::kSigmoid;
    GateFunction cell = GateFunction::kTanh;
    GateFunction candidate = GateFunction::kTanh;
  };
  LstmCell(int64_t width, Places places, Functions functions)
      : Cell(width), places_(places), functions_(functions) {}

  int gates() const override { return 4; }
  CellStep Step(const double* x, const CellState& before) const override;
  void StepBack(const CellStep& step, CellState* gradient, double* dx) override;
  // Finds the hidden state after a step from its gates and the cell.
  void Show(CellStep* step) const;

  WeightMatrix weight{0, 0};  // without numbers: there is no product
  Numbers peepholes;          // w_i, w_f and w_o, or empty
  Numbers dpeepholes;
  double clip = 0;  // a bound of c', if above 0

 private:
  const Places places_;
  const Functions functions_;
};

// u = G(x + h W), r = G(x + h W), n = A(x + (r h) W), and h' = (1 - u) h + u n; in origin mode
// u h + (1 - u) n.
class GruCell final : public Cell {
 public:
  GruCell(int64_t width, GateFunction gate, GateFunction candidate, bool is_origin_mode)
      : Cell(width),
        of_gates(width, 2 * width),
        of_candidate(width, width),
        gate_(gate),
        candidate_(candidate),
        is_origin_mode_(is_origin_mode) {}

  int gates() const override { return 3; }
  CellStep Step(const double* x, const CellState& before) const override;
  void StepBack(const CellStep& step, CellState* gradient, double* dx) override;

  WeightMatrix of_gates;
  WeightMatrix of_candidate;

 private:
  const GateFunction gate_;
  const GateFunction candidate_;
  const bool is_origin_mode_;
};

// p = h W + b; r = sigmoid(x + p), z = sigmoid(x + p), n = tanh(x + r p), and h' = z h + (1 - z) n.
class ResetAfterGruCell final : public Cell {
 public:
  explicit ResetAfterGruCell(int64_t width)
      : Cell(width), weight(width, 3 * width), bias(3 * width), dbias(3 * width) {}

  int gates() const override { return 3; }
  CellStep Step(const double* x, const CellState& before) const override;
  void StepBack(const CellStep& step, CellState* gradient, double* dx) override;

  WeightMatrix weight;
  Numbers bias;
  Numbers dbias;
};

// h' = A(x + h W).
class PlainCell final : public Cell {
 public:
  PlainCell(int64_t width, GateFunction function)
      : Cell(width), weight(width, width), function_(function) {}

  int gates() const override { return 1; }
  CellStep Step(const double* x, const CellState& before) const override;
  void StepBack(const CellStep& step, CellState* gradient, double* dx) override;

  WeightMatrix weight;

 private:
  const GateFunction function_;
};

// Steps with the rows of x on a path, one after the other. `state` is the one before, then the one
// after them.
inline std::vector<CellStep> Walk(const Cell& cell, const Numbers& x, int64_t columns,
                                  absl::Span<const int64_t> path, CellState* state) {
  std::vector<CellStep> steps;
  for (const int64_t row : path) {
    steps.push_back(cell.Step(x.data() + row * columns, *state));
    *state = steps.back().after;
  }
  return steps;
}

// The way back. `gradient` is that of the state after all steps, then that of the one before them;
// `add_gradient(row, &dhidden)` adds that of the hidden state at a row. dx is like x.
template <typename AddGradient>
void WalkBack(Cell& cell, const std::vector<CellStep>& steps, absl::Span<const int64_t> path,
              AddGradient add_gradient, CellState* gradient, Numbers* dx, int64_t columns) {
  for (size_t i = path.size(); i-- > 0;) {
    add_gradient(path[i], &gradient->hidden);
    cell.StepBack(steps[i], gradient, dx->data() + path[i] * columns);
  }
}

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_RECURRENCE_H_
