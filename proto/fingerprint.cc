#include "proto/fingerprint.h"

#include <zlib.h>

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {
namespace {

// CRC-32 and length of a sequence of names.
class Checksum {
 public:
  Checksum() { buffer_.reserve(kBufferSize); }

  void Add(absl::string_view name, char kind) {
    if (buffer_.size() + name.size() + 1 > kBufferSize) Flush();
    buffer_.push_back(kind);
    buffer_.append(name.data(), name.size());
  }

  uint64_t Result() {
    Flush();
    return (length_ << 32) ^ checksum_;
  }

 private:
  static constexpr size_t kBufferSize = 1 << 14;

  void Flush() {
    checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(buffer_.data()), buffer_.size());
    length_ += buffer_.size();
    buffer_.clear();
  }

  std::string buffer_;
  uint64_t length_ = 0;
  uLong checksum_ = crc32_z(0, nullptr, 0);
};

}  // namespace

uint64_t Fingerprint(const ProgramDesc& program) {
  Checksum checksum;
  for (const BlockDesc& block : program.blocks()) {
    checksum.Add("", 'b');
    for (const VarDesc& var : block.vars()) checksum.Add(var.name(), 'v');
    for (const OpDesc& op : block.ops()) {
      checksum.Add(op.type(), 'o');
      for (const auto* slots : {&op.inputs(), &op.outputs()}) {
        for (const OpDesc::Var& slot : *slots) {
          checksum.Add(slot.parameter(), slots == &op.inputs() ? 'i' : 'u');
          for (const std::string& argument : slot.arguments()) checksum.Add(argument, 'a');
        }
      }
    }
  }
  return checksum.Result();
}

}  // namespace fixpoint
