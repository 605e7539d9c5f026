#include "runtime/kernels/onednn.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/guarded_call.h"
#include "runtime/kernels/deferred_primitives.h"
#include "runtime/memory.h"

namespace fixpoint::kernels {
namespace {

dnnl::memory::dims DimsOf(DimsView dims) { return {dims.begin(), dims.end()}; }

// Each thread has one.
thread_local DeferredPrimitives* deferring = nullptr;
thread_local int64_t primitives_made = 0;

// Memory that a run of one primitive works in.
absl::Span<uint8_t> ScratchOfThread(int64_t bytes) {
  thread_local Memory memory;
  thread_local int64_t size = 0;
  if (size < bytes) {
    absl::StatusOr<Memory> larger = AllocateMemory(bytes, "a primitive of oneDNN");
    if (!larger.ok()) throw std::bad_alloc();
    memory = *std::move(larger);
    size = bytes;
  }
  return {memory.get(), static_cast<size_t>(bytes)};
}

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

DeferredPrimitives::DeferredPrimitives() : outer_(std::exchange(deferring, this)) {}

DeferredPrimitives::~DeferredPrimitives() {
  CHECK_EQ(deferring, this);
  deferring = outer_;
}

absl::Status DeferredPrimitives::Make() {
  const absl::StatusOr<int> made = Planned("what was planned", [this] {
    for (const std::weak_ptr<Primitive>& weak : primitives_) {
      const std::shared_ptr<Primitive> primitive = weak.lock();
      if (primitive != nullptr && !primitive->is_made()) primitive->Make();
    }
    return 0;
  });
  primitives_.clear();
  return made.status();
}

int64_t PrimitivesMade() { return primitives_made; }

std::shared_ptr<Primitive> Primitive::Plan(const dnnl::primitive_desc_base& desc) {
  std::shared_ptr<Primitive> primitive(new Primitive(desc));
  if (deferring != nullptr) {
    deferring->primitives_.push_back(primitive);
  } else {
    primitive->Make();
  }
  return primitive;
}

std::shared_ptr<const Primitive> Primitive::Create(const dnnl::primitive_desc_base& desc) {
  std::shared_ptr<Primitive> primitive(new Primitive(desc));
  primitive->Make();
  return primitive;
}

void Primitive::Make() {
  const ThreadsInUse threads(threads_);
  made_ = dnnl::primitive(desc_.get());
  desc_ = {};  // the primitive has a copy
  ++primitives_made;
}

Execution::Execution(const dnnl::primitive_desc_base& desc, absl::Span<const Argument> arguments)
    : planned_(Primitive::Plan(desc)), primitive_(planned_) {
  Take(arguments);
}

Execution::Execution(std::shared_ptr<const Primitive> shared, absl::Span<const Argument> arguments)
    : primitive_(std::move(shared)) {
  Take(arguments);
}

void Execution::Take(absl::Span<const Argument> arguments) {
  const auto take = [this](int name, const Operand& operand) {
    memories_.push_back(operand.memory());
    arguments_.push_back({name, memories_.back().get()});
  };
  for (const auto& [name, operand] : arguments) take(name, operand);
  if (primitive_->scratchpad().get_size() == 0) return;
  scratchpad_ = Operand::Elsewhere(primitive_->scratchpad());
  take(DNNL_ARG_SCRATCHPAD, *scratchpad_);
}

void Execution::Run() {
  try {
    if (!primitive_->is_made()) planned_->Make();
    if (scratchpad_) scratchpad_->PointTo(ScratchOfThread(scratchpad_->bytes()));
    // Each thread that plans and runs has one.
    thread_local dnnl::stream stream(Engine());
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_->get(), stream.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()),
        "it cannot run the primitive that it planned");
    stream.wait();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw KernelError(absl::StrCat("oneDNN failed in a run: ", error.what()));
  }
}

Execution Reordering(const Operand& from, const Operand& to) {
  // oneDNN would share out the smallest one.
  const ThreadsInUse threads(ThreadsFor(from.bytes() + to.bytes(), 1));
  return Execution(dnnl::reorder::primitive_desc(from.memory(), to.memory(), Attributes()),
                   {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory::desc ChannelsLast(DimsView dims, dnnl::memory::data_type type) {
  return {DimsOf(dims), type, dnnl::memory::format_tag::nhwc};
}

dnnl::memory::desc RowMajor(DimsView dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (int axis = static_cast<int>(dims.size()) - 2; axis >= 0; --axis) {
    strides[axis] = strides[axis + 1] * dims[axis + 1];
  }
  return {DimsOf(dims), type, strides};
}

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc AnyLayout(DimsView dims, dnnl::memory::data_type type) {
  return {DimsOf(dims), type, dnnl::memory::format_tag::any};
}

absl::Status CannotPlan(absl::string_view what, const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) return NoMemoryFor(what);
  return absl::UnimplementedError(
      absl::StrCat("oneDNN has no kernel for ", what, ": ", error.what()));
}

absl::Status NoMemoryFor(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("there is no memory for ", what));
}

}  // namespace fixpoint::kernels
