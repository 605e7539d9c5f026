// What a transpile keeps true, checked after each one:
//
//   1. A gradient op's slot that belongs to a rewired forward slot reads the same value as that
//      forward slot; every other slot of a gradient op reads what it read before.
//   2. Every optimizer op reads and writes the float parameter it read and wrote before;
//      op_role_var is never edited.
//   3. A value has one quantizer for each way in which it is quantized; every reader that the plan
//      names reads its result, and no other op does. There are no other quantizers.
//   4. Every variable that a new op, or a rewired slot, names is declared, as a tensor; each new
//      persistable one is initialised exactly once in the startup program.
//   5. Every read of a new variable is reached by a write or is of a persistable; new ops belong to
//      the forward part, but for the quantizers of gradients.
//   6. An op or variable that the plan does not name is the same message as before, in the same
//      order; an op that it names differs in the named slots and in marks; new ops write only new
//      variables.
//   7. Where the scale of a value is trained, each gradient op of a reader writes what the
//      quantizer's gradient op reads, which writes what it wrote; and something updates the scale.
//
// Edits of a pass that the pipeline does not hold to the plan (pass.h) are exempt from 2, 5 and 6,
// and may read quantized values: train_scales too, for which 7 holds.

#ifndef FIXPOINT_TRANSPILER_TRAIN_INVARIANTS_H_
#define FIXPOINT_TRANSPILER_TRAIN_INVARIANTS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"
#include "transpiler/train/found_rewrite.h"

namespace fixpoint {

struct Violation {
  int invariant = 0;
  std::string message;
};

// Every violation by a program that a plan was applied to, by number. REQUIRES: the program still
// has its edits recorded. `startup` is the startup program after the transpile; `free_passes` are
// those that are not held to the plan. Linear in the program.
std::vector<Violation> CheckInvariants(const Program& program, const Plan& plan,
                                       const Program& startup,
                                       absl::Span<const std::string> free_passes = {});

// What can be checked without the edits, whoever quantized the program: invariants 1, 3 and 5; that
// no optimizer op reads or writes what quantizers make, and no op_role_var names it (2); and 4,
// which is about the startup program, if one is given.
std::vector<Violation> CheckInvariants(const Program& program, const FoundRewrite& rewrite,
                                       const Program* startup);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_INVARIANTS_H_
