#include "transpiler/quantize/simulated_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/reference/interpreter.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

absl::StatusOr<SimulatedModel> Simulate(const Program& program, const RangeProfile& profile,
                                        TranspileOptions options, Scope* parameters) {
  SimulatedModel model{program.Clone(), {}, {}};
  options.profile = &profile;
  options.starts_from_parameters = true;
  ASSIGN_OR_RETURN(TranspileResult result, Transpile(&model.program, options));
  if (result.new_startup) {
    ASSIGN_OR_RETURN(reference::Interpreter interpreter,
                     reference::Interpreter::Create(*result.new_startup, parameters));
    RETURN_IF_ERROR(interpreter.Run({}, {}, /*step=*/0).status());
  }
  model.plan = std::move(result.plan);
  std::copy_if(result.notes.begin(), result.notes.end(), std::back_inserter(model.notes),
               [](const std::string& note) { return note != kForInferenceNote; });
  return model;
}

absl::StatusOr<Scope> CopyOf(const Scope& scope) {
  Scope copy;
  for (const auto& [name, value] : scope) {
    ASSIGN_OR_RETURN(Scope::Value copied, Scope::CloneOf(value));
    copy.Set(name, std::move(copied));
  }
  return copy;
}

}  // namespace fixpoint
