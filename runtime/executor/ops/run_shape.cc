#include "runtime/executor/ops/run_shape.h"

#include "proto/program/op.h"

namespace fixpoint::executor {

void DecideLod(const StepContext& run, const RunShape& shape, const LoD& lod) {
  for (size_t level = 0; level < shape.offsets.size(); ++level) {
    DecideOffsets(run, shape, level < lod.size() ? lod[level] : std::vector<uint64_t>(), level);
  }
}

namespace {

ReadShape Read(const OpPlanner& op, absl::string_view slot, const RunShape* decided) {
  ReadShape shape{op.InputDims(slot), op.InputLod(slot), std::nullopt};
  if (decided != nullptr) shape.decided = *decided;
  return shape;
}

}  // namespace

ReadShape ReadShape::Of(OpPlanner& op, absl::string_view slot) {
  return Read(op, slot, op.TakeRunShape(slot));
}

ReadShape ReadShape::OfAny(OpPlanner& op, absl::string_view slot) {
  return Read(op, slot, op.TakeAnyRunShape(slot));
}

std::vector<int64_t> ReadShape::most_offsets() const {
  std::vector<int64_t> most;
  if (decided) {
    for (const Buffer level : decided->offsets) most.push_back(level.size - 1);
  } else {
    for (const auto& level : lod) most.push_back(static_cast<int64_t>(level.size()));
  }
  return most;
}

Dims ReadShape::DimsIn(const StepContext& run) const {
  if (!decided) return most;
  const absl::Span<const int64_t> dims = run.Of<int64_t>(decided->dims);
  return Dims(dims.begin(), dims.end());
}

LoD ReadShape::LodIn(const StepContext& run) const {
  if (!decided) return lod;
  LoD in_run;
  for (size_t level = 0; level < decided->offsets.size(); ++level) {
    const absl::Span<const int64_t> offsets = OffsetsIn(run, *decided, level);
    if (!offsets.empty()) in_run.emplace_back(offsets.begin(), offsets.end());
  }
  return in_run;
}

}  // namespace fixpoint::executor
