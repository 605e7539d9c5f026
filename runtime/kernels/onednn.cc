#include "runtime/kernels/onednn.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fixpoint::kernels {
namespace {

dnnl::memory::dims DimsOf(DimsView dims) { return {dims.begin(), dims.end()}; }

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

Execution::Execution(dnnl::primitive primitive, absl::Span<const Argument> arguments)
    : primitive_(std::move(primitive)) {
  for (const auto& [name, operand] : arguments) {
    memories_.push_back(operand.memory());
    arguments_.push_back({name, memories_.back().get()});
  }
}

void Execution::Run() const {
  // Of each thread that plans and runs.
  thread_local dnnl::stream stream(Engine());
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
  CHECK_EQ(status, dnnl_success);
  stream.wait();
}

Execution Reordering(const Operand& from, const Operand& to) {
  return Execution(dnnl::reorder(from.memory(), to.memory()),
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
