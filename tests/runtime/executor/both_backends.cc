#include "tests/runtime/executor/both_backends.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/reference/array.h"
#include "runtime/reference/interpreter.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

constexpr uint64_t kSeed = 1;

Scope CopyOf(const Scope& scope) {
  Scope copy;
  for (const auto& [name, value] : scope) copy.Set(name, *Scope::CloneOf(value));
  return copy;
}

std::vector<std::string> WrittenNames(const Program& program) {
  std::set<std::string> names;
  for (const Op& op : program.block(0).ops()) {
    for (const Argument* output : op.outputs()) {
      if (output->variable() != nullptr) names.emplace(output->name());
    }
  }
  return {names.begin(), names.end()};
}

std::string Shown(const Tensor& tensor) {
  Scope scope;
  scope.Set("", *tensor.Clone());
  return PrintParameters(scope).substr(0, 200);
}

void Compare(const std::string& name, const Tensor& executor, const Tensor& interpreter,
             double tolerance, std::string* differences) {
  const double distance = Distance(executor, interpreter);
  if (distance <= tolerance) return;
  absl::StrAppend(differences, name, " is ", distance, " apart: executor", Shown(executor),
                  "  interpreter", Shown(interpreter), "\n");
}

// A scalar is [1] in plans.
std::vector<int64_t> PlannedDims(const Tensor& tensor) {
  if (tensor.dims().empty()) return {1};
  return tensor.dims();
}

}  // namespace

Scopes CopiesOf(const Scope& scope) { return {CopyOf(scope), CopyOf(scope)}; }

double Distance(const Tensor& a, const Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.dtype() != b.dtype() || PlannedDims(a) != PlannedDims(b)) return kInfinity;
  if (a.lod() != b.lod()) return kInfinity;
  const reference::Array x = *reference::ArrayOf(a);
  const reference::Array y = *reference::ArrayOf(b);
  double largest = 1;
  double difference = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      return kInfinity;
    }
    largest = std::max({largest, std::fabs(x[i]), std::fabs(y[i])});
    difference = std::max(difference, std::fabs(x[i] - y[i]));
  }
  return difference / largest;
}

std::string Drawn(absl::string_view name, const std::vector<int64_t>& dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  const RandomStream random(7, static_cast<uint32_t>(name.size()), 0);
  std::string text = absl::StrCat(name, " f32[", absl::StrJoin(dims, ","), "]");
  for (int64_t i = 0; i < size; ++i) {
    absl::StrAppend(&text, " ", static_cast<float>(2 * random.Uniform(i) - 1));
  }
  return text + "\n";
}

std::string RunOnBoth(const Program& program, const std::vector<std::string>& fetches,
                      uint32_t step, double tolerance, Scopes* scopes) {
  const auto interpreter = reference::Interpreter::Create(
      program, &scopes->interpreter, {reference::Precision::kAsDeclared, kSeed});
  CHECK(interpreter.ok()) << interpreter.status();
  const auto expected = const_cast<reference::Interpreter&>(*interpreter).Run({}, fetches, step);
  const auto executor = Executor::Create(program, &scopes->executor, {kSeed});
  if (!executor.ok()) return absl::StrCat("executor: ", executor.status().message(), "\n");
  const auto got = (*executor)->Run({}, fetches, step);
  if (!got.ok() || !expected.ok()) {
    return absl::StrCat("executor: ", got.status().message(),
                        "\ninterpreter: ", expected.status().message(), "\n");
  }
  std::string differences;
  for (size_t i = 0; i < fetches.size(); ++i) {
    Compare(fetches[i], (*got)[i], (*expected)[i], tolerance, &differences);
  }
  for (const auto& [name, value] : scopes->interpreter) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr) continue;
    const auto other = scopes->executor.Find(name);
    if (!other.ok()) {
      absl::StrAppend(&differences, name, " is missing in the executor's scope\n");
      continue;
    }
    Compare(name, **other, *tensor, tolerance, &differences);
  }
  return differences;
}

std::string OpDifferences(absl::string_view program_text, absl::string_view inputs,
                          double tolerance, const std::vector<std::string>& fetches) {
  const Program program = ParsedProgram(program_text);
  absl::StatusOr<Scope> scope = ParseParameters(inputs, "inputs");
  CHECK(scope.ok()) << scope.status();
  Scopes scopes = CopiesOf(*scope);
  return RunOnBoth(program, fetches.empty() ? WrittenNames(program) : fetches, 0, tolerance,
                   &scopes);
}

}  // namespace fixpoint::executor
