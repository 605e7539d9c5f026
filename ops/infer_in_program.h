// Inference of an op that is not in a program yet, by what the program declares.

#ifndef FIXPOINT_OPS_INFER_IN_PROGRAM_H_
#define FIXPOINT_OPS_INFER_IN_PROGRAM_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/infer.h"
#include "proto/program/program.h"

namespace fixpoint {

// Errors: those of InferOutputs (infer.h).
inline absl::StatusOr<std::vector<InferredOutput>> InferOutputs(const OpDesc& op, Era era,
                                                                const Program& program,
                                                                const Block& block) {
  return InferOutputs(op, era, [&](absl::string_view name) {
    const Variable* variable = program.Find(block, name);
    return variable == nullptr ? nullptr : variable->desc();
  });
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_INFER_IN_PROGRAM_H_
