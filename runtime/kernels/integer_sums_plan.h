// The two ways to exact sums, for every primitive that adds up products.

#ifndef FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_
#define FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/sum_parts.h"

namespace fixpoint::kernels {

inline dnnl::memory::data_type DataTypeOf(CodeType type) {
  return type == CodeType::kUint8 ? dnnl::memory::data_type::u8 : dnnl::memory::data_type::s8;
}

inline dnnl::memory::data_type DataTypeOf(OutputType type) {
  return type == OutputType::kFloat   ? dnnl::memory::data_type::f32
         : type == OutputType::kUint8 ? dnnl::memory::data_type::u8
                                      : dnnl::memory::data_type::s8;
}

// Whether a sum of so many products of codes of inputs and of int8 fits in 32 bits, whatever the
// codes are. Products with the zero point are a sum of their own, which is taken off.
inline bool SumsFit(int64_t products, const InputCoding& inputs) {
  const int sums = inputs.has_zero_point ? 2 : 1;
  return products <= INT32_MAX / (sums * 128 * LargestMagnitude(inputs));
}

// Whether oneDNN's implementation of that name adds up products of codes exactly: by instructions
// of one of the sets that have such (HasExactIntegerProducts). An allow-list: where oneDNN has none
// with them for a shape, it takes one with pairs of products in 16 bits, which saturate.
bool AddsCodesExactly(absl::string_view implementation);

// Goes on to the first of oneDNN's implementations that does. False: there is none.
template <typename Desc>
bool ChooseExact(Desc* desc) {
  while (!AddsCodesExactly(desc->impl_info_str())) {
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
  dnnl::memory::desc out;
  int64_t channels;  // of the output, the last axis in memory
};

template <typename Desc>
SumsPrimitive SumsPrimitiveOf(const Desc& desc, const dnnl::memory::desc& plain_weights,
                              int64_t channels) {
  return {desc,          desc.impl_info_str(), desc.src_desc(),
          plain_weights, desc.weights_desc(),  desc.dst_desc(),
          channels};
}

// Attributes of a primitive by instructions, with scales of the weights on the axes of `mask`.
inline dnnl::primitive_attr AttrOf(const InputCoding& inputs, int mask,
                                   const EpiloguePostOps& epilogue) {
  dnnl::primitive_attr attr = epilogue.attr();
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, mask);
  if (inputs.has_zero_point) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
  return attr;
}

// Of codes, with scales of the weights, and with the epilogue after it: by instructions that add
// products of 8 bits in 32.
std::unique_ptr<IntegerSums> ExactInstructions(const SumsPrimitive& primitive,
                                               const InputCoding& inputs,
                                               const EpiloguePostOps& epilogue);

// Of floats. Floats add integers exactly up to 2^24; where the products of a sum can be more, its
// weights are shared out to several runs, whose sums are added as integers. Scales are applied
// afterwards, and there is no epilogue.
std::unique_ptr<IntegerSums> ExactFloats(const SumsPrimitive& primitive, const InputCoding& inputs,
                                         const WeightsOfSums& sums);

// Sums with an epilogue: by `instructions`, which gives null where it has none for it, else by
// `floats`. What is not done after a product, or element by element, are loops of our own. Errors:
// those of Planned.
absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(
    absl::string_view what,
    const std::function<std::unique_ptr<IntegerSums>(const Epilogue&, OutputType)>& instructions,
    const std::function<std::unique_ptr<IntegerSums>()>& floats, int64_t out_size,
    const Epilogue& epilogue, OutputType output);

// `sums`, which are numbers without an epilogue, with it as loops, if there is anything to do.
// Throws std::bad_alloc.
std::unique_ptr<IntegerSums> WithLoopsAfter(std::unique_ptr<IntegerSums> sums, int64_t out_size,
                                            const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INTEGER_SUMS_PLAN_H_
