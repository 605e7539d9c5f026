#include "runtime/executor/ops/resize_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/ops/element_types.h"

namespace fixpoint::executor {
namespace {

// As the interpreter reads them, NaN as 0.
std::vector<int64_t> Integers(const std::vector<double>& numbers) {
  std::vector<int64_t> integers;
  constexpr double kMost = 9e18;
  for (const double number : numbers) {
    const double clamped = std::clamp(number, -kMost, kMost);
    integers.push_back(std::isnan(number) ? 0 : static_cast<int64_t>(clamped));
  }
  return integers;
}

}  // namespace

absl::StatusOr<ResizeSizes::Slot> ResizeSizes::Slot::Of(OpPlanner& op, absl::string_view name) {
  Slot slot;
  slot.name = std::string(name);
  for (int i = 0; i < op.InputCount(name); ++i) {
    const TensorType type = op.InputType(name, i);
    RETURN_IF_ERROR(WithElementType(type.dtype, [](auto) { return absl::OkStatus(); }));
    ASSIGN_OR_RETURN(const Buffer buffer, op.Read(name, type.dtype, Layout::kRowMajor, i));
    slot.tensors.push_back({buffer, type, op.builder().FindKnown(op.InputValue(name, i))});
  }
  return slot;
}

bool ResizeSizes::Slot::is_decided() const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Numbers& numbers) { return !numbers.known; });
}

std::vector<double> ResizeSizes::Slot::In(const StepContext* run) const {
  std::vector<double> all;
  for (const Numbers& numbers : tensors) {
    if (numbers.known) {
      all.insert(all.end(), numbers.known->begin(), numbers.known->end());
      continue;
    }
    const absl::Status status = WithElementType(numbers.type.dtype, [&](auto element) {
      for (const auto value : run->Of<decltype(element)>(numbers.buffer)) {
        all.push_back(static_cast<double>(value));
      }
      return absl::OkStatus();
    });
    status.IgnoreError();  // Of has checked the type
  }
  return all;
}

std::vector<std::optional<double>> ResizeSizes::Slot::KnownNumbers() const {
  std::vector<std::optional<double>> all;
  for (const Numbers& numbers : tensors) {
    if (numbers.known) {
      all.insert(all.end(), numbers.known->begin(), numbers.known->end());
    } else {
      all.resize(all.size() + numbers.type.size());
    }
  }
  return all;
}

absl::StatusOr<ResizeSizes> ResizeSizes::Of(OpPlanner& op, bool is_v2) {
  const OpAttributes& attributes = op.attributes();
  const Dims& x = op.InputDims("X");
  const auto axes = static_cast<int64_t>(x.size()) - 2;
  const bool is_channels_last = IsChannelsLast(attributes.String("data_layout"));
  ResizeSizes sizes;
  sizes.first_axis_ = is_channels_last ? 1 : 2;
  const DimsView from = SpatialDims(x, is_channels_last);
  sizes.from_.assign(from.begin(), from.end());
  ResizeRequest& request = sizes.request_;
  request.is_v2 = is_v2;
  request.align_corners = attributes.Bool("align_corners");
  request.has_size_list = op.HasInput("SizeTensor");
  const std::vector<double> scale =
      is_v2 ? attributes.Floats("scale") : std::vector<double>{attributes.Float("scale")};
  request.scales = ScalesOfAttribute(is_v2, scale, axes);
  const std::vector<int64_t> wanted = {attributes.Int("out_d"), attributes.Int("out_h"),
                                       attributes.Int("out_w")};
  request.wanted.assign(wanted.end() - axes, wanted.end());
  ASSIGN_OR_RETURN(sizes.sizes_, Slot::Of(op, request.has_size_list ? "SizeTensor" : "OutSize"));
  ASSIGN_OR_RETURN(sizes.scales_, Slot::Of(op, "Scale"));
  return sizes;
}

const std::string* ResizeSizes::FindDecidedSlot() const {
  if (sizes_.is_decided()) return &sizes_.name;
  return scales_.is_decided() ? &scales_.name : nullptr;
}

absl::StatusOr<std::vector<ResizedAxis>> ResizeSizes::AxesIn(const StepContext* run) const {
  ResizeRequest request = request_;
  request.sizes = Integers(sizes_.In(run));
  if (!scales_.tensors.empty()) request.scales = scales_.In(run);
  return ResizedAxes(from_, request);
}

absl::StatusOr<std::vector<ResizedAxis>> ResizeSizes::Known() const {
  if (const std::string* const slot = FindDecidedSlot(); slot != nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "input ", *slot, " is not known before the run; want what shapes and constants decide"));
  }
  return AxesIn(nullptr);
}

absl::StatusOr<std::vector<ResizedAxis>> ResizeSizes::In(const StepContext& run,
                                                         const Dims& most) const {
  ASSIGN_OR_RETURN(std::vector<ResizedAxis> axes, AxesIn(&run));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].to <= most[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the output has the size ", axes[i].to, " on axis ", i, " of ", axes.size(),
                     "; want at most ", most[i], ", which the program declares of Out"));
  }
  return axes;
}

std::vector<Buffer> ResizeSizes::buffers() const {
  std::vector<Buffer> all;
  for (const Slot* slot : {&sizes_, &scales_}) {
    for (const Numbers& numbers : slot->tensors) {
      if (!numbers.known) all.push_back(numbers.buffer);
    }
  }
  return all;
}

absl::StatusOr<Dims> ResizeSizes::Most(const OpPlanner& op) const {
  const VarType::TensorDesc* const tensor = op.OutputValue("Out").variable().tensor();
  const Dims declared =
      tensor != nullptr ? Dims(tensor->dims().begin(), tensor->dims().end()) : Dims();
  const bool has_rank = declared.size() == from_.size() + 2;
  const std::vector<std::optional<double>> known = sizes_.KnownNumbers();
  Dims most;
  for (size_t i = 0; i < from_.size(); ++i) {
    if (known.size() == from_.size() && known[i]) {
      most.push_back(std::max<int64_t>(Integers({*known[i]})[0], 1));
    } else if (has_rank && declared[first_axis_ + i] > 0) {
      most.push_back(declared[first_axis_ + i]);
    } else {
      return absl::UnimplementedError(
          absl::StrCat("the run computes input ", *FindDecidedSlot(), ", and Out is declared ",
                       DimsText(declared),
                       "; want what shapes and constants decide, or Out declared with the "
                       "largest size that there can be on each axis"));
    }
  }
  return most;
}

}  // namespace fixpoint::executor
