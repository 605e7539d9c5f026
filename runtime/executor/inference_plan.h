// The plan of a program as inference will run it, made without running it.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_INFERENCE_PLAN_H_
#define FIXPOINT_RUNTIME_EXECUTOR_INFERENCE_PLAN_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/planner.h"
#include "runtime/scope.h"

namespace fixpoint::executor {

// What to plan for: the inputs, and the variables to compute.
struct InferenceRequest {
  std::vector<FeedType> feeds;
  std::vector<std::string> outputs;
};

// The types of parameters, which are all that a plan needs of them. In plans a scalar is [1].
using ParameterTypes = absl::flat_hash_map<std::string, GivenType>;

// The dtypes and shapes of the tensors of a scope, by name.
ParameterTypes TypesIn(const Scope& scope);

// Parameters are constants. Errors, with the name of the program: those of CheckOps and MakePlan.
absl::StatusOr<Plan> PlanInference(const Program& program, const ParameterTypes& parameters,
                                   const InferenceRequest& request);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_INFERENCE_PLAN_H_
