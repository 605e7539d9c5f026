#include "tests/testing/random_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace fixpoint {
namespace {

using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::UnknownFieldSet;

// Above every number of our schemas.
constexpr int kFirstUnknownField = 5000;

uint32_t Below(uint32_t bound, std::mt19937* random) { return (*random)() % bound; }

uint64_t Bits(std::mt19937* random) {
  const uint64_t high = (*random)();
  return high << 32 | (*random)();
}

template <typename Float, typename Integer>
Float FloatOfAnyBits(Integer bits) {
  Float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

int64_t RandomInteger(std::mt19937* random) {
  return Below(2, random) == 0 ? static_cast<int64_t>(Bits(random))
                               : static_cast<int64_t>(Below(10, random)) - 3;
}

std::string RandomString(std::mt19937* random) {
  static constexpr const char* kOdd[] = {
      "",        "x",     "conv2d", "var",   "op",       "block",   "program",  "serialized",
      "unknown", "a b",   "1x",     "-x",    "x->y",     "x,y",     "(x)",      "#x",
      "true",    "nan",   "inf",    "\"x\"", "\\",       "\\n",     "a\nb",     "a\tb",
      "\r",      "f32[]", "ints",   "[",     "w_0@GRAD", "a/b.c:d", "\xc3\xa9", "\xff\xfe"};
  if (Below(4, random) > 0) return kOdd[Below(sizeof(kOdd) / sizeof(kOdd[0]), random)];
  std::string bytes(Below(6, random), '\0');
  for (char& c : bytes) c = static_cast<char>((*random)());
  return bytes;
}

void AddUnknownFields(int depth, std::mt19937* random, UnknownFieldSet* fields) {
  const int number = kFirstUnknownField + static_cast<int>(Below(3, random));
  switch (Below(5, random)) {
    case 0:
      fields->AddVarint(number, Bits(random));
      break;
    case 1:
      fields->AddFixed32(number, (*random)());
      break;
    case 2:
      fields->AddFixed64(number, Bits(random));
      break;
    case 3:
      fields->AddLengthDelimited(number, RandomString(random));
      break;
    default:
      UnknownFieldSet* const group = fields->AddGroup(number);
      if (depth > 0) AddUnknownFields(depth - 1, random, group);
  }
}

// Sets a field of type T, or adds to it where it is repeated.
#define SET_OR_ADD(T, value)                                       \
  field->is_repeated() ? reflection->Add##T(message, field, value) \
                       : reflection->Set##T(message, field, value)

void FillField(const FieldDescriptor* field, std::mt19937* random, Message* message) {
  const Reflection* const reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return SET_OR_ADD(Int32, static_cast<int32_t>(RandomInteger(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return SET_OR_ADD(Int64, RandomInteger(random));
    case FieldDescriptor::CPPTYPE_UINT32:
      return SET_OR_ADD(UInt32, (*random)());
    case FieldDescriptor::CPPTYPE_UINT64:
      return SET_OR_ADD(UInt64, Bits(random));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return SET_OR_ADD(Double, FloatOfAnyBits<double>(Bits(random)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return SET_OR_ADD(Float, FloatOfAnyBits<float>(static_cast<uint32_t>((*random)())));
    case FieldDescriptor::CPPTYPE_BOOL:
      return SET_OR_ADD(Bool, Below(2, random) == 1);
    case FieldDescriptor::CPPTYPE_STRING:
      return SET_OR_ADD(String, RandomString(random));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const EnumValueDescriptor* const value =
          type->value(static_cast<int>(Below(type->value_count(), random)));
      return SET_OR_ADD(Enum, value);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FillRandomly(random, field->is_repeated()
                                      ? reflection->AddMessage(message, field)
                                      : reflection->MutableMessage(message, field));
  }
}

#undef SET_OR_ADD

}  // namespace

void FillRandomly(std::mt19937* random, Message* message) {
  const google::protobuf::Descriptor* const descriptor = message->GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* const field = descriptor->field(i);
    const uint32_t usual_count = field->is_repeated() ? Below(4, random) : 1;
    const uint32_t odds_of_absence = field->is_required() ? 50 : 2;
    if (Below(odds_of_absence, random) == 0) continue;
    for (uint32_t n = 0; n < usual_count; ++n) FillField(field, random, message);
  }
  if (Below(20, random) == 0) {
    AddUnknownFields(2, random, message->GetReflection()->MutableUnknownFields(message));
  }
}

}  // namespace fixpoint
