#include "runtime/executor/fused_step.h"

#include <array>
#include <memory>
#include <string>

#include "absl/strings/str_join.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {

using kernels::FusedLoop;
using kernels::FusedLoops;
using kernels::FusedTensor;

FusedStep::FusedStep(const std::vector<Step>& steps, const Plan& plan,
                     const std::function<bool(Buffer)>& is_wanted)
    : plan_(plan) {
  std::vector<std::string> names;
  std::vector<const Op*> ops;
  for (const Step& step : steps) {
    names.push_back(step.name);
    ops.push_back(step.op);
    for (const ElementLoop& loop : step.loops) {
      Add(loop);
      step_.loops.push_back(loop);
    }
  }
  step_.name = absl::StrJoin(names, " + ");
  step_.op = ops.front();
  step_.other_ops.assign(ops.begin() + 1, ops.end());
  for (Tensor& tensor : tensors_) {
    tensor.is_held = !tensor.is_made_here() || tensor.is_folded || is_wanted(tensor.buffer);
    if (!tensor.is_held) continue;
    if (tensor.is_given()) step_.reads.push_back(tensor.buffer);
    if (tensor.is_written()) step_.writes.push_back(tensor.buffer);
  }
  MakeRun(steps.front().loops.front().size);
}

void FusedStep::AddWritten(absl::flat_hash_set<int>* written) const {
  for (const Tensor& tensor : tensors_) {
    if (tensor.is_written()) written->insert(tensor.buffer.index);
  }
}

std::vector<InPlace> FusedStep::FindInPlace(
    const absl::flat_hash_set<std::pair<int, int>>& before) const {
  std::vector<InPlace> pairs;
  for (const Tensor& written : tensors_) {
    if (!written.is_held || !written.is_made_here() || written.is_folded) continue;
    for (const Tensor& read : tensors_) {
      if (read.first_write != kNever || read.repeats || BytesOf(read) != BytesOf(written)) continue;
      const bool may_share = read.last_read < written.first_write ||
                             (read.last_read == written.first_write &&
                              before.contains({written.buffer.index, read.buffer.index}));
      if (may_share) pairs.push_back({written.buffer, read.buffer});
    }
  }
  return pairs;
}

void FusedStep::Add(const ElementLoop& loop) {
  const int number = static_cast<int>(loops_.size());
  FusedLoop fused;
  for (const ElementLoop::Operand& operand : loop.reads) {
    const int index = IndexOf(operand.buffer);
    Tensor& tensor = tensors_[index];
    if (tensor.first_read == kNever) tensor.first_read = number;
    tensor.last_read = number;
    tensor.repeats |= !IsAtPlace(loop, operand);
    fused.operands.push_back({index, operand.repetition});
  }
  fused.result = IndexOf(loop.result);
  Tensor& result = tensors_[fused.result];
  if (result.first_write == kNever) result.first_write = number;
  result.is_folded |= loop.folding.has_value();
  fused.folding = loop.folding;
  fused.run = loop.run;
  fused.row = loop.row;
  loops_.push_back(std::move(fused));
}

int FusedStep::IndexOf(Buffer buffer) {
  const auto [known, is_new] = indices_.try_emplace(buffer.index, tensors_.size());
  if (is_new) tensors_.push_back({buffer});
  return known->second;
}

void FusedStep::MakeRun(int64_t size) {
  std::vector<FusedTensor> tensors;
  std::vector<std::pair<int, Buffer>> held;
  for (const Tensor& tensor : tensors_) {
    if (tensor.is_held) held.push_back({static_cast<int>(tensors.size()), tensor.buffer});
    const VarType::Type dtype = plan_.buffers[tensor.buffer.index].type.dtype;
    tensors.push_back({static_cast<int64_t>(ElementSize(dtype)), tensor.is_held});
  }
  const auto loops = std::make_shared<const FusedLoops>(size, tensors, std::move(loops_));
  step_.implementation = loops->implementation();
  step_.run = [loops, held = std::move(held), count = tensors.size()](const StepContext& run) {
    std::array<uint8_t*, FusedLoops::kMostTensors> addresses;
    for (const auto& [index, buffer] : held) addresses[index] = run.Of<uint8_t>(buffer).data();
    loops->Run({addresses.data(), count});
    return absl::OkStatus();
  };
}

}  // namespace fixpoint::executor
