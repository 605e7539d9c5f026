#include "proto/wire/message_place.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

constexpr size_t kMaxLabel = 80;

// The usual word for the elements of a field; another field is called by its own name.
constexpr std::pair<const char*, const char*> kNames[] = {
    {"blocks", "block"}, {"ops", "op"},         {"vars", "variable"},
    {"inputs", "input"}, {"outputs", "output"}, {"attrs", "attribute"},
};

}  // namespace

std::string PlaceName(const FieldDescriptor& field, int index) {
  std::string name = field.name();
  for (const auto& [field_name, element_name] : kNames) {
    if (name == field_name) name = element_name;
  }
  return field.is_repeated() ? absl::StrCat(name, " ", index) : name;
}

std::string PlaceLabel(const Message& message) {
  for (const char* name : {"name", "parameter", "type", "op_name"}) {
    const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING ||
        !message.GetReflection()->HasField(message, field)) {
      continue;
    }
    const std::string label = message.GetReflection()->GetString(message, field);
    return absl::StrCat(" (", absl::CHexEscape(absl::string_view(label).substr(0, kMaxLabel)), ")");
  }
  return "";
}

}  // namespace fixpoint
