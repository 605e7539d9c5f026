// One op by itself: what the interpreter computes for it from given tensors.

#ifndef FIXPOINT_RUNTIME_REFERENCE_LONE_OP_H_
#define FIXPOINT_RUNTIME_REFERENCE_LONE_OP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {

class LoneOp {
 public:
  // A copy of an op, whose variables are as the program declares them; no run keeps any. Error: the
  // op runs a block, or no program can have it.
  static absl::StatusOr<LoneOp> Of(const Program& program, const Op& op);

  // The tensors of the outputs that are named, in that order. Errors: those of
  // Interpreter::Create and Interpreter::Run.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Feed> inputs,
                                          absl::Span<const std::string> outputs) const;

 private:
  explicit LoneOp(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  std::shared_ptr<const Program> program_;
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_LONE_OP_H_
