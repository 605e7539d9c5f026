// Writes one JSON document.

#ifndef FIXPOINT_PROTO_BASE_JSON_WRITER_H_
#define FIXPOINT_PROTO_BASE_JSON_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// Values are written in the order of the calls; in an object, each after its Key. REQUIRES: the
// calls make one well-formed value.
class JsonWriter {
 public:
  enum class Layout { kIndented, kOneLine };
  explicit JsonWriter(Layout layout = Layout::kIndented) : layout_(layout) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(absl::string_view key);
  // Any bytes; those that are not UTF-8 become U+FFFD.
  JsonWriter& String(absl::string_view value);
  JsonWriter& Int(int64_t value);
  // With nine digits, which distinguish all floats; null for NaN and infinity, which JSON does not
  // have.
  JsonWriter& Double(double value);
  // With the fewest digits from which a reader gets the same float again; null likewise.
  JsonWriter& Float(float value);
  JsonWriter& Bool(bool value);

  // The document, ending in a line break. Nothing may be called after it.
  std::string Take();

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  // Writes what separates the last value from the next.
  void Separate();
  void BreakLine();

  Layout layout_;
  std::string text_;
  int depth_ = 0;
  bool first_ = true;  // the next value is the first of its object or array
  bool after_key_ = false;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_BASE_JSON_WRITER_H_
