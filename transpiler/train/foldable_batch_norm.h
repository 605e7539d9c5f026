// Finds the batch norms of a program that trains which can be folded into the weights before them.

#ifndef FIXPOINT_TRANSPILER_TRAIN_FOLDABLE_BATCH_NORM_H_
#define FIXPOINT_TRANSPILER_TRAIN_FOLDABLE_BATCH_NORM_H_

#include <string>
#include <variant>
#include <vector>

#include "ops/era.h"
#include "ops/gradient_links.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/parameters.h"

namespace fixpoint {

// A product, the sum that may add a bias to its result, the batch norm of that, and their gradient
// ops, in one block. No other op of the forward part reads what goes from one to the next. Without a
// sum, what belongs to it is null.
struct FoldableBatchNorm {
  const Op* product = nullptr;
  const Argument* weight = nullptr;  // a parameter
  const Argument* result = nullptr;
  int weight_axis = 0;  // of the channels
  const Op* sum = nullptr;
  const Argument* bias = nullptr;  // a parameter
  const Op* norm = nullptr;
  const Op* norm_gradient = nullptr;
  const Op* sum_gradient = nullptr;
  const Argument* bias_gradient = nullptr;
  const Op* product_gradient = nullptr;
  const Argument* result_gradient = nullptr;  // in the product's gradient op
  const Argument* weight_gradient = nullptr;
  const Argument* input_gradient = nullptr;  // null: nothing reads it
};

class FoldableBatchNorms {
 public:
  // REQUIRES: the program outlives the object, and is not edited meanwhile.
  explicit FoldableBatchNorms(const Program& program);

  // Every batch norm of the forward part that goes by the statistics of its batch, in program
  // order.
  std::vector<const Op*> Candidates() const;
  // What is folded or, as the end of a sentence, why nothing is.
  std::variant<FoldableBatchNorm, std::string> Find(const Op& norm);

 private:
  std::string WhyNotForward(FoldableBatchNorm* found);
  // Finds the op that writes what the norm reads, a sum with a bias; does nothing for another op.
  std::string WhyNotSum(FoldableBatchNorm* found);
  std::string WhyNotBackward(FoldableBatchNorm* found) const;

  const Program& program_;
  const Era era_;
  const GradientLinks links_;
  Parameters parameters_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_FOLDABLE_BATCH_NORM_H_
