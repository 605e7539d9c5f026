// Finds the sums that add tensors of one shape, as the program declares them: those that have a
// residual.

#ifndef FIXPOINT_OPS_EQUAL_SHAPES_H_
#define FIXPOINT_OPS_EQUAL_SHAPES_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Remembers from where ops pass unknown dimensions on. REQUIRES: the program is not edited while
// the object is used.
class EqualShapes {
 public:
  explicit EqualShapes(Era era) : era_(era) {}

  // Whether both inputs of a sum are FP32 tensors of equal dimensions, at least one, of which the
  // first may be unknown, and others only where ops before the sum pass one unknown dimension on to
  // both inputs: the length of sequences around a block of an encoder, the height of images around
  // convolutions that keep it. This depends on the program's text alone, so that simulated,
  // portable and lowered programs and all backends agree on it. Linear in the ops between the sum
  // and where both dimensions come from, at most 512; the shapes of an op are inferred once.
  bool OfSum(const Op& op);

 private:
  // An axis of a value.
  using Axis = std::pair<const Value*, int>;

  // For each axis of a value that an op writes, the unknown dimension of an input that the op
  // passes on to it, whatever it is; nothing if there is none.
  std::vector<std::optional<Axis>> FindSources(const Value& value);
  std::optional<Axis> SourceOf(const Axis& dimension);
  // Whether two unknown dimensions come from one; `block` is that of their sum.
  bool HaveOneSource(const Axis& x, const Axis& y, const Block& block);

  const Era era_;
  int nested_sums_ = 0;
  absl::flat_hash_map<const Value*, std::vector<std::optional<Axis>>> sources_;
};

// The same for one sum of a program that is being edited.
bool HaveEqualShapes(const Op& op, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EQUAL_SHAPES_H_
