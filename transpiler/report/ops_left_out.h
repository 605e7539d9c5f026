// The forward ops that no plan decides about, because none of their inputs can be quantized.

#ifndef FIXPOINT_TRANSPILER_REPORT_OPS_LEFT_OUT_H_
#define FIXPOINT_TRANSPILER_REPORT_OPS_LEFT_OUT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct OpsLeftOut {
  std::string op_type;
  int count = 0;
  bool has_weights = false;  // an input of one of them is a parameter
};

// By op type, for a program before it is transpiled.
std::vector<OpsLeftOut> FindOpsLeftOut(const Program& program);

// "3 ops of 2 types have no input that can be quantized: mean, prelu (its weights stay float)", a
// line; "" if there are none.
std::string OpsLeftOutText(absl::Span<const OpsLeftOut> types);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_OPS_LEFT_OUT_H_
