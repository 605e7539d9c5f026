// The kernels of the interpreter: for each op type the function that computes one op, by family
// (kernels/*.cc); all_kernels.inc lists the families.
//
// A kernel is written to be read: plain loops in the order of the formula, sums in double. It
// checks the shapes that it relies on; what CheckForm (ops/op_form.h) checks about slots and
// attributes holds when it is called. It shares with the other kernels the rounding of
// ops/quant_math.h and the random numbers of runtime/random.h, and no other arithmetic.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// Computes the outputs. Error: which inputs or attributes are wrong, without naming the op.
using Kernel = std::function<absl::Status(OpRun& op)>;

struct KernelEntry {
  std::string type;
  Kernel kernel;
};
using Kernels = std::vector<KernelEntry>;

// Adds kernels of ops of a user's own (AddOpSchemas, ops/op_schema.h) to those of the families.
// REQUIRES: their types have schemas and no kernels, and no program has been run yet.
void AddKernels(Kernels kernels);

// Null for an op type without a kernel.
const Kernel* FindKernel(absl::string_view type);

// Every type that has one, in ascending order.
std::vector<std::string> TypesWithKernel();

// The families. A row of all_kernels.inc without its function does not link.
#define FIXPOINT_REFERENCE_KERNELS(family) Kernels family##Kernels();
#include "runtime/reference/all_kernels.inc"
#undef FIXPOINT_REFERENCE_KERNELS

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_H_
