#include "tests/command_fuzz/mutated_message.h"

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/command_fuzz/mutated_bytes.h"

namespace fixpoint {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// A field that is there, or that could be.
struct Place {
  Message* message;
  const FieldDescriptor* field;
  int size;  // of a list: how many elements it has; else 1 where the field is set
};

class Places {
 public:
  explicit Places(Message* message) { Collect(message); }

  // Chooses fields that are present far more often than those that could be.
  const Place& Choose(Random* random) const {
    const bool there = !there_.empty() && !random->OneIn(5);
    const std::vector<Place>& places = there || absent_.empty() ? there_ : absent_;
    return places[random->Below(static_cast<int>(places.size()))];
  }
  bool empty() const { return there_.empty() && absent_.empty(); }

  std::string OtherString(Random* random) const {
    static constexpr const char* kOdd[] = {"", "x", "*", "conv2d", "../x", "a/b", "@EMPTY@", "\n"};
    if (strings_.empty() || random->OneIn(4)) return kOdd[random->Below(8)];
    return random->OneOf(strings_);
  }

 private:
  void Collect(Message* message) {
    const Reflection* const reflection = message->GetReflection();
    for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* const field = message->GetDescriptor()->field(i);
      const int size = field->is_repeated() ? reflection->FieldSize(*message, field)
                       : reflection->HasField(*message, field) ? 1
                                                               : 0;
      (size > 0 ? there_ : absent_).push_back({message, field, size});
      for (int n = 0; n < size; ++n) CollectValue(message, field, n);
    }
  }

  void CollectValue(Message* message, const FieldDescriptor* field, int n) {
    const Reflection* const reflection = message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Collect(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, n)
                                   : reflection->MutableMessage(message, field));
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      strings_.push_back(field->is_repeated() ? reflection->GetRepeatedString(*message, field, n)
                                              : reflection->GetString(*message, field));
    }
  }

  std::vector<Place> there_;
  std::vector<Place> absent_;
  std::vector<std::string> strings_;
};

// Sets a field of type T: of a list a new element, or the nth.
#define SET_FIELD(T, value)                                         \
  !field->is_repeated() ? reflection->Set##T(message, field, value) \
  : n < 0               ? reflection->Add##T(message, field, value) \
                        : reflection->SetRepeated##T(message, field, n, value)

// `n`: which element of a list; -1 for a new one.
void SetField(const Places& places, const Place& place, int n, Random* random) {
  Message* const message = place.message;
  const FieldDescriptor* const field = place.field;
  const Reflection* const reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return SET_FIELD(Int32, static_cast<int32_t>(OddInteger(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return SET_FIELD(Int64, OddInteger(random));
    case FieldDescriptor::CPPTYPE_UINT32:
      return SET_FIELD(UInt32, static_cast<uint32_t>(OddInteger(random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return SET_FIELD(UInt64, static_cast<uint64_t>(OddInteger(random)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return SET_FIELD(Double, OddNumber(random));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return SET_FIELD(Float, static_cast<float>(OddNumber(random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return SET_FIELD(Bool, random->OneIn(2));
    case FieldDescriptor::CPPTYPE_STRING:
      return SET_FIELD(String, places.OtherString(random));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const type = field->enum_type();
      return SET_FIELD(Enum, type->value(random->Below(type->value_count())));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (field->is_repeated() && n < 0) {
        Message* const added = reflection->AddMessage(message, field);
        if (place.size > 0) {
          added->CopyFrom(
              reflection->GetRepeatedMessage(*message, field, random->Below(place.size)));
        }
      } else if (!field->is_repeated()) {
        reflection->MutableMessage(message, field);
      }
  }
}

#undef SET_FIELD

void ChangeList(const Places& places, const Place& place, Random* random) {
  const Reflection* const reflection = place.message->GetReflection();
  const int n = random->Below(place.size);
  switch (random->Below(4)) {
    case 0:
      reflection->SwapElements(place.message, place.field, n, place.size - 1);
      return reflection->RemoveLast(place.message, place.field);
    case 1:
      return reflection->SwapElements(place.message, place.field, n, random->Below(place.size));
    case 2:
      return SetField(places, place, -1, random);
    default:
      return SetField(places, place, n, random);
  }
}

}  // namespace

void ChangeAField(Random* random, Message* message) {
  const Places places(message);
  if (places.empty()) return;
  const Place place = places.Choose(random);
  if (place.field->is_repeated() && place.size > 0) return ChangeList(places, place, random);
  const bool is_message = place.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (place.size > 0 && random->OneIn(is_message ? 1 : 5)) {
    return place.message->GetReflection()->ClearField(place.message, place.field);
  }
  SetField(places, place, -1, random);
}

}  // namespace fixpoint
