// An op beside what it was when it was written: only ops that quantize may stand between.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_WRITTEN_OPS_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_WRITTEN_OPS_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// What an op between floats and codes takes; null for any other op.
const Argument* QuantizedInput(const Op& op);

// What an op reads itself, in the order of Op::inputs: without what a block reads that it runs.
std::vector<const Argument*> ReadsOf(const Op& op);
std::vector<std::string> ReadsOf(const OpDesc& op);

// What differs from the op as it was written; "" if it reads the same variables, or what quantizers
// made of them.
std::string ChangeOf(const OpDesc& written, const Op& op, const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_WRITTEN_OPS_H_
