#include "runtime/executor/ops/row_moves.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/executor/ops/element_types.h"

namespace fixpoint::executor {
namespace {

// How often each of `count` rows is named: whether none is twice, and all are.
struct Uses {
  bool is_once = true;
  bool is_all = false;
};

Uses UsesOf(const std::vector<int64_t>& rows, int64_t count) {
  std::vector<bool> is_used(count);
  Uses uses;
  int64_t used = 0;
  for (const int64_t row : rows) {
    if (row < 0) continue;
    if (is_used[row]) uses.is_once = false;
    if (!is_used[row]) ++used;
    is_used[row] = true;
  }
  uses.is_all = used == count;
  return uses;
}

// Copies the row, or adds it.
void PutRow(bool copies, int64_t width, const float* x, float* y) {
  if (copies) {
    std::copy_n(x, width, y);
  } else {
    for (int64_t j = 0; j < width; ++j) y[j] += x[j];
  }
}

}  // namespace

absl::Status AddRowGather(OpPlanner& op, VarType::Type dtype, const RowMap& rows, int64_t width,
                          Buffer from, Buffer to, std::string name, std::optional<Buffer> filling) {
  return WithElementOfSizeOf(dtype, [&](auto element) {
    using T = decltype(element);
    std::vector<Buffer> reads = {from};
    if (filling) reads.push_back(*filling);
    op.AddStep({std::move(reads),
                {to},
                [=](const StepContext& run) {
                  const T* const x = run.Of<T>(from).data();
                  T* y = run.Of<T>(to).data();
                  for (const int64_t row : *rows) {
                    if (row >= 0) {
                      y = std::copy_n(x + row * width, width, y);
                    } else if (filling->size == width) {
                      y = std::copy_n(run.Of<T>(*filling).data(), width, y);
                    } else {
                      y = std::fill_n(y, width, run.Of<T>(*filling)[0]);
                    }
                  }
                  return absl::OkStatus();
                },
                "",
                0,
                std::move(name)});
    return absl::OkStatus();
  });
}

void AddRowSum(OpPlanner& op, const RowMap& rows, int64_t width, Buffer from, Buffer to,
               std::string name) {
  const Uses uses = width > 0 ? UsesOf(*rows, to.size / width) : Uses();
  op.AddStep({{from},
              {to},
              [=](const StepContext& run) {
                const float* x = run.Floats(from).data();
                const absl::Span<float> y = run.Floats(to);
                if (!uses.is_once || !uses.is_all) std::fill(y.begin(), y.end(), 0.0f);
                for (const int64_t row : *rows) {
                  if (row >= 0) PutRow(uses.is_once, width, x, y.data() + row * width);
                  x += width;
                }
                return absl::OkStatus();
              },
              "",
              0,
              std::move(name)});
}

absl::StatusOr<std::vector<int64_t>> KnownIntegers(const OpPlanner& op, absl::string_view slot) {
  const auto known = op.builder().FindKnown(op.InputValue(slot));
  if (!known) {
    return absl::UnimplementedError(
        absl::StrCat(slot, " is computed in the run; want it known from shapes and attributes"));
  }
  std::vector<int64_t> integers;
  for (const double value : *known) integers.push_back(static_cast<int64_t>(value));
  return integers;
}

}  // namespace fixpoint::executor
