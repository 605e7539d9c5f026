// Writes one JSON document, for programs to read.

#ifndef FIXPOINT_TOOLS_JSON_H_
#define FIXPOINT_TOOLS_JSON_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// Of the tools' documents; a new one means that a program which reads them has to change.
inline constexpr int kSchemaVersion = 1;

// Values are written in the order of the calls; in an object, each after its Key. REQUIRES: calls
// that make one well-formed value.
class JsonWriter {
 public:
  enum class Layout { kIndented, kOneLine };
  explicit JsonWriter(Layout layout = Layout::kIndented) : layout_(layout) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(absl::string_view key);
  // Any bytes; what is not UTF-8 becomes U+FFFD.
  JsonWriter& String(absl::string_view value);
  JsonWriter& Int(int64_t value);
  // To nine digits, which tell all floats apart; null where it is not finite, which JSON does not
  // have.
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);

  // The document, ending in a line break. Nothing may be called after it.
  std::string Take();

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  // What stands between the last value and the next.
  void Separate();
  void BreakLine();

  Layout layout_;
  std::string text_;
  int depth_ = 0;
  bool first_ = true;  // of the object or array
  bool after_key_ = false;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_JSON_H_
