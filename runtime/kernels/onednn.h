// What the kernels share of oneDNN.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
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

// Error (kUnimplemented): oneDNN cannot do what a primitive was planned for.
absl::Status CannotPlan(absl::string_view what, const dnnl::error& error);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_
