// Weights in the form that a kernel reads, made once for many runs.

#ifndef FIXPOINT_RUNTIME_KERNELS_PACKING_H_
#define FIXPOINT_RUNTIME_KERNELS_PACKING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// A kernel that reads packed weights; T is their type.
template <typename T>
class PacksWeights {
 public:
  virtual ~PacksWeights() = default;

  virtual int64_t packed_bytes() const = 0;
  // REQUIRES: weights of the size that the kernel was planned for, and packed_bytes bytes. Every
  // kernel that was planned for the same shape can read the result.
  virtual void Pack(absl::Span<const T> weights, absl::Span<uint8_t> packed) = 0;
  // Whether packed weights are the weights as they lie, so that nothing has to be packed.
  virtual bool reads_plain_weights() const { return false; }
};

// The same, into memory that it allocates.
template <typename T>
std::vector<uint8_t> Packed(PacksWeights<T>& kernel, const std::vector<T>& weights) {
  std::vector<uint8_t> packed(kernel.packed_bytes());
  kernel.Pack(weights, absl::MakeSpan(packed));
  return packed;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PACKING_H_
