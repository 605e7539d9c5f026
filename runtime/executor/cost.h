// The cost of the steps of a plan, known before they run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_COST_H_
#define FIXPOINT_RUNTIME_EXECUTOR_COST_H_

#include "runtime/backend.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/kernel_speeds.h"

namespace fixpoint::executor {

struct Cost {
  double operations = 0;     // multiplications and additions of products and convolutions
  double bytes = 0;          // the buffers that are read and written
  bool reads_codes = false;  // it computes on integers
  bool are_wide = false;     // of more than 8 bits
  // Of products of codes that are slower than those of floats: as a multiple of these.
  double beside_floats = 1;
};

// For a step that runs a block, as if that ran once.
Cost CostOf(const Plan& plan, const Step& step);

// In the steps of the plan and of the blocks that it runs.
CodedProducts CountCodedProducts(const Plan& plan);

// The bytes of all steps of a run.
double BytesMoved(const Plan& plan);

// What bounds a step's time.
enum class Bound { kOperations, kMemory, kCache, kStart };

struct ExpectedTime {
  double seconds = 0;
  Bound bound = Bound::kStart;
};

// The expected time: that of starting a step, plus the longer of the time for its operations, at
// the speed of a convolution that suits the kernels (products that are slower than those of floats,
// at their part of the speed of these), and the time for its bytes, at the speed of a copy (within
// the cache if they fit).
ExpectedTime Expect(const Cost& cost, const kernels::KernelSpeeds& speeds);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_COST_H_
