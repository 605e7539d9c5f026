// A program's messages together with the memory that they live in: an arena, so that a large
// program is read and freed fast.

#ifndef FIXPOINT_PROTO_WIRE_PROGRAM_MESSAGE_H_
#define FIXPOINT_PROTO_WIRE_PROGRAM_MESSAGE_H_

#include <google/protobuf/arena.h>

#include <memory>

#include "proto/wire/program.pb.h"

namespace fixpoint {

// Moves cost nothing. A moved-from one may only be assigned to or destroyed.
class ProgramMessage {
 public:
  ProgramMessage();
  // Copies the message into an arena.
  explicit ProgramMessage(const ProgramDesc& program);

  ProgramDesc& operator*() const { return *message_; }
  ProgramDesc* operator->() const { return message_; }
  google::protobuf::Arena* arena() const { return arena_.get(); }

 private:
  std::unique_ptr<google::protobuf::Arena> arena_;
  ProgramDesc* message_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_PROGRAM_MESSAGE_H_
