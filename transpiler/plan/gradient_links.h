// Which gradient op belongs to which forward op.
//
// A gradient op belongs to the forward op whose slots hold the values that it repeats; names alone
// would follow a variable through its in-place writes. If several forward ops read the same values,
// the output whose gradient it reads decides. Ops that run blocks have no links: theirs are between
// the ops of the blocks.

#ifndef FIXPOINT_TRANSPILER_PLAN_GRADIENT_LINKS_H_
#define FIXPOINT_TRANSPILER_PLAN_GRADIENT_LINKS_H_

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program_fwd.h"
#include "transpiler/plan/op_types.h"

namespace fixpoint {

class GradientLinks {
 public:
  // A value that stands for another: for links, reading it is reading the other.
  using StandsFor = absl::flat_hash_map<const Value*, const Value*>;

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
  using Signature = std::pair<std::string, std::vector<std::string>>;
  using Values = std::vector<const Value*>;
  // Forward ops that read the same values.
  struct AlikeOps {
    std::vector<const Op*> ops;
    // The same by slot, index and name of an output; built if there is more than one op.
    absl::flat_hash_map<std::tuple<absl::string_view, int, absl::string_view>,
                        std::vector<const Op*>>
        by_output;
  };

  void Link(const Op& gradient, const std::string& forward_type);
  // Finds the forward ops that ops of the backward part recompute.
  void FindRecomputed(const Program& program, OpTypes& types);
  const Op* FindForward(const Op& gradient, const Signature& signature);
  Values ValuesRead(const Op& op, const std::vector<std::string>& slots) const;

  const StandsFor stands_for_;
  absl::flat_hash_map<std::string, std::vector<const Op*>> forward_ops_;
  absl::flat_hash_map<Signature, absl::flat_hash_map<Values, AlikeOps>> by_values_;
  absl::flat_hash_map<const Op*, std::vector<const Op*>> gradients_;
  // Unlinked gradient ops, by forward type and the variables that they repeat, and by the output
  // whose gradient they read, with its slot.
  absl::flat_hash_map<std::pair<std::string, std::vector<const Variable*>>, const Op*> uncertain_;
  absl::flat_hash_map<std::tuple<std::string, std::string, std::string>, const Op*>
      uncertain_by_output_;
  std::vector<Signature> uncertain_signatures_;
  // A gradient op that has an input slot twice, by forward type: it may belong to any of them.
  absl::flat_hash_map<std::string, const Op*> malformed_;
  // Forward ops that are recomputed, and by what.
  absl::flat_hash_map<const Op*, const Op*> recomputed_;
  bool has_gradients_ = false;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_GRADIENT_LINKS_H_
