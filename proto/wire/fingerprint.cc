#include "proto/wire/fingerprint.h"

#include <zlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {
namespace {

// The CRC-32 and the length of a sequence of texts.
class Checksum {
 public:
  Checksum() { buffer_.reserve(kBufferSize); }

  void Add(absl::string_view text, char kind) {
    if (buffer_.size() + text.size() + 1 > kBufferSize) Flush();
    buffer_.push_back(kind);
    buffer_.append(text.data(), text.size());
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

uint64_t Fingerprint(const ProgramDesc& program, const EditLog& log) {
  Checksum checksum;
  for (const BlockDesc& block : program.blocks()) {
    checksum.Add(absl::StrCat(block.ops_size(), " ", block.vars_size()), 'b');
  }
  for (const EditLog::BlockEdits& edits : log.blocks()) {
    if (edits.block() < 0 || edits.block() >= program.blocks_size()) continue;
    const BlockDesc& block = program.blocks(edits.block());
    for (const EditLog::OpEdit& edit : edits.ops()) {
      if (edit.index() < 0 || edit.index() >= block.ops_size()) continue;
      const OpDesc& op = block.ops(edit.index());
      checksum.Add(op.type(), 'o');
      for (const auto* slots : {&op.inputs(), &op.outputs()}) {
        for (const OpDesc::Var& slot : *slots) {
          checksum.Add(slot.parameter(), slots == &op.inputs() ? 'i' : 'u');
          for (const std::string& argument : slot.arguments()) checksum.Add(argument, 'a');
        }
      }
    }
    for (const EditLog::VarEdit& edit : edits.vars()) {
      if (edit.index() < 0 || edit.index() >= block.vars_size()) continue;
      checksum.Add(block.vars(edit.index()).name(), 'v');
    }
  }
  return checksum.Result();
}

}  // namespace fixpoint
