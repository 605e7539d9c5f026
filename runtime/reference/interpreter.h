// The reference interpreter: runs a program op by op, forward and backward parts alike, with plain
// loops in double. It is the definition of what a program computes, which faster kernels are
// tested against, and a back end for whoever wants it to be slow and clear.

#ifndef FIXPOINT_RUNTIME_REFERENCE_INTERPRETER_H_
#define FIXPOINT_RUNTIME_REFERENCE_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/program.h"
#include "runtime/reference/frame.h"
#include "runtime/reference/kernels.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {

struct InterpreterOptions {
  Precision precision = Precision::kAsDeclared;
  // Of the numbers that ops draw whose own seed is 0. The same seed gives the same numbers in run
  // 1, 2, ... of every interpreter of the program.
  uint64_t seed = 0;
};

class Interpreter {
 public:
  // Looks up the kernels of all ops of all blocks. The program outlives the interpreter and is not
  // edited meanwhile. Errors: kUnimplemented: op types without a kernel, with the place of the
  // first op of each; or kInvalidArgument: an op is not as its type requires.
  static absl::StatusOr<Interpreter> Create(const Program& program,
                                            const InterpreterOptions& options = {});

  // Runs block 0 once, and the blocks that its ops run as often as they do, and gives the values of
  // the variables `fetches`. Variables that no op writes are read from the scope by their names:
  // what is fed, parameters, the state of optimizers and quantizers. Persistable variables that ops
  // write are written to the scope, all other values are gone afterwards. A feed op gives what the
  // scope holds for its output; a fetch op does nothing.
  //
  // Sparse gradients are dense tensors here. A loop whose condition stays true does not end.
  //
  // Errors name block and op; the scope is then as it was. kFailedPrecondition: an input or a fetch
  // has no value, or there is no memory; kInvalidArgument: values do not fit the op;
  // kUnimplemented: what its kernel cannot do.
  absl::StatusOr<std::vector<Tensor>> Run(Scope* scope, absl::Span<const std::string> fetches = {});

 private:
  struct Step {
    const Op* op;
    const OpSchema* schema;
    const Kernel* kernel;
  };
  class Execution;

  Interpreter(const Program& program, const InterpreterOptions& options);

  const Program* program_;
  InterpreterOptions options_;
  Era era_;
  std::vector<std::vector<Step>> steps_;  // of each block
  uint32_t runs_ = 0;
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_INTERPRETER_H_
