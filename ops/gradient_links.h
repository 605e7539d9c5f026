// Which gradient op belongs to which forward op.
//
// A gradient op belongs to the forward op whose slots hold the values that it repeats
// (GradientMatcher::ForwardOf); names alone would follow a variable through its in-place writes.
// Ops that run blocks have no links: theirs are between the ops of the blocks.

#ifndef FIXPOINT_OPS_GRADIENT_LINKS_H_
#define FIXPOINT_OPS_GRADIENT_LINKS_H_

#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/gradient_matcher.h"
#include "ops/op_types.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

class GradientLinks {
 public:
  using StandsFor = GradientMatcher::StandsFor;

  // Links the gradient ops of forward ops of the given types. Linear in the program.
  GradientLinks(const Program& program, const absl::flat_hash_set<std::string>& forward_types,
                StandsFor stands_for = {});

  // The gradient ops of a forward op, in program order, including those of its gradients.
  absl::Span<const Op* const> GradientsOf(const Op& forward) const;
  // The slots of those gradient ops that repeat an input of a forward op.
  std::vector<const Argument*> RepeatsOf(const Argument& input) const;
  // A gradient op that repeats a value of `forward` by name, or reads the gradient of its output,
  // without a forward op that is certainly its own; or the op of the backward part that recomputes
  // `forward` for gradients that then read its result; null if there is neither. Rewriting
  // `forward` would miss it.
  const Op* UncertainGradientOf(const Op& forward) const;
  bool has_gradients() const { return has_gradients_; }

 private:
  // Gradient ops of one type that repeat the same slots, and belong to no forward op for certain:
  // by the variables that they repeat.
  struct Uncertain {
    const Op* example;
    GradientMatcher::SlotMask slots;
    absl::flat_hash_map<GradientMatcher::Key, const Op*> by_variables;
  };

  void Link(const Op& gradient, const std::string& forward_type);
  void NoteUncertain(const Op& gradient, const std::string& forward_type);
  // Finds the forward ops that ops of the backward part recompute.
  void FindRecomputed(const Program& program, OpTypes& types);

  GradientMatcher matcher_;
  absl::flat_hash_map<const Op*, std::vector<const Op*>> gradients_;
  // By forward type.
  absl::flat_hash_map<std::string, std::vector<Uncertain>> uncertain_;
  // Such gradient ops by forward type and the output whose gradient they read, with its slot.
  absl::flat_hash_map<std::tuple<std::string, std::string, std::string>, const Op*>
      uncertain_by_output_;
  // A gradient op that may belong to any op of its forward type: it has an input slot twice.
  absl::flat_hash_map<std::string, const Op*> malformed_;
  // Forward ops that are recomputed, and by what.
  absl::flat_hash_map<const Op*, const Op*> recomputed_;
  bool has_gradients_ = false;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_GRADIENT_LINKS_H_
