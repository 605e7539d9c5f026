#include "proto/wire/required_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/wire/message_place.h"

namespace fixpoint {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::UnknownField;
using ::google::protobuf::UnknownFieldSet;

// What is wrong with the required `field` that `message` lacks.
std::string DescribeMissing(const Message& message, const FieldDescriptor& field) {
  const UnknownFieldSet& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& value = unknown.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM && value.number() == field.number() &&
        value.type() == UnknownField::TYPE_VARINT) {
      const EnumDescriptor& type = *field.enum_type();
      return absl::StrCat(field.name(), " is ", static_cast<int64_t>(value.varint()), "; expected ",
                          type.value(0)->number(), " to ",
                          type.value(type.value_count() - 1)->number());
    }
  }
  return absl::StrCat(field.name(), " is missing; it is required");
}

// The place and the description of the first required field that is missing in `message`, which
// is at `place`. The depth is that of the schema, which has no recursive message.
std::string DescribeFirstMissing(const Message& message, const std::string& place) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_required() && !reflection.HasField(message, &field)) {
      return absl::StrCat(place, ": ", DescribeMissing(message, field));
    }
  }
  const auto describe_in = [&](const FieldDescriptor& field, int index, const Message& part) {
    return DescribeFirstMissing(part, absl::StrCat(place, place.empty() ? "" : ", ",
                                                   PlaceName(field, index), PlaceLabel(part)));
  };
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field.is_repeated()) {
      const Message& part = reflection.GetMessage(message, &field);
      if (reflection.HasField(message, &field) && !part.IsInitialized()) {
        return describe_in(field, 0, part);
      }
      continue;
    }
    for (int j = 0; j < reflection.FieldSize(message, &field); ++j) {
      const Message& part = reflection.GetRepeatedMessage(message, &field, j);
      if (!part.IsInitialized()) return describe_in(field, j, part);
    }
  }
  return "";
}

}  // namespace

absl::Status CheckRequiredFields(const ProgramDesc& program, absl::string_view file_name) {
  if (program.IsInitialized()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file_name, ": ", DescribeFirstMissing(program, "")));
}

}  // namespace fixpoint
