#include "runtime/kernels/onednn.h"

#include "absl/strings/str_cat.h"

namespace fixpoint::kernels {
namespace {

dnnl::memory::dims DimsOf(DimsView dims) { return {dims.begin(), dims.end()}; }

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& Stream() {
  thread_local dnnl::stream stream(Engine());
  return stream;
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
  return absl::UnimplementedError(
      absl::StrCat("oneDNN has no kernel for ", what, ": ", error.what()));
}

}  // namespace fixpoint::kernels
