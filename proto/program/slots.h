// Reading the slots of an op's message.

#ifndef FIXPOINT_PROTO_PROGRAM_SLOTS_H_
#define FIXPOINT_PROTO_PROGRAM_SLOTS_H_

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

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_SLOTS_H_
