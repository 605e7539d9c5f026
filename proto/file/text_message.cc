#include "proto/file/text_message.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"

namespace fixpoint {
namespace {

constexpr size_t kLargestFile = 64 << 20;

class Errors final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Errors(absl::string_view name) : name_(name) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    constexpr size_t kMost = 20;
    if (lines_.size() < kMost) {
      lines_.push_back(absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ", message));
    }
  }
  std::string Text() const { return absl::StrJoin(lines_, "\n"); }

 private:
  const std::string name_;
  std::vector<std::string> lines_;
};

}  // namespace

absl::Status ParseTextMessage(absl::string_view text, absl::string_view name,
                              google::protobuf::Message* message) {
  Errors errors(name);
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
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kLargestFile));
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
