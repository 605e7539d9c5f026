#include "runtime/executor/ops/element_step.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace fixpoint::executor {

void AddElementStep(OpPlanner& op, const std::vector<Buffer>& reads, Buffer result,
                    kernels::BlockLoop run) {
  AddRowStep(op, reads, {}, result, 1, std::move(run));
}

void AddRowStep(OpPlanner& op, std::vector<Buffer> reads, const std::vector<Buffer>& whole,
                Buffer result, int64_t row, kernels::BlockLoop run) {
  reads.insert(reads.end(), whole.begin(), whole.end());
  ElementLoop loop{result.size, {}, result, std::nullopt, std::move(run), row};
  for (const Buffer& read : reads) loop.reads.push_back(AtPlace(read));
  StepKernel kernel{
      reads, {result}, [reads, result, run = loop.run](const StepContext& context) {
        using Operand = kernels::ElementBlock::Operand;
        absl::InlinedVector<Operand, 8> operands;
        for (const Buffer& read : reads) {
          operands.push_back({context.Of<uint8_t>(read).data(), read.size});
        }
        run(kernels::ElementBlock(operands, result.size, context.Of<uint8_t>(result).data()));
        return absl::OkStatus();
      }};
  kernel.loops.push_back(std::move(loop));
  op.AddStep(std::move(kernel));
}

}  // namespace fixpoint::executor
