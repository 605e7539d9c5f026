#include "runtime/executor/plan_builder.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/layout.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

constexpr int kChannelAxis = 1;

// Whether both layouts are the same order of elements.
bool LieAlike(const Dims& dims) {
  return dims.size() != 4 || dims[kChannelAxis] == 1 || dims[2] * dims[3] == 1;
}

absl::string_view LayoutName(Layout layout) {
  return layout == Layout::kChannelsLast ? "channels last" : "row major";
}

// The channels of codes, as they lie in memory.
kernels::Channels ChannelsOf(const TensorType& type, const Codes& codes) {
  kernels::Channels channels;
  if (!codes.channel_axis) {
    channels.inner = type.size();
    return channels;
  }
  const int axis = *codes.channel_axis;
  channels.count = type.dims[axis];
  if (codes.layout == Layout::kChannelsLast) {
    CHECK_EQ(axis, kChannelAxis);
    channels.outer = type.dims[0] * type.dims[2] * type.dims[3];
    return channels;
  }
  for (int i = 0; i < axis; ++i) channels.outer *= type.dims[i];
  for (size_t i = axis + 1; i < type.dims.size(); ++i) channels.inner *= type.dims[i];
  return channels;
}

template <typename Code>
void NumbersFromCodes(absl::Span<const Code> codes, absl::Span<float> numbers) {
  std::copy(codes.begin(), codes.end(), numbers.begin());
}

}  // namespace

const PlanBuilder::PlannedValue& PlanBuilder::Find(const Value& value) const {
  const auto found = values_.find(&value);
  CHECK(found != values_.end()) << value.variable().name() << " is not planned";
  return found->second;
}

PlanBuilder::PlannedValue& PlanBuilder::Find(const Value& value) {
  return const_cast<PlannedValue&>(std::as_const(*this).Find(value));
}

Buffer PlanBuilder::AddBuffer(BufferInfo info) {
  const Buffer buffer{static_cast<int>(plan_.buffers.size()), info.type.size()};
  const absl::StatusOr<int64_t> bytes = TensorBytes(info.type.dtype, info.type.dims);
  // Of all together, so that no sum of them overflows.
  constexpr int64_t kMostBytes = int64_t{1} << 62;
  if (bytes.ok() && *bytes <= kMostBytes - bytes_) {
    bytes_ += *bytes;
  } else if (status_.ok()) {
    status_ = absl::FailedPreconditionError(
        absl::StrCat("there is no memory for \"", info.name, "\" ", DimsText(info.type.dims)));
  }
  plan_.buffers.push_back(std::move(info));
  return buffer;
}

Buffer PlanBuilder::NewBuffer(std::string name, TensorType type, Layout layout) {
  return AddBuffer({std::move(name), std::move(type), layout});
}

void PlanBuilder::AddFeed(const Value& value, const std::string& variable, const TensorType& type) {
  const Buffer buffer = AddBuffer({variable, type, Layout::kRowMajor, BufferInfo::Place::kFeed});
  plan_.feeds.push_back({variable, buffer});
  values_[&value] = {type, buffer};
}

void PlanBuilder::AddPersistable(const Variable& variable, const TensorType& type) {
  const Buffer buffer =
      AddBuffer({variable.name(), type, Layout::kRowMajor, BufferInfo::Place::kScope});
  plan_.persistables.push_back({variable.name(), buffer});
  persistables_[&variable] = buffer;
  for (const Value* value : variable.values()) {
    if (value->origin() == Value::Origin::kEntry) values_[value] = {type, buffer};
  }
}

bool PlanBuilder::HasPersistable(const Variable& variable) const {
  return persistables_.contains(&variable);
}

Layout PlanBuilder::LayoutOf(const Value& value) const {
  const PlannedValue& planned = Find(value);
  if (planned.channels_last) return Layout::kChannelsLast;
  if (planned.row_major) return Layout::kRowMajor;
  return planned.codes->layout;
}

void PlanBuilder::BeginOp(const Op* op) {
  op_ = op;
  read_by_op_.clear();
}

