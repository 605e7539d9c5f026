#include "runtime/executor/plan.h"

#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/type_names.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

std::string PlaceText(const BufferInfo& info) {
  switch (info.place) {
    case BufferInfo::Place::kScope:
      return "scope";
    case BufferInfo::Place::kFeed:
      return "feed";
    case BufferInfo::Place::kArena:
      return absl::StrCat("@", info.offset);
  }
  return "";
}

std::string BufferText(const Plan& plan, Buffer buffer) {
  const BufferInfo& info = plan.buffers[buffer.index];
  return absl::StrCat(info.name, " ", TypeName(info.type.dtype),
                      absl::StrCat("[", absl::StrJoin(info.type.dims, ","), "]"),
                      info.layout == Layout::kChannelsLast ? " channels last " : " ",
                      PlaceText(info));
}

std::string BuffersText(const Plan& plan, const std::vector<Buffer>& buffers) {
  return absl::StrJoin(buffers, ", ", [&](std::string* out, Buffer buffer) {
    absl::StrAppend(out, BufferText(plan, buffer));
  });
}

}  // namespace

int64_t TensorType::size() const {
  const absl::StatusOr<int64_t> size = TensorSize(dims);
  return size.ok() ? *size : std::numeric_limits<int64_t>::max();
}

int64_t BufferInfo::bytes() const {
  return type.size() * static_cast<int64_t>(ElementSize(type.dtype));
}

std::string PlanText(const Plan& plan) {
  std::string text = absl::StrCat("arena ", plan.arena_bytes, " bytes\n");
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    absl::StrAppendFormat(&text, "%4d %s", i, step.name);
    if (!step.implementation.empty()) absl::StrAppend(&text, " <", step.implementation, ">");
    absl::StrAppend(&text, " (", BuffersText(plan, step.reads), ") -> (",
                    BuffersText(plan, step.writes), ")\n");
  }
  return text;
}

}  // namespace fixpoint::executor
