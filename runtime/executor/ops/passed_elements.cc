#include "runtime/executor/ops/passed_elements.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "proto/program/op.h"

namespace fixpoint::executor {

std::optional<Buffer> AddPassedElements(OpPlanner& op, const Op& relu, const TensorType& type,
                                        Layout layout) {
  const Value& result = *relu.Output("Out")->value();
  const std::vector<const Op*> gradients = op.GradientsOf(relu);
  const absl::Span<const Op* const> readers = op.demand().Readers(result);
  const bool is_read_more = std::any_of(readers.begin(), readers.end(), [&](const Op* reader) {
    const bool is_known = std::find(gradients.begin(), gradients.end(), reader) != gradients.end();
    return !is_known && op.IsGradient(*reader);
  });
  if (gradients.empty() || is_read_more) return std::nullopt;
  const Buffer passed = op.Scratch("passed", VarType::UINT8, type.size());
  op.builder().Attach(result, PassedElements{passed, layout});
  return passed;
}

std::optional<Buffer> FindPassedElements(OpPlanner& op, absl::string_view slot, Layout layout) {
  const auto* const elements = op.builder().Attached<PassedElements>(op.InputValue(slot));
  if (elements == nullptr || elements->layout != layout) return std::nullopt;
  return elements->passed;
}

}  // namespace fixpoint::executor
