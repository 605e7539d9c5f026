// Finds the forward ops of which a gradient op repeats the values, and the one that it belongs to.

#ifndef FIXPOINT_OPS_GRADIENT_MATCHER_H_
#define FIXPOINT_OPS_GRADIENT_MATCHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/gradient_slots.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

class GradientMatcher {
 public:
  // What has to be the same. State that an op updates in place is the same if it is one variable: a
  // later op may have updated it again before a gradient op reads it.
  enum class Identity {
    kValue,
    // In a sub-block the variable, because its gradients are in another block, which begins with
    // what the block ends with.
    kValueOrVariableOfSubBlock,
    kVariable,
  };
  // A value that stands for another: reading it is reading the other.
  using StandsFor = absl::flat_hash_map<const Value*, const Value*>;
  using Ops = absl::InlinedVector<const Op*, 1>;
  // Identities of what is in some slots, slot by slot, each ended by null.
  using Key = absl::InlinedVector<const void*, 8>;
  // Some of the slots of RepeatedSlots, as bits.
  using SlotMask = uint64_t;

  explicit GradientMatcher(Era era, Identity identity = Identity::kValue, StandsFor stands_for = {})
      : era_(era), identity_(identity), stands_for_(std::move(stands_for)) {}

  // REQUIRES: all ops are of one program, and are added before anything is asked.
  void AddForward(const Op& op);

  // The slots in which gradient ops of its type repeat their forward op.
  const std::vector<RepeatedSlot>& SlotsOf(const Op& gradient) const {
    return FormOf(gradient).slots;
  }
  // The slots of these that the gradient op has, and the ones among them that repeat inputs.
  SlotMask Repeated(const Op& gradient) const;
  SlotMask RepeatedInputs(const Op& gradient) const;

  // The forward ops that have, in these slots, what the gradient op repeats, in the order in which
  // they were added. Null if gradient ops of its type repeat more sets of slots than are looked
  // up: real programs have one or two.
  const Ops* Find(const Op& gradient, SlotMask mask) const;

  // The same, but null also if the gradient op has one of its slots twice: it may then belong to
  // any op of its forward type.
  const Ops* FindAlike(const Op& gradient, SlotMask mask) const;

  // The forward op that the gradient op belongs to: the one of which it repeats values in all slots
  // that repeat any; if there are several, the one whose output's gradient it reads. Null if there
  // is no such op, if several are left, or if a result of it was written again before the gradient
  // op reads it, unless that is state that the forward op updates in place.
  const Op* ForwardOf(const Op& gradient) const;
  // The same among the ops that FindAlike found for all those slots.
  const Op* ForwardAmong(const Ops& alike, const Op& gradient) const;

  // What the gradient op has in these slots, and what `forward` has there for it to repeat.
  Key KeyOfGradient(const Op& gradient, SlotMask mask, Identity identity) const;
  Key KeyOfForward(const Op& gradient, const Op& forward, SlotMask mask, Identity identity) const;
  // Whether two arguments hold the same for a slot.
  bool AreSame(const RepeatedSlot& slot, const Argument& of_gradient,
               const Argument& of_forward) const {
    return IdentityOf(of_gradient, slot, identity_) == IdentityOf(of_forward, slot, identity_);
  }

 private:
  using Index = absl::flat_hash_map<Key, Ops>;
  // The outputs of forward ops, by slot, index and name.
  using ByOutput = absl::flat_hash_map<std::tuple<absl::string_view, int, absl::string_view>, Ops>;
  // The gradient ops of one type.
  struct Form {
    const std::vector<const Op*>* forward = nullptr;
    std::vector<RepeatedSlot> slots;
    absl::flat_hash_map<SlotMask, std::unique_ptr<Index>> indexes;
  };

  Form& FormOf(const Op& gradient) const;
  const Op* FindByOutput(const Op& gradient, const Ops& alike) const;
  bool ReadsResultsOf(const Op& forward, const Op& gradient) const;
  // A value, or the one that it stands for.
  const Value* StandIn(const Value* value) const;
  const void* IdentityOf(const Argument& argument, const RepeatedSlot& slot,
                         Identity identity) const;
  template <typename Get>
  Key KeyOf(const Form& form, SlotMask mask, Identity identity, Get arguments_of) const;

  const Era era_;
  const Identity identity_;
  const StandsFor stands_for_;
  // By type_id.
  std::vector<std::vector<const Op*>> forward_ops_;
  // Filled when they are asked for.
  mutable std::vector<std::unique_ptr<Form>> forms_;
  mutable absl::flat_hash_map<const Ops*, ByOutput> alike_by_output_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_GRADIENT_MATCHER_H_
