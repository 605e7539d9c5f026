#include "runtime/executor/ops/run_sequences.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/row_extents.h"

namespace fixpoint::executor {
namespace {

// The rows that are none of the tokens; what is left of each sequence may be nothing.
absl::Status PlanErase(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences,
                   SequencesOf("X", type.dims, op.InputLod("X")));
  RETURN_IF_ERROR(op.CheckSize("X", type.dims[0]));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  const Buffer out = op.WriteAs("Out", type);
  const RunShape shape = op.DecideShape("Out", {static_cast<int64_t>(sequences.size()) + 1});
  const std::vector<int64_t> tokens = op.attributes().Ints("tokens");
  std::vector<Buffer> writes = shape.buffers();
  writes.push_back(out);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x}, std::move(writes), [=](const StepContext& run) {
                  const absl::Span<const T> from = run.Of<T>(x);
                  const absl::Span<T> to = run.Of<T>(out);
                  std::vector<int64_t> offsets = {0};
                  int64_t kept = 0;
                  for (const Sequence& sequence : sequences) {
                    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
                      const bool is_erased =
                          std::find(tokens.begin(), tokens.end(),
                                    static_cast<int64_t>(from[row])) != tokens.end();
                      if (!is_erased) to[kept++] = from[row];
                    }
                    offsets.push_back(kept);
                  }
                  std::fill(to.begin() + kept, to.end(), T());
                  const absl::Span<int64_t> dims = run.Of<int64_t>(shape.dims);
                  std::copy(type.dims.begin(), type.dims.end(), dims.begin());
                  dims[0] = kept;
                  DecideOffsets(run, shape, offsets);
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status PlanExpandInRun(OpPlanner& op, const ReadShape& x_shape, const ReadShape& y_shape) {
  const int64_t ref_level = op.attributes().Int("ref_level");
  const std::vector<int64_t> most = y_shape.most_offsets();
  const int64_t levels = static_cast<int64_t>(most.size());
  const int64_t level = ref_level == -1 ? levels - 1 : ref_level;
  const bool has_rows = !x_shape.most.empty() && !y_shape.most.empty();
  if (level < 0 || level >= levels || !x_shape.most_offsets().empty() || !has_rows) {
    return absl::UnimplementedError(absl::StrCat(
        "Y has ", levels, " levels of offsets and X ", x_shape.most_offsets().size(),
        "; in a run the executor repeats rows, which no offsets cut, by a level of Y"));
  }
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  const int64_t most_rows = level + 1 < levels ? most[level + 1] - 1 : y_shape.most[0];
  const TensorType out_type{type.dtype, WithRows(type.dims, most_rows)};
  RETURN_IF_ERROR(ElementCount(out_type.dims).status());
  const Buffer out = op.WriteAs("Out", out_type);
  const RunShape out_shape = op.DecideShape("Out");
  std::vector<Buffer> reads = x_shape.buffers();
  for (const Buffer buffer : y_shape.buffers()) reads.push_back(buffer);
  reads.push_back(x);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({reads, {out, out_shape.dims}, [=](const StepContext& run) {
                  const Dims dims_of_x = x_shape.DimsIn(run);
                  ASSIGN_OR_RETURN(const Pieces pieces,
                                   ExpandedPieces(dims_of_x, {}, y_shape.DimsIn(run),
                                                  y_shape.LodIn(run), ref_level));
                  const int64_t width = RowSize(out_type.dims);
                  const T* const from = run.Of<T>(x).data();
                  const absl::Span<T> rows = run.Of<T>(out);
                  T* to = rows.data();
                  for (const Sequence& piece : pieces.pieces) {
                    to = std::copy_n(from + piece.begin * width, piece.length() * width, to);
                  }
                  std::fill(to, rows.data() + rows.size(), T());
                  const absl::Span<int64_t> dims = run.Of<int64_t>(out_shape.dims);
                  std::copy(out_type.dims.begin(), out_type.dims.end(), dims.begin());
                  dims[0] = pieces.rows();
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanResetInRun(OpPlanner& op, const ReadShape& x_shape, const ReadShape& y_shape) {
  if (!op.Wants("Out")) return absl::OkStatus();
  RETURN_IF_ERROR(op.builder().View(op.OutputValue("Out"), op.InputValue("X"), op.InputDims("X")));
  const RunShape shape = op.DecideShape("Out", y_shape.most_offsets());
  std::vector<Buffer> reads = x_shape.buffers();
  for (const Buffer buffer : y_shape.buffers()) reads.push_back(buffer);
  op.AddStep({std::move(reads), shape.buffers(), [=](const StepContext& run) {
                const Dims dims = x_shape.DimsIn(run);
                const LoD lod = y_shape.LodIn(run);
                RETURN_IF_ERROR(SequencesOf("X", dims, lod).status());
                std::copy(dims.begin(), dims.end(), run.Of<int64_t>(shape.dims).begin());
                DecideLod(run, shape, lod);
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

OpPlans RunSequencePlans() { return {{"sequence_erase", PlanErase, AlwaysRoundsOnce}}; }

}  // namespace fixpoint::executor
