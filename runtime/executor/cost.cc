#include "runtime/executor/cost.h"

#include <algorithm>
#include <vector>

#include "ops/code_dtype.h"
#include "ops/op_traits.h"
#include "runtime/kernels/machine.h"

namespace fixpoint::executor {
namespace {

// The type of its first input: the packed weights come after it.
VarType::Type TypeRead(const Plan& plan, const Step& step) {
  if (step.reads.empty()) return VarType::FP32;
  return plan.buffers[step.reads.front().index].type.dtype;
}

// Of a step that computes some; the ops of gradients and of blocks are no products themselves.
int ProductsOf(const Step& step) {
  const auto is_product = [](const Op* op) {
    return op != nullptr && TraitsOf(*op).product.has_value();
  };
  const auto others = std::count_if(step.other_ops.begin(), step.other_ops.end(), is_product);
  return std::max(1, static_cast<int>(others) + (is_product(step.op) ? 1 : 0));
}

double SpeedOf(const Cost& cost, const kernels::KernelSpeeds& speeds) {
  if (!cost.reads_codes) return speeds.float_operations;
  if (cost.are_wide) return speeds.wide_operations;
  if (cost.beside_floats >= 1) return speeds.integer_operations;
  return std::min(speeds.integer_operations, cost.beside_floats * speeds.float_operations);
}

}  // namespace

Cost CostOf(const Plan& plan, const Step& step) {
  Cost cost;
  cost.operations = static_cast<double>(step.operations);
  if (step.is_slower_than_floats()) cost.beside_floats = *step.beside_floats;
  cost.are_wide = IsWideCodeDtype(TypeRead(plan, step));
  cost.reads_codes =
      cost.are_wide || step.beside_floats.has_value() || IsCodeDtype(TypeRead(plan, step));
  for (const std::vector<Buffer>* buffers : {&step.reads, &step.writes}) {
    for (const Buffer& buffer : *buffers) {
      cost.bytes += static_cast<double>(plan.buffers[buffer.index].bytes());
    }
  }
  if (step.block != nullptr) {
    for (const std::vector<Step>* steps : {&step.block->constant_steps, &step.block->steps}) {
      for (const Step& inner : *steps) {
        const Cost of_inner = CostOf(*step.block, inner);
        cost.operations += of_inner.operations;
        cost.bytes += of_inner.bytes;
      }
    }
  }
  return cost;
}

CodedProducts CountCodedProducts(const Plan& plan) {
  CodedProducts products;
  for (const std::vector<Step>* steps : {&plan.constant_steps, &plan.steps}) {
    for (const Step& step : *steps) {
      if (step.is_again) continue;
      if (step.beside_floats) products.all += ProductsOf(step);
      if (step.is_slower_than_floats()) ++products.slower_than_floats;
      if (step.block != nullptr) products += CountCodedProducts(*step.block);
    }
  }
  return products;
}

double BytesMoved(const Plan& plan) {
  double bytes = 0;
  for (const Step& step : plan.steps) bytes += CostOf(plan, step).bytes;
  return bytes;
}

ExpectedTime Expect(const Cost& cost, const kernels::KernelSpeeds& speeds) {
  const bool is_cached = kernels::ThisMachine().IsInCache(cost.bytes);
  const double operations = cost.operations / SpeedOf(cost, speeds);
  const double memory = cost.bytes / (is_cached ? speeds.cached_bytes : speeds.bytes);
  ExpectedTime time;
  time.seconds = speeds.start + std::max(operations, memory);
  if (std::max(operations, memory) < speeds.start) {
    time.bound = Bound::kStart;
  } else if (operations >= memory) {
    time.bound = Bound::kOperations;
  } else {
    time.bound = is_cached ? Bound::kCache : Bound::kMemory;
  }
  return time;
}

}  // namespace fixpoint::executor
