// The kernels of sums of codes as rows of a table, and which of them a problem is planned with.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUMS_KERNELS_H_
#define FIXPOINT_RUNTIME_KERNELS_SUMS_KERNELS_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/instruction_set.h"
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

// What decides how fast sums of codes are beside sums of floats: the fewer products a sum has, the
// more of the time goes to what is done once for each.
enum class SumsKind {
  kDepthwise,
  kFewProducts,   // fewer than 32
  kSomeProducts,  // fewer than 128
  kManyProducts,
};
inline constexpr int kSumsKinds = 4;

SumsKind KindOf(const SumsProblem& problem);

// As multiples of oneDNN's kernel of floats with as good instructions.
using RatesOfKinds = std::array<double, kSumsKinds>;
using RatesBesideFloats = std::array<RatesOfKinds, kProductSets>;

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
  RatesBesideFloats beside_floats;  // from the same benchmark
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
