#include "proto/deterministic_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace fixpoint {

std::string DeterministicBytes(const google::protobuf::Message& message) {
  return DeterministicBytes(message, message.ByteSizeLong());
}

std::string DeterministicBytes(const google::protobuf::Message& message, size_t size) {
  // Protobuf would warn of every string that is not UTF-8.
  google::protobuf::LogSilencer no_warnings;
  std::string bytes(size, '\0');
  google::protobuf::io::ArrayOutputStream stream(&bytes[0], static_cast<int>(size));
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
  return bytes;
}

}  // namespace fixpoint
