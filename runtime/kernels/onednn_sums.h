// What oneDNN's convolutions and products of codes share.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

inline dnnl::memory::data_type DataTypeOf(CodeType type) {
  return type == CodeType::kUint8 ? dnnl::memory::data_type::u8 : dnnl::memory::data_type::s8;
}

inline dnnl::memory::data_type DataTypeOf(OutputType type) {
  return type == OutputType::kFloat   ? dnnl::memory::data_type::f32
         : type == OutputType::kUint8 ? dnnl::memory::data_type::u8
                                      : dnnl::memory::data_type::s8;
}

// Whether oneDNN's implementation of that name adds up products of codes exactly: by instructions
// of one of the sets that have such (HasExactIntegerProducts). This is an allow-list, because where
// oneDNN has no such implementation for a shape, it uses one that adds pairs of products in 16
// bits, which saturate.
bool AddsCodesExactly(absl::string_view implementation);
// Whether it also stores sums of more than 2^24 exactly. Others convert them to floats.
bool StoresSumsExactly(absl::string_view implementation);

// Advances to oneDNN's first implementation that is `exact`. False: there is none.
template <typename Desc>
bool Choose(bool (*exact)(absl::string_view), Desc* desc) {
  while (!exact(desc->impl_info_str())) {
    if (!desc->next_impl()) return false;
  }
  return true;
}

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

template <typename Desc>
SumsPrimitive SumsPrimitiveOf(const Desc& desc, const dnnl::memory::desc& plain_weights,
                              int64_t channels) {
  return {desc,
          desc.impl_info_str(),
          desc.src_desc(),
          plain_weights,
          desc.weights_desc(),
          desc.bias_desc(),
          desc.dst_desc(),
          channels};
}

// A primitive that computes sums and all that follows. oneDNN multiplies by the scales of the
// weights before it adds a bias, so where there is a bias, the scales are the first stage after it.
class FusedSums {
 public:
  // `out` is what the primitive writes, with its channels on `channel_axis`, and `scales_mask` says
  // which axes of the weights the scales are on.
  FusedSums(const SumCoding& coding, const Epilogue& epilogue, const dnnl::memory::desc& out,
            int channel_axis, int scales_mask);

  dnnl::primitive_attr attr() const;
  // The desc of a bias with `axes` axes; zero where there is no bias.
  dnnl::memory::desc bias(int64_t channels, int axes) const;
  // The sums. REQUIRES, where there is a bias: they are at most 2^24.
  std::unique_ptr<IntegerSums> Make(const SumsPrimitive& primitive) const;

 private:
  const SumCoding coding_;
  const Epilogue epilogue_;
  const EpiloguePostOps post_ops_;
  const int scales_mask_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_SUMS_H_
