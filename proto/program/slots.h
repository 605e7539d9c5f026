// Reading the slots of an op's message.

#ifndef FIXPOINT_PROTO_PROGRAM_SLOTS_H_
#define FIXPOINT_PROTO_PROGRAM_SLOTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The inputs or the outputs of an op.
using Slots = google::protobuf::RepeatedPtrField<OpDesc::Var>;

// The first slot of that name, or null.
inline const OpDesc::Var* FindSlot(const Slots& slots, absl::string_view name) {
  for (const OpDesc::Var& slot : slots) {
    if (slot.parameter() == name) return &slot;
  }
  return nullptr;
}
inline OpDesc::Var* FindSlot(Slots* slots, absl::string_view name) {
  return const_cast<OpDesc::Var*>(FindSlot(*slots, name));
}

// Calls a function for the name of each argument of each slot.
template <typename Visit>
void ForEachArgument(const Slots& slots, Visit visit) {
  for (const OpDesc::Var& slot : slots) {
    for (const std::string& argument : slot.arguments()) visit(argument);
  }
}

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_SLOTS_H_
