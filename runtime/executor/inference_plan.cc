#include "runtime/executor/inference_plan.h"

#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/error_place.h"
#include "runtime/executor/outer_tensors.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {

ParameterTypes TypesIn(const Scope& scope) {
  ParameterTypes types;
  for (const auto& [name, value] : scope) {
    const auto* const tensor = std::get_if<Tensor>(&value);
    if (tensor != nullptr) types[name] = GivenTypeOf(*tensor);
  }
  return types;
}

absl::StatusOr<Plan> PlanInference(const Program& program, const ParameterTypes& parameters,
                                   const InferenceRequest& request) {
  const absl::Status can_run = CheckOps(program);
  if (!can_run.ok()) return In(program.name(), can_run);
  PlanRequest planned;
  planned.feeds = request.feeds;
  planned.fetches = request.outputs;
  planned.has_constants = true;
  ProgramPlan shared(program, planned);
  absl::StatusOr<Plan> plan =
      MakePlan(shared, planned, [&](absl::string_view name) -> std::optional<GivenType> {
        const auto found = parameters.find(name);
        if (found == parameters.end()) return std::nullopt;
        return found->second;
      });
  if (!plan.ok()) return In(program.name(), plan.status());
  return plan;
}

}  // namespace fixpoint::executor
