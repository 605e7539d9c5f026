// How messages to people name a part of a program: "block 0, op 17 (conv2d), attribute 2 (axis)".

#ifndef FIXPOINT_PROTO_WIRE_MESSAGE_PLACE_H_
#define FIXPOINT_PROTO_WIRE_MESSAGE_PLACE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

namespace fixpoint {

// "op 17": element `index` of `field`, which holds messages; without the number if the field is not
// repeated.
std::string PlaceName(const google::protobuf::FieldDescriptor& field, int index);

// " (conv2d)": what `message` is called by its own type, name or slot; "" if it has none.
std::string PlaceLabel(const google::protobuf::Message& message);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_MESSAGE_PLACE_H_
