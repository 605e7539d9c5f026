#include "runtime/executor/ops/as_reference.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/reference/lone_op.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

struct Part {
  std::string name;
  Buffer buffer;
  TensorType type;
};

absl::StatusOr<Tensor> TensorOf(const Part& part, const StepContext& run) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(part.type.dtype,
                                                   {part.type.dims.begin(), part.type.dims.end()}));
  const uint8_t* const from = run.Of<uint8_t>(part.buffer).data();
  std::copy_n(from, tensor.bytes().size(), tensor.mutable_bytes().begin());
  return tensor;
}

}  // namespace

absl::Status PlanAsReference(const Program& program, OpPlanner& op) {
  ASSIGN_OR_RETURN(reference::LoneOp alone, reference::LoneOp::Of(program, op.op()));
  std::vector<Part> inputs;
  std::vector<Part> outputs;
  StepKernel step;
  for (const Argument* input : op.op().inputs()) {
    if (input->value() == nullptr) continue;
    const absl::string_view slot = OpPlanner::SlotOf(*input);
    const TensorType type = op.InputType(slot, input->index());
    ASSIGN_OR_RETURN(const Buffer buffer,
                     op.Read(slot, type.dtype, Layout::kRowMajor, input->index()));
    inputs.push_back({std::string(input->name()), buffer, type});
    step.reads.push_back(buffer);
  }
  for (const Argument* output : op.op().outputs()) {
    const absl::string_view slot = OpPlanner::SlotOf(*output);
    if (!op.Wants(slot, output->index())) continue;
    ASSIGN_OR_RETURN(const TensorType type, op.OutputType(slot, output->index()));
    const Buffer buffer = op.WriteAs(slot, type, Layout::kRowMajor, output->index());
    outputs.push_back({std::string(output->name()), buffer, type});
    step.writes.push_back(buffer);
  }
  step.implementation = "reference";
  step.run = [alone = std::move(alone), inputs = std::move(inputs),
              outputs = std::move(outputs)](const StepContext& run) -> absl::Status {
    std::vector<Tensor> read;
    std::vector<Feed> feeds;
    std::vector<std::string> fetches;
    read.reserve(inputs.size());
    for (const Part& input : inputs) {
      ASSIGN_OR_RETURN(Tensor tensor, TensorOf(input, run));
      read.push_back(std::move(tensor));
      feeds.push_back({input.name, &read.back()});
    }
    for (const Part& output : outputs) fetches.push_back(output.name);
    ASSIGN_OR_RETURN(const std::vector<Tensor> computed, alone.Run(feeds, fetches));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto bytes = computed[i].bytes();
      if (computed[i].dtype() != outputs[i].type.dtype ||
          computed[i].size() != outputs[i].buffer.size) {
        return absl::InternalError(absl::StrCat("\"", outputs[i].name,
                                                "\" is computed as a tensor of another type or "
                                                "size than it was planned with"));
      }
      std::copy(bytes.begin(), bytes.end(), run.Of<uint8_t>(outputs[i].buffer).data());
    }
    return absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
