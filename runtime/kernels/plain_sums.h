// Sums of products of codes as integers, for kernels that finish them by loops (finished_sums.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_PLAIN_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_PLAIN_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/onednn_sums.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/padded_lines.h"
#include "runtime/kernels/sum_parts.h"

namespace fixpoint::kernels {

class PlainSums : public PacksWeights<int8_t> {
 public:
  // Fills sums, [row, channel], and the offsets that all sums of a channel (of each matrix) still
  // lack, the bias included. Zero points of weights are not subtracted. Both are computed modulo
  // 2^32; together they are exact. REQUIRES: the sizes that were planned.
  virtual void Run(const SumOperands& operands, absl::Span<int32_t> sums,
                   absl::Span<int32_t> offsets) = 0;

  virtual std::string implementation() const = 0;
};

// Inputs as they lie in memory, and the padding that they are copied with.
struct PaddedImages {
  int64_t count;
  int64_t height;
  int64_t top;
  int64_t bottom;
  PaddedLine line;

  int64_t padded_size() const { return count * (top + height + bottom) * line.padded_size(); }
};

// Uses a primitive that multiplies UINT8 by INT8 and stores INT32, whatever the codes of the inputs
// are: for other codes oneDNN itself would compute in float. `images` describes the copy that it
// reads, where is_copied.
std::unique_ptr<PlainSums> SumsByInstructions(const SumsPrimitive& primitive,
                                              const WeightsOfSums& weights,
                                              const InputCoding& inputs, const PaddedImages& images,
                                              bool is_copied);

// Uses a primitive on floats, which add integers exactly up to 2^24. Where a sum can exceed that,
// its weights are split among several runs, whose results are added as integers.
std::unique_ptr<PlainSums> SumsInFloats(const SumsPrimitive& primitive,
                                        const WeightsOfSums& weights, const InputCoding& inputs);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PLAIN_SUMS_H_
