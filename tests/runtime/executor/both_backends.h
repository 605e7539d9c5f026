// One run of a program on the executor and on the reference interpreter, compared.

#ifndef FIXPOINT_TESTS_RUNTIME_EXECUTOR_BOTH_BACKENDS_H_
#define FIXPOINT_TESTS_RUNTIME_EXECUTOR_BOTH_BACKENDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint::executor {

// Scopes with equal values: one for each backend.
struct Scopes {
  Scope executor;
  Scope interpreter;
};
Scopes CopiesOf(const Scope& scope);

// How far apart two tensors are: the largest difference of two elements over the larger of 1 and
// the largest finite magnitude. Infinity where types, dims or offsets differ, or one alone is NaN.
double Distance(const Tensor& a, const Tensor& b);

// Floats in [-1, 1), as a line of a parameter text.
std::string Drawn(absl::string_view name, const std::vector<int64_t>& dims);

// The differences, one per line: a fetched variable, or one in the scope, that differs by more than
// `tolerance`; or the errors of both. "" if there are none.
std::string RunOnBoth(const Program& program, const std::vector<std::string>& fetches,
                      uint32_t step, double tolerance, Scopes* scopes);

// The same for a program and values as text (run_ops.h). Everything that ops write is fetched, or
// only `fetches`, so that steps can be fused.
std::string OpDifferences(absl::string_view program, absl::string_view inputs,
                          double tolerance = 1e-5, const std::vector<std::string>& fetches = {});

}  // namespace fixpoint::executor

#endif  // FIXPOINT_TESTS_RUNTIME_EXECUTOR_BOTH_BACKENDS_H_
