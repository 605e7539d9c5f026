// Maximum pooling of codes: the same as PoolingType::kMax on the floats that they stand for.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODE_POOLING_H_
#define FIXPOINT_RUNTIME_KERNELS_CODE_POOLING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::kernels {

// Images lie channels last. A window in padding alone has the lowest code. Not for two threads at
// once.
class CodePooling {
 public:
  // Errors: those of CompleteShape. REQUIRES: the shape is one of maxima.
  static absl::StatusOr<std::unique_ptr<CodePooling>> Plan(PoolingShape shape);
  virtual ~CodePooling() = default;

  // REQUIRES, here and below: the sizes are the shape's.
  virtual void Run(absl::Span<const uint8_t> x, absl::Span<uint8_t> y) = 0;
  virtual void Run(absl::Span<const int8_t> x, absl::Span<int8_t> y) = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODE_POOLING_H_
