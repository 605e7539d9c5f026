#include "proto/fingerprint.h"

#include <glog/logging.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <zlib.h>

#include <vector>

namespace fixpoint {
namespace {

// Hands out one buffer again and again, so that no second copy of the program is made.
class ChecksumStream final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  bool Next(void** data, int* size) override {
    Add(static_cast<int>(buffer_.size()));
    used_ = true;
    *data = buffer_.data();
    *size = static_cast<int>(buffer_.size());
    return true;
  }
  void BackUp(int count) override {
    Add(static_cast<int>(buffer_.size()) - count);
    used_ = false;
  }
  int64_t ByteCount() const override { return length_; }

  uint64_t Result() {
    Add(static_cast<int>(buffer_.size()));
    return (static_cast<uint64_t>(length_) << 32) ^ checksum_;
  }

 private:
  void Add(int size) {
    if (!used_) return;
    checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(buffer_.data()), size);
    length_ += size;
    used_ = false;
  }

  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  bool used_ = false;
  int64_t length_ = 0;
  uLong checksum_ = crc32_z(0, nullptr, 0);
};

}  // namespace

uint64_t Fingerprint(const ProgramDesc& program) {
  CHECK(!program.has_edit_log());
  ChecksumStream stream;
  {
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    program.SerializePartialToCodedStream(&coded);
  }
  return stream.Result();
}

}  // namespace fixpoint
