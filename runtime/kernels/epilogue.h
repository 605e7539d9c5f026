// What is done with each element of a product or a convolution before it is stored: the bias, the
// batch normalization, the sum with a residual and the activation behind it. One definition, for
// training, for simulated inference and for lowered programs.

#ifndef FIXPOINT_RUNTIME_KERNELS_EPILOGUE_H_
#define FIXPOINT_RUNTIME_KERNELS_EPILOGUE_H_

#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// One operation, rounded to FP32: what an op of its own would compute of what is stored.
struct EpilogueStage {
  enum class Kind {
    kAddChannel,       // x + operand[channel]
    kMultiplyChannel,  // x * operand[channel]
    kAddElement,       // x + operand[element]
    kRelu,             // x where x > 0, else 0, a NaN too
    kClip,             // min(max(x, a), b), a of a NaN
  };
  Kind kind = Kind::kRelu;
  float a = 0;
  float b = 0;

  bool has_operand() const {
    return kind == Kind::kAddChannel || kind == Kind::kMultiplyChannel || kind == Kind::kAddElement;
  }
};

// In order.
using Epilogue = std::vector<EpilogueStage>;

// Of each stage, as many elements as there are channels or as the output has; empty where it has
// none.
using EpilogueOperands = absl::Span<const absl::Span<const float>>;

// Applies the stages to elements whose channels lie last. REQUIRES: as many operands as stages, of
// their sizes.
void Apply(const Epilogue& epilogue, EpilogueOperands operands, absl::Span<float> elements);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EPILOGUE_H_
