#include "proto/wire/deterministic_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace fixpoint {

std::string DeterministicBytes(const google::protobuf::Message& message) {
  std::string bytes;
  bytes.reserve(message.ByteSizeLong());
  google::protobuf::io::StringOutputStream stream(&bytes);
  WriteDeterministically(message, &stream);
  return bytes;
}

void WriteDeterministically(const google::protobuf::Message& message,
                            google::protobuf::io::ZeroCopyOutputStream* stream) {
  // Protobuf would warn about every string that is not UTF-8.
  google::protobuf::LogSilencer no_warnings;
  google::protobuf::io::CodedOutputStream coded(stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
}

}  // namespace fixpoint
