#include "tools/form_cost.h"

#include <algorithm>
#include <map>

namespace fixpoint {
namespace {

using executor::BufferInfo;
using executor::Plan;

double ConstantBytes(const Plan& plan) {
  double bytes = 0;
  for (const BufferInfo& buffer : plan.buffers) {
    if (buffer.place == BufferInfo::Place::kConstant) {
      bytes += static_cast<double>(buffer.bytes());
    }
  }
  return bytes;
}

}  // namespace

FormCost CostOf(const Plan& plan, const kernels::KernelSpeeds& speeds) {
  FormCost form;
  form.constant_bytes = ConstantBytes(plan);
  form.activation_bytes = static_cast<double>(plan.arena_bytes);
  form.products = executor::CountCodedProducts(plan);
  struct Row {
    StepsCost cost;
    double longest = 0;
  };
  std::map<std::string, Row> rows;
  for (const executor::Step& step : plan.steps) {
    const executor::Cost cost = executor::CostOf(plan, step);
    const executor::ExpectedTime time = executor::Expect(cost, speeds);
    form.multiply_adds += cost.operations / 2;
    form.bytes += cost.bytes;
    form.seconds += time.seconds;
    if (cost.reads_codes) {
      form.integer_multiply_adds += cost.operations / 2;
      form.integer_seconds += time.seconds;
    }
    form.runs_blocks = form.runs_blocks || step.block != nullptr;
    const std::string name = step.NameWithKernel();
    Row& row = rows[name];
    row.cost.name = name;
    ++row.cost.count;
    row.cost.multiply_adds += cost.operations / 2;
    row.cost.bytes += cost.bytes;
    row.cost.seconds += time.seconds;
    if (time.seconds > row.longest) {
      row.longest = time.seconds;
      row.cost.bound = time.bound;
    }
  }
  for (const auto& [name, row] : rows) form.steps.push_back(row.cost);
  std::stable_sort(form.steps.begin(), form.steps.end(),
                   [](const StepsCost& a, const StepsCost& b) { return a.seconds > b.seconds; });
  return form;
}

}  // namespace fixpoint
