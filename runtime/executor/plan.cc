#include "runtime/executor/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/type_names.h"
#include "runtime/backend.h"
#include "runtime/guarded_call.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// Error (NotFiniteError): a step has written a value that is not finite.
absl::Status CheckFinite(const Plan& plan, const Step& step, const StepContext& run) {
  for (const Buffer& buffer : step.writes) {
    const BufferInfo& info = plan.buffers[buffer.index];
    if (info.type.dtype != VarType::FP32) continue;
    const absl::Span<const float> values =
        run.Floats(buffer).first(run.CountOf(info.run_shape, buffer.size));
    const auto found = std::find_if(values.begin(), values.end(),
                                    [](float value) { return !std::isfinite(value); });
    if (found == values.end()) continue;
    return NotFiniteError(absl::StrCat("element ", found - values.begin(), " of \"", info.name,
                                       "\" is ", *found, "; want finite numbers"));
  }
  return absl::OkStatus();
}

std::string PlaceText(const BufferInfo& info) {
  switch (info.place) {
    case BufferInfo::Place::kScope:
      return "scope";
    case BufferInfo::Place::kFeed:
      return "feed";
    case BufferInfo::Place::kConstant:
      return "constant";
    case BufferInfo::Place::kConstantScratch:
      return absl::StrCat("scratch @", info.offset);
    case BufferInfo::Place::kArena:
      return absl::StrCat("@", info.offset);
  }
  return "";
}

std::string BufferText(const Plan& plan, Buffer buffer) {
  const BufferInfo& info = plan.buffers[buffer.index];
  return absl::StrCat(info.name, " ", TypeName(info.type.dtype), info.run_shape ? "[<=" : "[",
                      absl::StrJoin(info.type.dims, ","), "]",
                      info.layout == Layout::kChannelsLast ? " channels last " : " ",
                      PlaceText(info));
}

std::string BuffersText(const Plan& plan, const std::vector<Buffer>& buffers) {
  return absl::StrJoin(buffers, ", ", [&](std::string* out, Buffer buffer) {
    absl::StrAppend(out, BufferText(plan, buffer));
  });
}

std::string StepsText(const Plan& plan, const std::vector<Step>& steps, const std::string& indent);

std::string IndentedText(const Plan& plan, const std::string& indent) {
  std::string text;
  if (!plan.constant_steps.empty()) {
    absl::StrAppend(&text, indent, "once, scratch ", plan.constant_scratch_bytes, " bytes\n",
                    StepsText(plan, plan.constant_steps, indent));
  }
  absl::StrAppend(&text, indent, "arena ", plan.arena_bytes, " bytes\n",
                  StepsText(plan, plan.steps, indent));
  return text;
}

std::string StepsText(const Plan& plan, const std::vector<Step>& steps, const std::string& indent) {
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    absl::StrAppendFormat(&text, "%s%4d %s", indent, i, step.NameWithKernel());
    absl::StrAppend(&text, " (", BuffersText(plan, step.reads), ") -> (",
                    BuffersText(plan, step.writes), ")\n");
    if (step.block != nullptr) absl::StrAppend(&text, IndentedText(*step.block, indent + "    "));
  }
  return text;
}

}  // namespace

int64_t TensorType::size() const {
  const absl::StatusOr<int64_t> size = TensorSize(dims);
  return size.ok() ? *size : std::numeric_limits<int64_t>::max();
}

int64_t BufferInfo::bytes() const {
  return type.size() * static_cast<int64_t>(ElementSize(type.dtype));
}

std::vector<Buffer> RunShape::buffers() const {
  std::vector<Buffer> all = {dims};
  all.insert(all.end(), offsets.begin(), offsets.end());
  return all;
}

std::vector<Buffer> Plan::Fetch::buffers() const {
  std::vector<Buffer> all = {buffer};
  if (!run_shape) return all;
  const std::vector<Buffer> of_shape = run_shape->buffers();
  all.insert(all.end(), of_shape.begin(), of_shape.end());
  return all;
}

std::string Step::NameWithKernel() const {
  if (implementation.empty()) return name;
  const std::string speed = is_slower_than_floats()
                                ? absl::StrFormat(", %.2f of the speed of floats", *beside_floats)
                                : "";
  return absl::StrCat(name, " <", implementation, speed, ">");
}

absl::StatusOr<GivenType> ShapeInRun(const TensorType& most, const RunShape& shape,
                                     const StepContext& run) {
  GivenType given{{most.dtype, {}}, {}};
  const absl::Span<const int64_t> dims = run.Of<int64_t>(shape.dims);
  given.type.dims.assign(dims.begin(), dims.end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0 && dims[i] <= most.dims[i]) continue;
    return absl::InternalError(absl::StrCat("a run decides on ", DimsText(given.type.dims),
                                            "; want at most ", DimsText(most.dims)));
  }
  for (const Buffer level : shape.offsets) {
    const absl::Span<const int64_t> offsets = run.Of<int64_t>(level);
    if (offsets[0] == 0) continue;
    given.lod.emplace_back(offsets.begin() + 1, offsets.begin() + 1 + offsets[0]);
  }
  return given;
}

absl::Status AtStep(const Step& step, const absl::Status& status) {
  return AtPlace(step.op != nullptr ? Describe(*step.op) : step.name, status);
}

absl::Status RunStep(const Plan& plan, const Step& step, const StepContext& run) {
  absl::Status status = GuardedCall("its outputs", [&] { return step.run(run); });
  if (status.ok() && run.state().check_finite) status = CheckFinite(plan, step, run);
  return status.ok() ? status : AtStep(step, status);
}

absl::Status RunSteps(const Plan& plan, const StepContext& run) {
  for (const Step& step : plan.steps) RETURN_IF_ERROR(RunStep(plan, step, run));
  return absl::OkStatus();
}

void AddressInTensors(const Plan& plan, absl::Span<uint8_t*> addresses) {
  for (const auto& [buffer, tensor] : plan.in_tensors) {
    addresses[buffer.index] = addresses[tensor.index];
  }
}

std::string PlanText(const Plan& plan) { return IndentedText(plan, ""); }

}  // namespace fixpoint::executor
