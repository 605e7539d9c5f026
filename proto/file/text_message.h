// Protobuf text files (configurations, targets, plans, profiles), with errors that name the place.

#ifndef FIXPOINT_PROTO_FILE_TEXT_MESSAGE_H_
#define FIXPOINT_PROTO_FILE_TEXT_MESSAGE_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// Reads protobuf text into `message`; required fields may be missing. Error (kInvalidArgument):
// "name:line:column: what is wrong", every mistake of the text, up to 20.
absl::Status ParseTextMessage(absl::string_view text, absl::string_view name,
                              google::protobuf::Message* message);

// Reads a file as ParseTextMessage does. Errors also: kNotFound; a file over 64 MiB.
absl::Status LoadTextMessage(const std::string& path, google::protobuf::Message* message);

std::string PrintTextMessage(const google::protobuf::Message& message);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_FILE_TEXT_MESSAGE_H_
