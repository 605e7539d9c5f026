// What the kernels share of oneDNN.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_

#include <glog/logging.h>

#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/dims.h"

namespace fixpoint::kernels {

const dnnl::engine& Engine();
// Runs one primitive after the other, in the calling thread and those that it starts.
dnnl::stream& Stream();

// Dims as the program says them, [batch, channels, height, width], in memory with the channels
// last.
dnnl::memory::desc ChannelsLast(DimsView dims, dnnl::memory::data_type type);
// Row major.
dnnl::memory::desc RowMajor(DimsView dims, dnnl::memory::data_type type);
// As a primitive wants it.
dnnl::memory::desc AnyLayout(DimsView dims, dnnl::memory::data_type type);

// Memory of a layout, wherever it is when it is used.
inline dnnl::memory Anywhere(const dnnl::memory::desc& desc) {
  return dnnl::memory(desc, Engine(), nullptr);
}

// Says where it is. REQUIRES: it has the layout's size.
template <typename T>
void Point(dnnl::memory& memory, absl::Span<T> data) {
  CHECK_EQ(memory.get_desc().get_size(), data.size() * sizeof(T));
  // oneDNN takes memory that it only reads as writable too.
  memory.set_data_handle(const_cast<std::remove_const_t<T>*>(data.data()));
}

// Error (kUnimplemented): oneDNN cannot do what a primitive was planned for.
absl::Status CannotPlan(absl::string_view what, const dnnl::error& error);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_
