#include "tests/runtime/reference/run_ops.h"

#include <glog/logging.h>

#include <set>
#include <utility>
#include <vector>

#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::reference {
namespace {

std::vector<std::string> WrittenNames(const Program& program) {
  std::set<std::string> names;
  for (const Op& op : program.block(0).ops()) {
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable == nullptr) continue;
      const bool is_array = variable->desc() != nullptr &&
                            variable->desc()->type().type() == VarType::LOD_TENSOR_ARRAY;
      if (!is_array) names.emplace(output->name());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::string RunOps(absl::string_view program_text, absl::string_view inputs) {
  const Program program = ParsedProgram(program_text);
  absl::StatusOr<Scope> scope = ParseParameters(inputs, "inputs");
  CHECK(scope.ok()) << scope.status();
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, &*scope);
  if (!interpreter.ok()) return std::string(interpreter.status().message());
  const std::vector<std::string> names = WrittenNames(program);
  absl::StatusOr<std::vector<Tensor>> values = interpreter->Run({}, names, 0);
  if (!values.ok()) return std::string(values.status().message());
  Scope results;
  for (size_t i = 0; i < names.size(); ++i) results.Set(names[i], std::move((*values)[i]));
  return PrintParameters(results);
}

}  // namespace fixpoint::reference
