// oneDNN's convolutions and products of codes.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sums_descs.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

// A planned primitive.
struct SumsPrimitive {
  dnnl::primitive_desc_base desc;
  std::string implementation;
  dnnl::memory::desc inputs;
  dnnl::memory::desc plain_weights;  // as Pack gets them
  dnnl::memory::desc weights;        // as the primitive wants them
  dnnl::memory::desc bias;           // of floats; zero: there is none
  dnnl::memory::desc out;
  int64_t channels;  // of the output, the last axis in memory
};

// `weights` is the type of the weights.
template <typename Desc, typename Shape>
SumsPrimitive SumsPrimitiveOf(const Desc& desc, const Shape& shape,
                              dnnl::memory::data_type weights) {
  return {desc,
          desc.impl_info_str(),
          desc.src_desc(),
          PlainWeightsDesc(shape, weights),
          desc.weights_desc(),
          desc.bias_desc(),
          desc.dst_desc(),
          Channels(shape)};
}

// By one primitive that does all there is to a sum. oneDNN multiplies by scales of the weights
// before it adds a bias; so where there is one, the scales are the first stage of what is done
// after it. As a row of sums_kernels.h.
std::unique_ptr<IntegerSums> PlanOnednnSums(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_SUMS_H_
