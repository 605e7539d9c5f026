#include "proto/file/text_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"

namespace fixpoint {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Calls `visit` with a message's descriptor and those of all messages in it, each once.
void ForEachMessage(const Descriptor& root,
                    const std::function<void(const Descriptor& message)>& visit) {
  std::vector<const Descriptor*> found = {&root};
  for (size_t i = 0; i < found.size(); ++i) {
    visit(*found[i]);
    for (int f = 0; f < found[i]->field_count(); ++f) {
      const Descriptor* const inner = found[i]->field(f)->message_type();
      const bool is_new = inner != nullptr && std::count(found.begin(), found.end(), inner) == 0;
      if (is_new) found.push_back(inner);
    }
  }
}

// Reads what stands in quotes after `prefix` from the front of `text`.
bool ConsumeQuoted(absl::string_view prefix, absl::string_view* text, std::string* quoted) {
  absl::string_view rest = *text;
  if (!absl::ConsumePrefix(&rest, prefix) || !absl::ConsumePrefix(&rest, "\"")) return false;
  const size_t end = rest.find('"');
  if (end == absl::string_view::npos) return false;
  *quoted = std::string(rest.substr(0, end));
  *text = rest.substr(end + 1);
  return true;
}

// What protobuf says of a name that a message of type `root` does not know, with those that it
// knows; what it says of anything else as it is.
std::string WithKnownNames(const Descriptor& root, const std::string& message) {
  absl::string_view rest = message;
  std::string type;
  std::string name;
  std::vector<std::string> known;
  if (ConsumeQuoted("Message type ", &rest, &type) &&
      ConsumeQuoted(" has no field named ", &rest, &name)) {
    ForEachMessage(root, [&](const Descriptor& candidate) {
      if (candidate.full_name() != type) return;
      for (int f = 0; f < candidate.field_count(); ++f) known.push_back(candidate.field(f)->name());
    });
    return absl::StrCat("\"", name, "\" is no field of ", type.substr(type.rfind('.') + 1),
                        OfferNames(name, known));
  }
  std::string field;
  if (ConsumeQuoted("Unknown enumeration value of ", &rest, &name) &&
      ConsumeQuoted(" for field ", &rest, &field)) {
    ForEachMessage(root, [&](const Descriptor& candidate) {
      const FieldDescriptor* const found = candidate.FindFieldByName(field);
      const auto* const values = found != nullptr ? found->enum_type() : nullptr;
      if (values == nullptr || !known.empty()) return;
      for (int v = 0; v < values->value_count(); ++v) known.push_back(values->value(v)->name());
    });
    return absl::StrCat("\"", name, "\" is no value of ", field, OfferNames(name, known));
  }
  return message;
}

class Errors final : public google::protobuf::io::ErrorCollector {
 public:
  Errors(absl::string_view name, const Descriptor& root) : name_(name), root_(root) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    constexpr size_t kMost = 20;
    if (lines_.size() < kMost) {
      lines_.push_back(absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ",
                                    WithKnownNames(root_, message)));
    }
  }
  std::string Text() const { return absl::StrJoin(lines_, "\n"); }

 private:
  const std::string name_;
  const Descriptor& root_;
  std::vector<std::string> lines_;
};

}  // namespace

absl::Status ParseTextMessage(absl::string_view text, absl::string_view name,
                              google::protobuf::Message* message) {
  Errors errors(name, *message->GetDescriptor());
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.AllowPartialMessage(true);
  parser.SetRecursionLimit(32);
  if (!parser.ParseFromString(std::string(text), message)) {
    return absl::InvalidArgumentError(errors.Text());
  }
  return absl::OkStatus();
}

absl::Status LoadTextMessage(const std::string& path, google::protobuf::Message* message) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMostTextBytes));
  return ParseTextMessage(text, InputName(path), message);
}

std::string PrintTextMessage(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace fixpoint