void PlanBuilder::AddStep(Step step) {
  step.op = op_;
  plan_.steps.push_back(std::move(step));
}

void PlanBuilder::AddCopy(std::string name, Buffer from, Buffer to) {
  AddStep({std::move(name),
           nullptr,
           "",
           {from},
           {to},
           0,
           [from, to, bytes = info(to).bytes()](const StepContext& run) {
             // They may lie in one place.
             std::memmove(run.Of<uint8_t>(to).data(), run.Of<uint8_t>(from).data(), bytes);
             return absl::OkStatus();
           }});
}

absl::Status PlanBuilder::ConvertLayout(const std::string& name, const TensorType& type,
                                        Buffer from, Layout layout, Buffer* to) {
  const kernels::ImageOrder order = layout == Layout::kChannelsLast
                                        ? kernels::ImageOrder::kToChannelsLast
                                        : kernels::ImageOrder::kToRowMajor;
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::LayoutConversion> conversion,
                   kernels::LayoutConversion::Plan(type.dims, ElementSize(type.dtype), order));
  *to = NewBuffer(name, type, layout);
  AddStep({absl::StrCat("to ", LayoutName(layout)),
           nullptr,
           conversion->implementation(),
           {from},
           {*to},
           0,
           [conversion, from, to = *to](const StepContext& run) {
             conversion->Run(run.Of<uint8_t>(from).data(), run.Of<uint8_t>(to).data());
             return absl::OkStatus();
           }});
  return absl::OkStatus();
}

absl::StatusOr<Buffer> PlanBuilder::NumbersOf(const Value& value, const PlannedValue& planned) {
  const Codes codes = *planned.codes;
  const Buffer numbers = NewBuffer(value.variable().name(), planned.type, codes.layout);
  const bool is_signed = codes.type == kernels::CodeType::kInt8;
  if (planned.holds_codes) {
    AddStep(
        {"codes to numbers", nullptr, "", {codes.codes}, {numbers}, 0, [=](const StepContext& run) {
           if (is_signed) {
             NumbersFromCodes<int8_t>(run.Of<int8_t>(codes.codes), run.Floats(numbers));
           } else {
             NumbersFromCodes<uint8_t>(run.Of<uint8_t>(codes.codes), run.Floats(numbers));
           }
           return absl::OkStatus();
         }});
    return numbers;
  }
  const kernels::Channels channels = ChannelsOf(planned.type, codes);
  AddStep({"dequantize",
           nullptr,
           "",
           {codes.codes, codes.ranges},
           {numbers},
           0,
           [=](const StepContext& run) {
             if (is_signed) {
               kernels::Dequantize(run.Of<int8_t>(codes.codes), run.Floats(codes.ranges), channels,
                                   codes.largest_code, run.Floats(numbers));
             } else {
               kernels::Dequantize(run.Of<uint8_t>(codes.codes), run.Floats(codes.ranges), channels,
                                   codes.largest_code, run.Floats(numbers));
             }
             return absl::OkStatus();
           }});
  return numbers;
}

absl::StatusOr<Buffer> PlanBuilder::Read(const Value& value, Layout layout) {
  PlannedValue& planned = Find(value);
  if (!planned.row_major && !planned.channels_last) {
    ASSIGN_OR_RETURN(const Buffer numbers, NumbersOf(value, planned));
    planned.In(planned.codes->layout) = numbers;
  }
  std::optional<Buffer>& wanted = planned.In(layout);
  if (!wanted) {
    const Buffer held = planned.row_major ? *planned.row_major : *planned.channels_last;
    if (LieAlike(planned.type.dims)) {
      wanted = held;
    } else {
      CHECK_EQ(planned.type.dims.size(), 4u);
      Buffer converted;
      RETURN_IF_ERROR(
          ConvertLayout(value.variable().name(), planned.type, held, layout, &converted));
      wanted = converted;
    }
  }
  read_by_op_.insert(wanted->index);
  return *wanted;
}

