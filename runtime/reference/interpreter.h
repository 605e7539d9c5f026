// The reference interpreter: runs a program op by op, forward and backward parts alike, with plain
// loops in double. It defines what a program computes; faster kernels are tested against it, and it
// is a backend for users who want clarity rather than speed.

#ifndef FIXPOINT_RUNTIME_REFERENCE_INTERPRETER_H_
#define FIXPOINT_RUNTIME_REFERENCE_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/loop_bound.h"
#include "runtime/reference/frame.h"
#include "runtime/reference/kernels.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {

struct InterpreterOptions {
  Precision precision = Precision::kAsDeclared;
  uint64_t seed = 0;  // the seed of random ops whose own seed is 0
  // As in BackendOptions (runtime/backends.h).
  bool check_finite = false;
  int64_t max_iterations = kDefaultMaxIterations;
};

class Interpreter final : public Backend {
 public:
  // Looks up the kernels of all ops of all blocks. The program and the scope outlive the
  // interpreter, and the program is not edited meanwhile. Errors: kUnimplemented: op types without
  // a kernel, with the place of the first op of each; or kInvalidArgument: an op does not have the
  // form of its type.
  static absl::StatusOr<Interpreter> Create(const Program& program, Scope* scope,
                                            const InterpreterOptions& options = {});

  // Sparse gradients are dense tensors here. After an error the scope is as it was. Nothing is
  // thrown.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Feed> feeds,
                                          absl::Span<const std::string> fetches,
                                          uint32_t step) override;

 private:
  struct Step {
    const Op* op;
    const OpSchema* schema;
    const Kernel* kernel;
    uint32_t number;  // among all of the program
  };
  class Execution;

  absl::StatusOr<std::vector<Tensor>> RunUnguarded(absl::Span<const Feed> feeds,
                                                   absl::Span<const std::string> fetches,
                                                   uint32_t step);
  Interpreter(const Program& program, Scope* scope, const InterpreterOptions& options);

  const Program* program_;
  Scope* scope_;
  InterpreterOptions options_;
  Era era_;
  std::vector<std::vector<Step>> steps_;  // of each block
  uint32_t op_count_ = 0;                 // of the program
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_INTERPRETER_H_
