#include "runtime/backends.h"

#include <glog/logging.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/executor.h"
#include "runtime/reference/interpreter.h"
#include "runtime/thread_count.h"

namespace fixpoint {
namespace {

struct NamedKind {
  BackendKind kind;
  absl::string_view name;
};

constexpr NamedKind kKinds[] = {{BackendKind::kOneDnn, "onednn"},
                                {BackendKind::kReference, "reference"}};

absl::StatusOr<std::unique_ptr<Backend>> MakeExecutor(const Program& program, Scope* scope,
                                                      const BackendOptions& options) {
  executor::ExecutorOptions of_executor;
  of_executor.seed = options.seed;
  of_executor.threads = options.threads;
  of_executor.backward = options.backward;
  of_executor.recomputing = options.recomputing;
  of_executor.check_finite = options.check_finite;
  of_executor.max_iterations = options.max_iterations;
  of_executor.profile = options.profile;
  return executor::Executor::Create(program, scope, of_executor);
}

absl::StatusOr<std::unique_ptr<Backend>> MakeInterpreter(const Program& program, Scope* scope,
                                                         const BackendOptions& options) {
  reference::InterpreterOptions of_interpreter;
  of_interpreter.seed = options.seed;
  of_interpreter.check_finite = options.check_finite;
  of_interpreter.max_iterations = options.max_iterations;
  ASSIGN_OR_RETURN(reference::Interpreter interpreter,
                   reference::Interpreter::Create(program, scope, of_interpreter));
  return std::make_unique<reference::Interpreter>(std::move(interpreter));
}

}  // namespace

absl::string_view BackendName(BackendKind kind) {
  for (const NamedKind& known : kKinds) {
    if (known.kind == kind) return known.name;
  }
  LOG(FATAL) << "a backend without a name";
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const NamedKind& known : kKinds) names.emplace_back(known.name);
  return names;
}

absl::StatusOr<BackendKind> BackendOfName(absl::string_view name) {
  for (const NamedKind& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  return absl::NotFoundError(absl::StrCat("no backend is called \"", name, "\"; there are ",
                                          absl::StrJoin(BackendNames(), ", ")));
}

absl::Status CheckBackward(BackendKind kind, BackwardPrecision precision) {
  if (kind == BackendKind::kOneDnn) return executor::CheckBackward(precision);
  if (precision == BackwardPrecision::kFloat) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the backend ", BackendName(kind), " has no backward pass in ",
      BackwardPrecisionName(precision), "; want ", BackwardPrecisionName(BackwardPrecision::kFloat),
      ", or the backend ", BackendName(BackendKind::kOneDnn)));
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(BackendKind kind, const Program& program,
                                                     Scope* scope, const BackendOptions& options) {
  RETURN_IF_ERROR(CheckThreadCount(options.threads));
  RETURN_IF_ERROR(CheckBackward(kind, options.backward));
  switch (kind) {
    case BackendKind::kOneDnn:
      return MakeExecutor(program, scope, options);
    case BackendKind::kReference:
      return MakeInterpreter(program, scope, options);
  }
  LOG(FATAL) << "a backend that cannot be made";
}

}  // namespace fixpoint