absl::StatusOr<const Codes*> PlanBuilder::ReadCodes(const Value& value, Layout layout) {
  PlannedValue& planned = Find(value);
  if (!planned.codes) return nullptr;
  Codes& codes = *planned.codes;
  if (codes.layout != layout && !LieAlike(planned.type.dims)) {
    TensorType type = planned.type;
    type.dtype = codes.type == kernels::CodeType::kInt8 ? VarType::INT8 : VarType::UINT8;
    Buffer converted;
    RETURN_IF_ERROR(ConvertLayout(info(codes.codes).name, type, codes.codes, layout, &converted));
    codes.codes = converted;
  }
  codes.layout = layout;
  return &codes;
}

Buffer PlanBuilder::KeptIn(const Value& value, const TensorType& type) {
  const Variable& variable = value.variable();
  // The scope has no tensor for it yet.
  if (!HasPersistable(variable)) AddPersistable(variable, type);
  if (last_written_.emplace(&variable, &value).second) written_.push_back(&variable);
  last_written_[&variable] = &value;
  return persistables_.at(&variable);
}

Buffer PlanBuilder::Write(const Value& value, const TensorType& type, Layout layout,
                          bool in_place) {
  const Variable& variable = value.variable();
  std::optional<Buffer> buffer;
  if (variable.persistable()) {
    const Buffer tensor = KeptIn(value, type);
    const bool is_read = read_by_op_.contains(tensor.index);
    const bool fits =
        info(tensor).type == type && (layout == Layout::kRowMajor || LieAlike(type.dims));
    if (fits && (in_place || !is_read)) buffer = tensor;
  }
  if (!buffer) buffer = NewBuffer(variable.name(), type, layout);
  PlannedValue planned{type};
  planned.In(layout) = *buffer;
  values_[&value] = std::move(planned);
  return *buffer;
}

void PlanBuilder::WriteCodes(const Value& value, const TensorType& type, Codes codes,
                             bool holds_codes) {
  if (value.variable().persistable()) KeptIn(value, type);
  PlannedValue planned{type};
  planned.codes = codes;
  planned.holds_codes = holds_codes;
  values_[&value] = std::move(planned);
}

bool PlanBuilder::MayChange(const Value& value) const { return value.variable().persistable(); }

absl::Status PlanBuilder::View(const Value& value, const Value& of, Dims dims) {
  ASSIGN_OR_RETURN(const Buffer buffer, Read(of, Layout::kRowMajor));
  const TensorType type{TypeOf(of).dtype, std::move(dims)};
  if (MayChange(of) || MayChange(value)) {
    AddCopy("copy", buffer, Write(value, type, Layout::kRowMajor));
  } else {
    values_[&value] = {type, buffer};
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::Share(const Value& value, const Value& of) {
  if (MayChange(of) || MayChange(value)) {
    return View(value, of, TypeOf(of).dims);
  }
  PlannedValue shared = Find(of);
  values_[&value] = std::move(shared);
  return absl::OkStatus();
}

absl::StatusOr<Plan> PlanBuilder::Finish(const std::vector<const Value*>& fetches) {
  BeginOp(nullptr);
  for (const Variable* variable : written_) {
    const Buffer tensor = persistables_.at(variable);
    ASSIGN_OR_RETURN(const Buffer buffer, Read(*last_written_.at(variable), Layout::kRowMajor));
    if (buffer == tensor) continue;
    if (info(buffer).type != info(tensor).type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable \"", variable->name(), "\" is written as ", DimsText(info(buffer).type.dims),
          " and held ", DimsText(info(tensor).type.dims), " before; want the same type"));
    }
    AddCopy("store", buffer, tensor);
  }
  for (const Value* fetch : fetches) {
    ASSIGN_OR_RETURN(const Buffer buffer, Read(*fetch, Layout::kRowMajor));
    plan_.fetches.push_back({{fetch->variable().name(), buffer}, TypeOf(*fetch).dims});
  }
  PlaceBuffers(in_place_, &plan_);
  return std::move(plan_);
}

}  // namespace fixpoint::executor
