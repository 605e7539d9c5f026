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
#include "runtime/data/batcher.h"
#include "runtime/executor/cost.h"
#include "runtime/executor/outer_tensors.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/kernel_speeds.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor.h"
#include "runtime/training/fed_batches.h"

namespace fixpoint {
namespace {

const kernels::KernelSpeeds& Speeds() {
  static const kernels::KernelSpeeds speeds = kernels::MeasureKernelSpeeds();
  return speeds;
}

}  // namespace

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

absl::StatusOr<executor::InferenceRequest> RequestForOne(const Program& program,
                                                         const NetworkVariables& variables,
                                                         std::vector<std::string> outputs,
                                                         const SampleSet& set) {
  BatchOptions of_one;
  of_one.shuffle = false;
  ASSIGN_OR_RETURN(FedBatches source, FedBatches::Create(program, &set, variables, of_one));
  ASSIGN_OR_RETURN(const Batch batch, source.batcher().Next());
  executor::InferenceRequest request;
  request.outputs = std::move(outputs);
  for (const Feed& feed : source.FeedsOf(batch)) {
    request.feeds.push_back({std::string(feed.name), executor::GivenTypeOf(*feed.value)});
  }
  return request;
}

absl::StatusOr<NetworkCost> CostOfNetwork(const Program& program, const Scope& scope,
                                          const executor::InferenceRequest& request,
                                          bool with_times) {
  ASSIGN_OR_RETURN(const executor::Plan plan,
                   executor::PlanInference(program, executor::TypesIn(scope), request));
  NetworkCost network;
  network.parameter_bytes = ParameterBytes(program, scope);
  network.activation_bytes = static_cast<int64_t>(plan.arena_bytes);
  const auto add_time = [](double milliseconds, std::optional<double>* sum) {
    *sum = sum->value_or(0) + milliseconds;
  };
  for (const executor::Step& step : plan.steps) {
    const executor::Cost cost = executor::CostOf(plan, step);
    const double multiply_adds = cost.operations / 2;
    OpCost* of_op = nullptr;
    if (step.op != nullptr && !step.op->outputs().empty()) {
      of_op = &network.by_output[std::string(step.op->outputs().front()->name())];
      of_op->multiply_adds += multiply_adds;
    }
    network.multiply_adds += multiply_adds;
    if (cost.reads_codes) network.integer_multiply_adds += multiply_adds;
    if (!with_times) continue;
    const double milliseconds = 1e3 * executor::Expect(cost, Speeds()).seconds;
    add_time(milliseconds, &network.milliseconds);
    if (of_op != nullptr) add_time(milliseconds, &of_op->milliseconds);
  }
  return network;
}

}  // namespace fixpoint
