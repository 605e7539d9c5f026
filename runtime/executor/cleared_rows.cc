#include "runtime/executor/cleared_rows.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// Attached to a value whose rows after those of the run were cleared.
struct RowsAreCleared {};

bool IsGradient(const Argument& argument) {
  return absl::EndsWith(argument.slot_name(), kGradientSuffix);
}

}  // namespace

bool ClearedRows::AppliesTo(const Op& op) const {
  const OpSchema* const schema = FindOpSchema(op.type());
  const OpSchema* const forward = schema != nullptr && !schema->gradient_of().empty()
                                      ? FindOpSchema(schema->gradient_of())
                                      : nullptr;
  if (forward == nullptr) return false;
  const OpTraits& traits = forward->traits();
  if (traits.is_of_samples) return true;
  if (!traits.product || traits.product->gives_images()) return false;
  const std::string& transposes = traits.product->transposes_activation;
  return transposes.empty() || !planner_.attributes().Bool(transposes);
}

absl::Status ClearedRows::Begin() {
  const Op& op = planner_.op();
  if (!AppliesTo(op)) return absl::OkStatus();
  const PlanBuilder& builder = planner_.builder();
  for (const Argument* input : op.inputs()) {
    if (input->variable() == nullptr || !builder.IsPlanned(*input->value())) continue;
    if (builder.RunShapeOf(*input->value()) != nullptr) RETURN_IF_ERROR(Clear(*input));
  }
  return absl::OkStatus();
}

absl::Status ClearedRows::Clear(const Argument& argument) {
  PlanBuilder& builder = planner_.builder();
  const Value& value = *argument.value();
  const RunShape shape = *planner_.TakeRunShape(OpPlanner::SlotOf(argument), argument.index());
  const TensorType type = builder.TypeOf(value);
  inputs_.push_back({&argument, shape});
  if (builder.Attached<RowsAreCleared>(value) != nullptr) {
    return builder.View(value, value, type.dims);
  }
  ASSIGN_OR_RETURN(const Buffer from, builder.Read(value, Layout::kRowMajor));
  const Buffer to = builder.Write(value, type, Layout::kRowMajor);
  builder.Attach(value, RowsAreCleared{});
  const bool is_gradient = IsGradient(argument);
  const int64_t rows = type.dims.empty() ? 1 : type.dims[0];
  const int64_t row_bytes =
      rows == 0 ? 0 : type.size() / rows * static_cast<int64_t>(ElementSize(type.dtype));
  const bool is_float = type.dtype == VarType::FP32;
  planner_.AddStep({{from, shape.dims},
                    {to},
                    [=](const StepContext& run) {
                      const int64_t count = run.Of<int64_t>(shape.dims)[0];
                      const uint8_t* const source = run.Of<uint8_t>(from).data();
                      uint8_t* const rows_of_run = run.Of<uint8_t>(to).data();
                      const int64_t bytes = count * row_bytes;
                      if (bytes > 0) std::memcpy(rows_of_run, source, bytes);
                      if (is_gradient || count == 0) {
                        std::memset(rows_of_run + bytes, 0, rows * row_bytes - bytes);
                        if (!is_gradient && is_float) {
                          const absl::Span<float> all = run.Floats(to);
                          std::fill(all.begin(), all.end(), 1.0f);
                        }
                        return absl::OkStatus();
                      }
                      for (int64_t row = count; row < rows; ++row) {
                        std::memcpy(rows_of_run + row * row_bytes, source, row_bytes);
                      }
                      return absl::OkStatus();
                    },
                    "",
                    0,
                    "clear rows"});
  return absl::OkStatus();
}

void ClearedRows::End() {
  PlanBuilder& builder = planner_.builder();
  const Input* of_gradient = nullptr;
  for (const Input& input : inputs_) {
    builder.SetRunShape(*input.argument->value(), input.shape);
    if (of_gradient == nullptr && IsGradient(*input.argument)) of_gradient = &input;
  }
  if (inputs_.empty()) return;
  const Op& op = planner_.op();
  for (const Argument* output : op.outputs()) {
    if (output->variable() == nullptr || !builder.IsPlanned(*output->value())) continue;
    const absl::string_view of = absl::StripSuffix(output->slot_name(), kGradientSuffix);
    const Input* rows = op.Input(of) == nullptr ? of_gradient : nullptr;
    for (const Input& input : inputs_) {
      if (input.argument->slot_name() == of) rows = &input;
    }
    if (rows == nullptr) continue;
    planner_.KeepRows(OpPlanner::SlotOf(*rows->argument), OpPlanner::SlotOf(*output));
  }
}

}  // namespace fixpoint::executor
