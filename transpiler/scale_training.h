// What a program has that a scale can be trained with: gradients of what is quantized, and an
// optimizer.

#ifndef FIXPOINT_TRANSPILER_SCALE_TRAINING_H_
#define FIXPOINT_TRANSPILER_SCALE_TRAINING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/program.h"

namespace fixpoint {

// Where a gradient op writes, or would write, the gradient of what a forward op's slot reads.
struct GradientOutput {
  const Op* op;
  std::string slot;
  int index;
};

class ScaleTraining {
 public:
  explicit ScaleTraining(const Program& program);

  // Why the scale of what `reader`, a slot of a forward op, reads cannot be trained; nothing where
  // it can. `gradients` are the gradient ops of the forward op.
  std::optional<std::string> WhyNot(const Argument& reader,
                                    absl::Span<const Op* const> gradients) const;
  // The outputs for the gradient of `reader`, in program order.
  static std::vector<GradientOutput> GradientOutputs(const Argument& reader,
                                                     absl::Span<const Op* const> gradients);

  // The optimizer op that is the last in the program, and the learning rate that the first reads.
  // Null where WhyNot says so.
  const Op* last_optimizer() const { return last_optimizer_; }
  const Variable* learning_rate() const { return learning_rate_; }

 private:
  const Op* last_optimizer_ = nullptr;
  const Variable* learning_rate_ = nullptr;
  // An op that does to all gradients what nobody would do to that of a scale; null for none.
  const Op* obstacle_ = nullptr;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_SCALE_TRAINING_H_
