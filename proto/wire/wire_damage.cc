#include "proto/wire/wire_damage.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/message_place.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::internal::WireFormatLite;

constexpr int kMaxGroupDepth = 100;  // protobuf's own

// Walks the fields of a message, and of the messages in it, up to the first one that is damaged.
class Walk {
 public:
  explicit Walk(absl::string_view bytes) : bytes_(bytes) {}

  // What is wrong in the message of type `descriptor` from the current position to `end`; OK if
  // nothing is. Messages call it `place`.
  absl::Status Message(const Descriptor& descriptor, size_t end, const std::string& place);

 private:
  absl::Status Length(const FieldDescriptor* field, size_t end, const std::string& place,
                      std::vector<int>* counts);
  absl::Status Skip(size_t count, size_t end, const std::string& place);
  bool ReadVarint(size_t end, uint64_t* value);

  // Whether the message at `place` should go on, if it ends where the file does.
  bool IsCut(const std::string& place) const { return place.empty() || missing_ > 0; }
  absl::Status Truncated(const std::string& place) const {
    const std::string how_early =
        missing_ == 0 ? "inside a number" : absl::StrCat(missing_, " bytes early");
    return absl::DataLossError(absl::StrCat(
        place, place.empty() ? "" : ": ", "the file ends here, ", how_early, "; it is truncated"));
  }
  // The error for a varint that ReadVarint could not read.
  absl::Status Unending(const std::string& place, size_t start) const {
    return offset_ == bytes_.size() && IsCut(place)
               ? Truncated(place)
               : Broken(place, start, "a number has no end; expected at most 10 bytes");
  }
  absl::Status NoField(const std::string& place, size_t start) const {
    if (place.empty() && start > 0) {
      return Broken(
          place, start,
          absl::StrCat(bytes_.size() - start, " bytes follow the program; expected its end"));
    }
    return Broken(place, start, "no field begins here; expected one or the end");
  }
  absl::Status Broken(const std::string& place, size_t offset, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(place, place.empty() ? "" : ": ", "byte ", offset, ": ", what));
  }

  absl::string_view bytes_;
  size_t offset_ = 0;
  // How many bytes are missing from the outermost message that the end of the file cuts off.
  uint64_t missing_ = 0;
};

bool Walk::ReadVarint(size_t end, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && offset_ < end; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes_[offset_++]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

absl::Status Walk::Skip(size_t count, size_t end, const std::string& place) {
  if (count <= end - offset_) {
    offset_ += count;
    return absl::OkStatus();
  }
  if (end == bytes_.size() && IsCut(place)) {
    if (missing_ == 0) missing_ = count - (end - offset_);
    return Truncated(place);
  }
  return Broken(place, offset_,
                "a number runs past the end of its message; expected "
                "one that ends in it");
}

absl::Status Walk::Length(const FieldDescriptor* field, size_t end, const std::string& place,
                          std::vector<int>* counts) {
  const size_t start = offset_;
  uint64_t length;
  if (!ReadVarint(end, &length)) return Unending(place, start);
  const bool is_cut = length > end - offset_;
  if (is_cut && !(end == bytes_.size() && IsCut(place))) {
    return Broken(place, start,
                  absl::StrCat("a length of ", length, " bytes runs past the end of ",
                               "its message; expected at most ", end - offset_));
  }
  if (is_cut && missing_ == 0) missing_ = length - (end - offset_);
  const size_t field_end = is_cut ? end : offset_ + length;
  if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
    const int index = (*counts)[field->index()]++;
    const std::string field_place =
        absl::StrCat(place, place.empty() ? "" : ", ", PlaceName(*field, index));
    const absl::Status status = Message(*field->message_type(), field_end, field_place);
    if (!status.ok()) return status;
    return is_cut ? Truncated(field_place) : status;
  }
  offset_ = field_end;
  return is_cut ? Truncated(place) : absl::OkStatus();
}

absl::Status Walk::Message(const Descriptor& descriptor, size_t end, const std::string& place) {
  std::vector<int> counts(descriptor.field_count());
  int group_depth = 0;
  while (offset_ < end) {
    const size_t start = offset_;
    uint64_t tag;
    if (!ReadVarint(end, &tag)) return Unending(place, start);
    if (tag > UINT32_MAX) return NoField(place, start);
    const int number = WireFormatLite::GetTagFieldNumber(static_cast<uint32_t>(tag));
    if (number == 0) return NoField(place, start);
    // The numbers of the fields in a group are the group's own.
    const FieldDescriptor* const field =
        group_depth == 0 ? descriptor.FindFieldByNumber(number) : nullptr;
    absl::Status status;
    uint64_t ignored;
    switch (WireFormatLite::GetTagWireType(static_cast<uint32_t>(tag))) {
      case WireFormatLite::WIRETYPE_VARINT:
        if (!ReadVarint(end, &ignored)) status = Unending(place, start);
        break;
      case WireFormatLite::WIRETYPE_FIXED32:
        status = Skip(sizeof(uint32_t), end, place);
        break;
      case WireFormatLite::WIRETYPE_FIXED64:
        status = Skip(sizeof(uint64_t), end, place);
        break;
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        status = Length(field, end, place, &counts);
        break;
      case WireFormatLite::WIRETYPE_START_GROUP:
        if (++group_depth > kMaxGroupDepth) {
          status = Broken(place, start, "groups are nested too deep; expected 100 at most");
        }
        break;
      case WireFormatLite::WIRETYPE_END_GROUP:
        if (--group_depth < 0) status = NoField(place, start);
        break;
      default:
        status = NoField(place, start);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DescribeWireDamage(absl::string_view bytes, absl::string_view file_name) {
  const absl::Status status = Walk(bytes).Message(*ProgramDesc::descriptor(), bytes.size(), "");
  if (status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ": is not a serialized program; expected protobuf's wire format"));
  }
  return absl::Status(status.code(), absl::StrCat(file_name, ": ", status.message()));
}

}  // namespace fixpoint
