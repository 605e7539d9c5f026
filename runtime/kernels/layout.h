// Converts images from one order in memory to another.

#ifndef FIXPOINT_RUNTIME_KERNELS_LAYOUT_H_
#define FIXPOINT_RUNTIME_KERNELS_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint::kernels {

enum class ImageOrder { kToChannelsLast, kToRowMajor };

// Not for two threads at once.
class LayoutConversion {
 public:
  // For images [batch, channels, height, width] whose elements have 1, 2 or 4 bytes. Errors: those
  // of CheckExtents (extents.h); kUnimplemented: elements of another size.
  static absl::StatusOr<std::unique_ptr<LayoutConversion>> Plan(DimsView dims, size_t element_size,
                                                                ImageOrder order);
  virtual ~LayoutConversion() = default;

  // REQUIRES: both hold all elements, and are not the same memory.
  virtual void Run(const uint8_t* from, uint8_t* to) = 0;

  // The name of the code that does it.
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LAYOUT_H_
