#include "runtime/executor/loop_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/executor/fused_step.h"
#include "runtime/kernels/fused_loops.h"

namespace fixpoint::executor {
namespace {

using kernels::Repetition;

bool Holds(const Step& step, Buffer buffer) {
  const auto has = [buffer](const std::vector<Buffer>& buffers) {
    return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
  };
  return has(step.reads) || has(step.writes);
}

// How a tensor that goes with elements goes with rows of so many of them: a whole one is one part.
std::optional<Repetition> InRows(const ElementLoop& loop, const ElementLoop::Operand& operand,
                                 int64_t row) {
  const auto [count, inner] = operand.repetition;
  if (IsAtPlace(loop, operand)) return Repetition{loop.size / row, 1};
  if (loop.row > 1 || row % (count * inner) == 0) return Repetition{1, 1};
  if (inner % row == 0) return Repetition{count, inner / row};
  if (inner == 1 && count % row == 0) return Repetition{count / row, 1};
  return std::nullopt;
}

// How what lies at the front of a tensor goes with the elements of a block of rows.
Repetition InBlock(const ElementLoop& loop, const ElementLoop::Operand& operand, int64_t row,
                   int64_t rows) {
  if (IsAtPlace(loop, operand)) return {rows * row, 1};
  const Repetition in_rows = *InRows(loop, operand, row);
  const int64_t parts = std::max<int64_t>(1, rows / in_rows.inner);
  if (parts % in_rows.count == 0) return operand.repetition;
  if (operand.repetition.inner == 1) return {parts * row, 1};
  return parts == 1 ? Repetition{1, 1} : Repetition{parts, operand.repetition.inner};
}

}  // namespace

std::optional<StepRows> RowsOfLoops(const Plan& plan, const Step& step, int64_t count) {
  using kernels::FusedLoops;
  const int64_t size = step.loops.front().size;
  if (size == 0 || size % count != 0 || step.loops.size() > FusedLoops::kMostLoops) {
    return std::nullopt;
  }
  const int64_t row = size / count;
  absl::flat_hash_map<int, StepRows::Part> parts;
  const auto add = [&](Buffer buffer, Repetition rows) {
    if (!Holds(step, buffer)) return true;
    return parts.try_emplace(buffer.index, StepRows::Part{buffer, rows}).first->second.rows == rows;
  };
  for (const ElementLoop& loop : step.loops) {
    if (loop.folding || row % loop.row != 0 || loop.reads.size() > FusedLoops::kMostOperands ||
        (loop.row > 1 && !FusedLoops::HoldsRows(loop.row, 1))) {
      return std::nullopt;
    }
    for (const ElementLoop::Operand& operand : loop.reads) {
      const std::optional<Repetition> rows = InRows(loop, operand, row);
      if (!rows || !add(operand.buffer, *rows)) return std::nullopt;
    }
    if (!add(loop.result, {count, 1})) return std::nullopt;
  }
  StepRows rows{count, {}, [&plan, &step, row](int64_t in_block) -> absl::StatusOr<StepRows::Run> {
                  Step block = step;
                  for (ElementLoop& loop : block.loops) {
                    for (ElementLoop::Operand& operand : loop.reads) {
                      operand.repetition = InBlock(loop, operand, row, in_block);
                    }
                    loop.size = in_block * row;
                  }
                  FusedStep fused({block}, plan,
                                  [&](Buffer buffer) { return Holds(step, buffer); });
                  return [run = fused.TakeStep().run](const StepContext& context) {
                    run(context).IgnoreError();  // loops have none
                  };
                }};
  for (const auto& [index, part] : parts) rows.parts.push_back(part);
  return rows;
}

}  // namespace fixpoint::executor
