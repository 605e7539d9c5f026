// The cost of a run of a planned program, added up.

#ifndef FIXPOINT_TOOLS_FORM_COST_H_
#define FIXPOINT_TOOLS_FORM_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/executor/cost.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/kernel_speeds.h"

namespace fixpoint {

// The steps of one name and kernel.
struct StepsCost {
  std::string name;  // "conv2d + relu <brgconv:avx512_core>"
  int count = 0;
  double multiply_adds = 0;
  double bytes = 0;
  double seconds = 0;                               // expected
  executor::Bound bound = executor::Bound::kStart;  // that of the longest step
};

struct FormCost {
  double constant_bytes = 0;    // computed once from parameters
  double activation_bytes = 0;  // the peak that values take
  double multiply_adds = 0;
  double integer_multiply_adds = 0;
  double bytes = 0;
  double seconds = 0;  // expected
  double integer_seconds = 0;
  CodedProducts products;
  bool runs_blocks = false;      // their steps are counted once
  std::vector<StepsCost> steps;  // the longest first
};

FormCost CostOf(const executor::Plan& plan, const kernels::KernelSpeeds& speeds);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_FORM_COST_H_
