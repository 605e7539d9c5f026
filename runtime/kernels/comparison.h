// Comparisons and logic of two tensors, element by element.

#ifndef FIXPOINT_RUNTIME_KERNELS_COMPARISON_H_
#define FIXPOINT_RUNTIME_KERNELS_COMPARISON_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/element_loop.h"
#include "runtime/kernels/elementwise.h"

namespace fixpoint::kernels {

// Elements are compared as in C++, so that a NaN is unequal to everything; kAnd, kOr and kXor test
// whether elements are not 0.
enum class Relation {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kXor
};

class Comparison {
 public:
  // Errors: those of Elementwise::Plan.
  static absl::StatusOr<std::unique_ptr<Comparison>> Plan(Relation relation,
                                                          const ElementwiseShape& shape);
  ~Comparison();

  const Dims& out_dims() const;

  // out is whether x and y are in the relation. T is float, int32_t, int64_t or bool.
  // REQUIRES: the sizes are those of the dims.
  template <typename T>
  void Run(absl::Span<const T> x, absl::Span<const T> y, absl::Span<bool> out) const;

  // How x and y repeat in the result; nothing: in no such way.
  std::optional<Repetition> x_repetition() const;
  std::optional<Repetition> y_repetition() const;
  // Run on a block of the result (element_loop.h): x and y are those of its elements, or one that
  // repeats. For any number of threads at once. T is float or bool.
  template <typename T>
  void RunBlock(absl::Span<const T> x, absl::Span<const T> y, absl::Span<bool> out) const;

 private:
  struct Broadcasting;

  Comparison(Relation relation, std::unique_ptr<Broadcasting> broadcasting);

  const Relation relation_;
  const std::unique_ptr<Broadcasting> broadcasting_;
};

// out is x where the condition holds, and y elsewhere. T is uint8_t, int32_t or int64_t, of the
// size of the elements. out may be x or y. REQUIRES: the spans have one size.
template <typename T>
void Select(absl::Span<const bool> condition, absl::Span<const T> x, absl::Span<const T> y,
            absl::Span<T> out);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_COMPARISON_H_
