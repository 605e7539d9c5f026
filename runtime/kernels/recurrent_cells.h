// What a cell of a recurrent network does with the sums of its gates: one step of many rows, there
// and back. The products with the state are somebody else's (recurrence.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_RECURRENT_CELLS_H_
#define FIXPOINT_RUNTIME_KERNELS_RECURRENT_CELLS_H_

#include <cstdint>

#include "ops/gate_function.h"

namespace fixpoint::kernels {

struct RecurrentCell {
  enum class Type {
    kLstm,           // c' = G(f) c + G(i) A(n), h' = G(o) C(c')
    kGru,            // n = A(x + (r h) W), h' = (1 - u) h + u n, or in origin mode u h + (1 - u) n
    kResetAfterGru,  // n = A(x + r (h W + b)), h' = z h + (1 - z) n
    kPlain,          // h' = A(x + h W)
  };
  // Where the gates of an LSTM are among the sums. Those of kGru are u, r, n; of kResetAfterGru r,
  // z, n.
  struct Places {
    int input = 0;
    int forget = 1;
    int candidate = 2;
    int output = 3;
  };
  Type type = Type::kLstm;
  int64_t width = 1;
  Places places = {};
  GateFunction gate = GateFunction::kSigmoid;
  GateFunction candidate = GateFunction::kTanh;
  GateFunction cell = GateFunction::kTanh;
  bool has_peepholes = false;
  bool is_origin_mode = false;

  int gates() const { return type == Type::kLstm ? 4 : type == Type::kPlain ? 1 : 3; }
  int64_t columns() const { return gates() * width; }
  bool has_cell() const { return type == Type::kLstm; }
  // Whether something besides gates and states is kept for the way back: r h, or h W + b of n.
  bool keeps_inner() const { return type == Type::kGru || type == Type::kResetAfterGru; }

  friend bool operator==(const RecurrentCell& a, const RecurrentCell& b) {
    return a.type == b.type && a.width == b.width && a.places.input == b.places.input &&
           a.places.forget == b.places.forget && a.places.candidate == b.places.candidate &&
           a.places.output == b.places.output && a.gate == b.gate && a.candidate == b.candidate &&
           a.cell == b.cell && a.has_peepholes == b.has_peepholes &&
           a.is_origin_mode == b.is_origin_mode;
  }
};

// One step of `rows` rows. Pointers are to the first row; what a cell does not have is null. A row
// whose sequence has ended, where `lengths` says how long it is, keeps its state.
struct CellStep {
  int64_t rows = 0;
  int64_t step = 0;                   // as lengths count
  const int64_t* lengths = nullptr;   // null: no row has ended
  const float* sums = nullptr;        // [rows, columns]: of the input
  const float* products = nullptr;    // [rows, columns]: h W
  const float* bias = nullptr;        // [columns]
  const float* inner_bias = nullptr;  // [width], of kResetAfterGru
  const float* peepholes = nullptr;   // [3, width]: of i, f and o
  float* hidden = nullptr;            // [rows, width]: h, then h'
  const float* cell_before = nullptr;
  float* gates = nullptr;   // [rows, columns], after their functions; may be `sums`
  float* states = nullptr;  // [rows, width]: a copy of h'
  float* cells = nullptr;   // [rows, width]: c'
  float* inner = nullptr;   // [rows, width]
  float* reset = nullptr;   // [rows, width], of kGru: a copy of r h, for the second product
};

void RunCell(const RecurrentCell& cell, const CellStep& step);
// Of kGru, before the product of r h, where `products` is [rows, 2 * width], of u and r; and after
// it, given that product, [rows, width].
void RunGruGates(const RecurrentCell& cell, const CellStep& step);
void RunGruState(const RecurrentCell& cell, const CellStep& step, const float* of_candidate);

// The way back of a step.
struct CellStepBack {
  int64_t rows = 0;
  int64_t step = 0;
  const int64_t* lengths = nullptr;
  const float* gates = nullptr;
  const float* cells = nullptr;
  const float* inner = nullptr;
  const float* peepholes = nullptr;
  const float* hidden_before = nullptr;
  const float* cell_before = nullptr;
  const float* dstates = nullptr;  // [rows, width]: what is added to the gradient of h'
  float* dhidden = nullptr;        // that of h', then its part of h's that is no product's
  float* dcell = nullptr;          // that of c', then of c
  float* dproducts = nullptr;      // [rows, columns]: of h W
  float* dsums = nullptr;          // [rows, columns]
  float* dpeepholes = nullptr;     // [rows, 3, width]: the terms of their gradient
};

void RunCellBack(const RecurrentCell& cell, const CellStepBack& step);
// Of kGru, before and after `dreset` [rows, width], the product of n's gradient with W^T. The first
// gives that gradient in `dproducts`, [rows, width], the second those of u and r, [rows, 2 *
// width].
void RunGruStateBack(const RecurrentCell& cell, const CellStepBack& step);
void RunGruGatesBack(const RecurrentCell& cell, const CellStepBack& step, const float* dreset);

// out = a + b, element by element; out may be either.
void AddUp(int64_t size, const float* a, const float* b, float* out);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RECURRENT_CELLS_H_
