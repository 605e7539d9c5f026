// Arithmetic of two tensors, element by element, and its gradients.

#ifndef FIXPOINT_RUNTIME_KERNELS_ELEMENTWISE_H_
#define FIXPOINT_RUNTIME_KERNELS_ELEMENTWISE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "runtime/kernels/element_loop.h"

namespace fixpoint::kernels {

enum class Arithmetic { kAdd, kSub, kMul, kDiv, kMax, kMin, kPow };

// The reference's rule: of unequal ranks the shorter, without its trailing 1s, stands at the
// longer's dimensions from `axis` on, with -1 at its end; dimensions of 1 broadcast.
struct ElementwiseShape {
  Dims x;
  Dims y;
  int64_t axis = -1;
};

// out = x op y; the maximum and the minimum of a NaN and anything else are the NaN. Gradients of
// what is used more than once are summed in double, in an order that depends on the shape alone.
// Not for two threads at once.
class Elementwise {
 public:
  // Error (kInvalidArgument): the dims do not broadcast; those of CheckExtents (extents.h).
  static absl::StatusOr<std::unique_ptr<Elementwise>> Plan(Arithmetic op,
                                                           const ElementwiseShape& shape);
  virtual ~Elementwise() = default;

  virtual const Dims& out_dims() const = 0;

  // REQUIRES, here and below: the sizes are those of the dims. out may be x or y where they are of
  // its dims.
  virtual void Run(absl::Span<const float> x, absl::Span<const float> y, absl::Span<float> out) = 0;
  // dx or dy may be empty if it is not needed. Either may be dout if it has its dims, but not both.
  // Where x = y the gradient of kMax and kMin goes to y. kAdd and kSub read neither x nor y, which
  // may be empty.
  virtual void Backward(absl::Span<const float> x, absl::Span<const float> y,
                        absl::Span<const float> dout, absl::Span<float> dx,
                        absl::Span<float> dy) = 0;

  // How x and y repeat in the result; nothing: in no such way.
  virtual std::optional<Repetition> x_repetition() const = 0;
  virtual std::optional<Repetition> y_repetition() const = 0;
  // How the terms of dx and dy are summed; nothing: not as any Folding does, or there is one for
  // each element.
  virtual std::optional<Folding> dx_folding() const = 0;
  virtual std::optional<Folding> dy_folding() const = 0;
  // Run and Backward on a block of the result (element_loop.h): x and y are those of its elements,
  // or one that repeats; dx and dy are the terms of all its elements. For any number of threads at
  // once.
  virtual void RunBlock(absl::Span<const float> x, absl::Span<const float> y,
                        absl::Span<float> out) const = 0;
  virtual void TermsOfX(absl::Span<const float> x, absl::Span<const float> y,
                        absl::Span<const float> dout, absl::Span<float> dx) const = 0;
  virtual void TermsOfY(absl::Span<const float> x, absl::Span<const float> y,
                        absl::Span<const float> dout, absl::Span<float> dy) const = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ELEMENTWISE_H_
