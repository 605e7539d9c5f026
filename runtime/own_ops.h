// Ops of a user's own, which the tools then know as they know the built-in ones (docs/plugins.md).

#ifndef FIXPOINT_RUNTIME_OWN_OPS_H_
#define FIXPOINT_RUNTIME_OWN_OPS_H_

#include <vector>

#include "absl/status/status.h"
#include "ops/op_schema.h"
#include "runtime/executor/op_plans.h"
#include "runtime/reference/kernels.h"

namespace fixpoint {

struct OwnOps {
  std::vector<OpSchema> schemas;  // OpList::Build (ops/op_schema_builder.h), gradient ops included
  executor::OpPlans plans;        // how the executor runs them
  reference::Kernels kernels;     // how the interpreter runs them
};

// Adds ops to those that there are. Nothing is added on an error (kInvalidArgument): the type of a
// schema is taken, be it by another of these; a plan or a kernel is of no type of these schemas, or
// the second one of its type. REQUIRES: no program was looked at yet, and no other thread is.
absl::Status AddOwnOps(OwnOps ops);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_OWN_OPS_H_
