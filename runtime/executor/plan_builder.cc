#include "runtime/executor/plan_builder.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/fusion.h"
#include "runtime/executor/keeping.h"
#include "runtime/executor/recomputing.h"
#include "runtime/executor/row_blocks.h"
#include "runtime/kernels/code_conversion.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/layout.h"
#include "runtime/kernels/threads.h"
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
  Dims dims = type.dims;
  int axis = *codes.channel_axis;
  if (codes.layout == Layout::kChannelsLast) {
    dims = {dims[0], dims[2], dims[3], dims[1]};
    axis = axis == 0 ? 0 : axis == kChannelAxis ? 3 : axis - 1;
  }
  channels.count = dims[axis];
  for (int i = 0; i < axis; ++i) channels.outer *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) channels.inner *= dims[i];
  return channels;
}

template <typename Code>
void NumbersFromCodes(absl::Span<const Code> codes, absl::Span<float> numbers) {
  const auto size = static_cast<int64_t>(codes.size());
  kernels::RunOnThreads(kernels::ThreadsFor(size, sizeof(Code) + sizeof(float)), size,
                        [&](int, int64_t begin, int64_t end) {
                          std::copy(codes.begin() + begin, codes.begin() + end,
                                    numbers.begin() + begin);
                        });
}

// No single buffer may be larger.
int64_t MachineMemory() {
  static const int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return bytes;
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
  // No sum of buffers may be larger, so that sums do not overflow.
  constexpr int64_t kMostBytes = int64_t{1} << 62;
  if (bytes.ok() && *bytes <= std::min(kMostBytes - bytes_, MachineMemory())) {
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

void PlanBuilder::AddFeed(const Value& value, const std::string& variable, const GivenType& given) {
  const Buffer buffer =
      AddBuffer({variable, given.type, Layout::kRowMajor, BufferInfo::Place::kFeed});
  plan_.feeds.push_back({variable, buffer});
  values_[&value] = {given.type, buffer};
  SetLod(value, given.lod);
}

void PlanBuilder::AddPersistable(const Variable& variable, const GivenType& given) {
  const Buffer buffer =
      AddBuffer({variable.name(), given.type, Layout::kRowMajor, BufferInfo::Place::kScope});
  persistables_[&variable] = {plan_.persistables.size(), given.lod};
  plan_.persistables.push_back({variable.name(), buffer});
}

void PlanBuilder::AddEntry(const Value& value) {
  const Persistable& held = persistables_.at(&value.variable());
  Plan::Persistable& planned = plan_.persistables[held.index];
  planned.lod_before = held.lod;
  values_[&value] = {info(planned.buffer).type, planned.buffer};
  SetLod(value, held.lod);
}

std::optional<Buffer> PlanBuilder::EntryOf(const Variable& variable, const TensorType& type) const {
  if (!HasPersistable(variable) || info(TensorOf(variable)).type != type) return std::nullopt;
  return TensorOf(variable);
}

void PlanBuilder::AddGiven(const Value& value, const PlanBuilder& around) {
  AddFeed(value, value.variable().name(), {around.TypeOf(value), around.LodOf(value)});
  if (const auto known = around.FindKnown(value)) {
    known_.Set(*FindElements(value), *known, plan_.buffers);
  }
}

void PlanBuilder::AddGivenCodes(const Value& value, const PlanBuilder& around) {
  const PlannedValue& planned = around.Find(value);
  Codes codes = *planned.codes;
  std::vector<Buffer*> buffers = {&codes.codes, &codes.ranges};
  if (codes.zero_point) buffers.push_back(&*codes.zero_point);
  for (Buffer* buffer : buffers) *buffer = AddGivenBuffer(around.info(*buffer));
  WriteCodes(value, planned.type, codes, /*holds_codes=*/false);
  SetLod(value, around.LodOf(value));
}

void PlanBuilder::AddKept(const Value& at_entry, const GivenType& given) {
  AddPersistable(at_entry.variable(), given);
  AddEntry(at_entry);
}

Buffer PlanBuilder::AddGivenBuffer(BufferInfo around) {
  around.place = BufferInfo::Place::kFeed;
  const Buffer buffer = AddBuffer(std::move(around));
  plan_.feeds.push_back({info(buffer).name, buffer});
  return buffer;
}

void PlanBuilder::AddResult(Buffer buffer) {
  plan_.fetches.push_back({info(buffer).name, buffer, info(buffer).type, {}});
}

bool PlanBuilder::Keeps(const Variable& variable) const {
  if (of_ == Of::kProgram) return variable.persistable();
  return HasPersistable(variable) || kept_unset_.contains(&variable);
}

const LoD& PlanBuilder::LodOf(const Value& value) const {
  static const LoD* const none = new LoD();
  const auto lod = lods_.find(&value);
  return lod != lods_.end() ? lod->second : *none;
}

void PlanBuilder::SetLod(const Value& value, LoD lod) {
  if (lod.empty()) {
    lods_.erase(&value);
  } else {
    lods_[&value] = std::move(lod);
  }
}

const RunShape* PlanBuilder::RunShapeOf(const Value& value) const {
  const PlannedValue& planned = Find(value);
  return planned.run_shape ? &*planned.run_shape : nullptr;
}

void PlanBuilder::SetRunShape(const Value& value, RunShape shape) {
  PlannedValue& planned = Find(value);
  planned.run_shape = shape;
  if (planned.row_major) plan_.buffers[planned.row_major->index].run_shape = shape;
}

Layout PlanBuilder::LayoutOf(const Value& value) const {
  const PlannedValue& planned = Find(value);
  if (planned.type.dims.size() != 4) return Layout::kRowMajor;
  if (planned.channels_last) return Layout::kChannelsLast;
  if (planned.row_major) return Layout::kRowMajor;
  if (planned.deferred) return planned.deferred->layout;
  CHECK(planned.codes) << value.variable().name() << " is not held";
  return planned.codes->layout;
}

void PlanBuilder::AddStep(Step step) {
  step.op = op_;
  known_.Note(step, plan_.buffers);
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
             // Both may be in the same memory, or in none.
             if (bytes > 0) {
               std::memmove(run.Of<uint8_t>(to).data(), run.Of<uint8_t>(from).data(), bytes);
             }
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
  if (codes.zero_point) {
    AddStep({"dequantize", nullptr, "", codes.buffers(), {numbers}, 0, [=](const StepContext& run) {
               kernels::Revert(run.Of<uint8_t>(codes.codes), codes.type, codes.StepIn(run),
                               codes.ZeroPointIn(run), run.Floats(numbers));
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
  if (!planned.has_elements() && planned.deferred) Compute(value, &planned);
  if (!planned.has_elements()) {
    CHECK(planned.codes) << value.variable().name() << " is not held";
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
  return *wanted;
}

absl::StatusOr<std::optional<Codes>> PlanBuilder::ReadCodes(const Value& value, Layout layout) {
  PlannedValue& planned = Find(value);
  if (!planned.codes) return std::nullopt;
  Codes& codes = *planned.codes;
  if (codes.layout != layout && !LieAlike(planned.type.dims)) {
    TensorType type = planned.type;
    type.dtype = codes.dtype();
    Buffer converted;
    RETURN_IF_ERROR(ConvertLayout(info(codes.codes).name, type, codes.codes, layout, &converted));
    codes.codes = converted;
  }
  codes.layout = layout;
  return codes;
}

const Codes* PlanBuilder::FindCodes(const Value& value) const {
  const PlannedValue& planned = Find(value);
  return planned.codes && !planned.holds_codes ? &*planned.codes : nullptr;
}

const Codes* PlanBuilder::FindNumbers(const Value& value) const {
  const PlannedValue& planned = Find(value);
  return planned.codes && planned.holds_codes ? &*planned.codes : nullptr;
}

std::optional<std::vector<double>> PlanBuilder::FindKnown(const Value& value) const {
  const std::optional<Buffer> elements = FindElements(value);
  return elements ? known_.Find(*elements, plan_.buffers) : std::nullopt;
}

std::optional<Buffer> PlanBuilder::FindElements(const Value& value) const {
  const PlannedValue& planned = Find(value);
  return planned.run_shape ? std::nullopt : planned.row_major;
}

bool PlanBuilder::IsTensorOf(const Variable& variable, Buffer buffer) const {
  return HasPersistable(variable) && TensorOf(variable) == buffer;
}

void PlanBuilder::NoteWritten(const Value& value) {
  const Variable& variable = value.variable();
  if (!Keeps(variable)) return;
  absl::flat_hash_set<const Value*>& values = values_written_[&variable];
  if (values.empty()) written_.push_back(&variable);
  values.insert(&value);
}

const Value& PlanBuilder::LastWritten(const Variable& variable) const {
  const absl::flat_hash_set<const Value*>& written = values_written_.at(&variable);
  const absl::Span<const Value* const> values = variable.values();
  const auto last = std::find_if(values.rbegin(), values.rend(),
                                 [&](const Value* value) { return written.contains(value); });
  CHECK(last != values.rend());
  return **last;
}

Buffer PlanBuilder::Write(const Value& value, const TensorType& type, Layout layout) {
  NoteWritten(value);
  const Buffer buffer = NewBuffer(value.variable().name(), type, layout);
  PlannedValue planned{type};
  planned.In(layout) = buffer;
  values_[&value] = std::move(planned);
  return buffer;
}

void PlanBuilder::Defer(const Value& value, const TensorType& type, Layout layout,
                        std::function<void(Buffer)> add_step) {
  NoteWritten(value);
  PlannedValue planned{type};
  planned.deferred = {op_, layout, std::move(add_step)};
  values_[&value] = std::move(planned);
}

bool PlanBuilder::IsDeferred(const Value& value) const {
  const PlannedValue& planned = Find(value);
  return planned.deferred && !planned.has_elements();
}

void PlanBuilder::Compute(const Value& value, PlannedValue* planned) {
  const Deferred& deferred = *planned->deferred;
  const Buffer buffer = NewBuffer(value.variable().name(), planned->type, deferred.layout);
  const Op* const op = std::exchange(op_, deferred.op);
  deferred.add_step(buffer);
  op_ = op;
  planned->In(deferred.layout) = buffer;
}

void PlanBuilder::WriteCodes(const Value& value, const TensorType& type, Codes codes,
                             bool holds_codes) {
  NoteWritten(value);
  PlannedValue planned{type};
  planned.codes = codes;
  planned.holds_codes = holds_codes;
  values_[&value] = std::move(planned);
}

absl::Status PlanBuilder::View(const Value& value, const Value& of, Dims dims) {
  ASSIGN_OR_RETURN(const Buffer buffer, Read(of, Layout::kRowMajor));
  const TensorType type{TypeOf(of).dtype, std::move(dims)};
  if (Keeps(value.variable())) {
    AddCopy("copy", buffer, Write(value, type, Layout::kRowMajor));
  } else {
    values_[&value] = {type, buffer};
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::Share(const Value& value, const Value& of) {
  SetLod(value, LodOf(of));
  const bool is_same_variable = &value.variable() == &of.variable();
  if (Keeps(value.variable()) && !is_same_variable) {
    RETURN_IF_ERROR(View(value, of, TypeOf(of).dims));
    if (const RunShape* shape = RunShapeOf(of); shape != nullptr) SetRunShape(value, *shape);
    return absl::OkStatus();
  }
  if (IsDeferred(of)) Compute(of, &Find(of));
  PlannedValue shared = Find(of);
  NoteWritten(value);
  values_[&value] = std::move(shared);
  return absl::OkStatus();
}

// After what the steps work in, whose memory the steps that compute them may use before.
void PlanBuilder::PlaceInvariants() {
  plan_.arena_bytes = std::max(plan_.arena_bytes, plan_.constant_scratch_bytes);
  for (BufferInfo& info : plan_.buffers) {
    if (info.place != BufferInfo::Place::kConstant) continue;
    info.offset = plan_.arena_bytes;
    plan_.arena_bytes += Aligned(info.bytes());
  }
}

absl::StatusOr<Plan> PlanBuilder::Finish(const std::vector<const Value*>& fetches, Form form) {
  BeginOp(nullptr);
  std::vector<Kept> kept;
  for (const Variable* variable : written_) {
    const Value& last = LastWritten(*variable);
    if (const RunShape* shape = RunShapeOf(last); shape != nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("variable \"", variable->name(), "\" is kept and ", Describe(*shape->op),
                       " decides its extents in a run; want a variable that is fetched"));
    }
    ASSIGN_OR_RETURN(const Buffer buffer, Read(last, Layout::kRowMajor));
    // The scope has no tensor for it yet.
    if (!HasPersistable(*variable)) AddPersistable(*variable, {TypeOf(last), {}});
    const Buffer tensor = TensorOf(*variable);
    plan_.persistables[persistables_.at(variable).index].lod_after = LodOf(last);
    if (buffer == tensor) continue;
    if (TypeOf(last) != info(tensor).type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variable \"", variable->name(), "\" is written as ", DimsText(TypeOf(last).dims),
          " and held ", DimsText(info(tensor).type.dims), " before; want the same type"));
    }
    kept.push_back({buffer, tensor});
  }
  for (const Value* fetch : fetches) {
    ASSIGN_OR_RETURN(Buffer buffer, Read(*fetch, Layout::kRowMajor));
    // Copies what another variable's tensor held at entry.
    if (info(buffer).place == BufferInfo::Place::kScope && !IsTensorOf(fetch->variable(), buffer)) {
      const Buffer entry = buffer;
      buffer = NewBuffer(fetch->variable().name(), TypeOf(*fetch));
      AddCopy("copy", entry, buffer);
    }
    plan_.fetches.push_back(
        {fetch->variable().name(), buffer, TypeOf(*fetch), LodOf(*fetch), Find(*fetch).run_shape});
  }
  RETURN_IF_ERROR(status_);
  for (const Kept& value : KeepInPlace(kept, in_place_, &plan_)) {
    AddCopy("store", value.buffer, value.tensor);
  }
  if (form.has_constants) SetConstantsApart(&plan_);
  if (form.varying) SetInvariantsApart(*form.varying, &plan_);
  if (!form.keeps_all) {
    FuseSteps(&in_place_, &plan_);
    RunInRowBlocks(&in_place_, &plan_);
  }
  if (form.recomputing > 0) ComputeAgain(form.recomputing, in_place_, &plan_);
  using Place = BufferInfo::Place;
  plan_.constant_scratch_bytes =
      PlaceBuffers(in_place_, plan_.constant_steps, Place::kConstantScratch, &plan_);
  plan_.arena_bytes = PlaceBuffers(in_place_, plan_.steps, Place::kArena, &plan_);
  if (form.varying) PlaceInvariants();
  return std::move(plan_);
}

}  // namespace fixpoint::executor
