// The kernels of sums of codes as rows of a table, and which of them a problem is planned with.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUMS_KERNELS_H_
#define FIXPOINT_RUNTIME_KERNELS_SUMS_KERNELS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// How a kernel adds the bias.
enum class BiasAddition {
  kNone,     // not at all
  kInteger,  // its sums begin at it
  kFloat,    // to sums that are floats by then, exactly where floats hold every sum
};

// Which stages a kernel has in its epilogue.
enum class EpilogueGrammar {
  kAnyStages,
  kNoRequantization,  // all stages but those that requantize
  kPostOps,           // as many as oneDNN takes, and none that requantizes
  kFoldedToCodes,     // those of folded_epilogue.h, where the output is codes
};

struct SumsKernel {
  const char* name;
  bool (*has_instructions)();
  bool takes_weight_zero_points;
  BiasAddition bias;
  EpilogueGrammar epilogue;
  bool (*fits)(const SumsProblem& problem);  // the shape
  // How fast it is where it fits, as a multiple of oneDNN without a bias: the geometric mean that
  // //benchmarks:sums_kernels_benchmark prints, on a Zen 4. The fastest of those that compute a
  // problem plans it.
  double rate;
  // Null, or dnnl::error (dnnl_unimplemented): oneDNN turns out to have none. REQUIRES: the problem
  // is as the other fields say. Throws std::bad_alloc.
  std::unique_ptr<IntegerSums> (*plan)(const SumsProblem& problem);
};

absl::Span<const SumsKernel> SumsKernels();

// The kernels that compute the problem on this machine, the fastest first.
std::vector<const SumsKernel*> KernelsFor(const SumsProblem& problem);

// Plans with the first of these that can be planned. `what` names the sums in errors: "a product".
// Errors: those of CheckSums; those of Planned (onednn.h).
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(const std::string& what,
                                                      const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUMS_KERNELS_H_
