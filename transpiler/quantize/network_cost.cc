#include "transpiler/quantize/network_cost.h"

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/cost.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/kernel_speeds.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor.h"

namespace fixpoint {

absl::StatusOr<Budget> Budget::Parse(absl::string_view text) {
  const std::pair<absl::string_view, Budget> units[] = {{"ms", {Of::kMilliseconds, 1}},
                                                        {"MB", {Of::kBytes, 1e6}},
                                                        {"KB", {Of::kBytes, 1e3}},
                                                        {"B", {Of::kBytes, 1}}};
  for (const auto& [unit, budget] : units) {
    absl::string_view number = text;
    if (!absl::ConsumeSuffix(&number, unit)) continue;
    double value = 0;
    if (!absl::SimpleAtod(number, &value) || !(value > 0)) break;
    return Budget{budget.of, value * budget.most};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no budget; want bytes or time: 4MB, 300KB, 20000B or 2ms"));
}

std::string CostText(Budget::Of of, double cost) {
  return of == Budget::Of::kBytes ? absl::StrFormat("%.0f bytes", cost)
                                  : absl::StrFormat("%.3f ms", cost);
}

int64_t ParameterBytes(const Program& program, const Scope& scope) {
  int64_t bytes = 0;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    const Scope::Value* const value = scope.FindOrNull(parameter.name);
    const auto* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (tensor != nullptr) bytes += static_cast<int64_t>(tensor->bytes().size());
  }
  return bytes;
}

absl::StatusOr<double> ExpectedMilliseconds(const Program& program, const Scope& scope,
                                            const executor::InferenceRequest& request) {
  static const kernels::KernelSpeeds speeds = kernels::MeasureKernelSpeeds();
  ASSIGN_OR_RETURN(const executor::Plan plan,
                   executor::PlanInference(program, executor::TypesIn(scope), request));
  double seconds = 0;
  for (const executor::Step& step : plan.steps) {
    seconds += executor::Expect(executor::CostOf(plan, step), speeds).seconds;
  }
  return 1e3 * seconds;
}

}  // namespace fixpoint
