// The backends, by name.

#ifndef FIXPOINT_RUNTIME_BACKENDS_H_
#define FIXPOINT_RUNTIME_BACKENDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/backward_precision.h"
#include "runtime/loop_bound.h"
#include "runtime/scope.h"

namespace fixpoint {

enum class BackendKind {
  kOneDnn,     // planned kernels: runtime/executor/executor.h
  kReference,  // plain loops, slow and clear: runtime/reference/interpreter.h
};

inline constexpr BackendKind kDefaultBackend = BackendKind::kOneDnn;

// As users write them: "onednn", "reference".
absl::string_view BackendName(BackendKind kind);
std::vector<std::string> BackendNames();
// kNotFound: there is none of that name; the message lists those that exist.
absl::StatusOr<BackendKind> BackendOfName(absl::string_view name);

struct BackendOptions {
  // The seed of random ops whose own seed is 0.
  uint64_t seed = 0;
  // How many threads a run may use, 1 to kMostThreads (thread_count.h); the reference interpreter
  // uses one. The same number gives the same bits.
  int threads = 1;
  // What the gradients of convolutions and products multiply.
  BackwardPrecision backward = BackwardPrecision::kFloat;
  // The part of its expected time that a run may take longer, so that it needs less memory: the
  // executor computes values again instead of holding them, with the same bits. The reference
  // interpreter holds all.
  double recomputing = 0;
  // Whether a run checks every value that one of its ops writes, and ends with an error
  // (NotFiniteError) that names the first op with one that is not finite. The values are the same
  // as without the check; it may take longer. Feeds, and what ops read from the scope, are checked
  // too.
  bool check_finite = false;
  // How many iterations the loops (`while`) of one run may make, all together, before it ends with
  // an error.
  int64_t max_iterations = kDefaultMaxIterations;
  // Whether the time of each step is measured, for Backend::ProfileText.
  bool profile = false;
};

// Error (kFailedPrecondition): the backend, or the machine, has no backward pass in the precision.
absl::Status CheckBackward(BackendKind kind, BackwardPrecision precision);

// `program` and `scope` outlive the backend. Errors: kUnimplemented: the backend cannot run such a
// program, with the place of the first op of each type that it lacks; kInvalidArgument: an op does
// not have the form of its type, or the number of threads is invalid; that of CheckBackward.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(BackendKind kind, const Program& program,
                                                     Scope* scope,
                                                     const BackendOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_BACKENDS_H_
