#include "transpiler/exchange/document_reader.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

constexpr size_t kShown = 40;

std::string Shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kSequence:
      return "a list";
    case Node::Kind::kMapping:
      return "an object";
    case Node::Kind::kScalar:
      break;
  }
  const bool is_long = node.text.size() > kShown;
  const std::string text = absl::StrCat(node.text.substr(0, kShown), is_long ? "..." : "");
  return node.is_quoted || text.empty() ? absl::StrCat("\"", text, "\"") : text;
}

// A finite number, with nothing after it.
template <typename Number>
bool ReadNumber(const Node& node, Number* number) {
  if (node.kind != Node::Kind::kScalar || node.is_quoted) return false;
  const char* const end = node.text.data() + node.text.size();
  const absl::from_chars_result result = absl::from_chars(node.text.data(), end, *number);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(*number);
}

}  // namespace

absl::Status DocumentReader::At(const Node& node, absl::string_view message) const {
  return absl::InvalidArgumentError(
      absl::StrCat(file_, ":", node.line, ":", node.column, ": ", message));
}

absl::Status DocumentReader::Unfit(const Node& node, absl::string_view what,
                                   absl::string_view wanted) const {
  return At(node, absl::StrCat(what, ": got ", Shown(node), "; want ", wanted));
}

absl::Status DocumentReader::CheckMapping(const Node& node, absl::string_view what) const {
  if (node.kind == Node::Kind::kMapping) return absl::OkStatus();
  return Unfit(node, what, "an object");
}

absl::Status DocumentReader::CheckSequence(const Node& node, absl::string_view what) const {
  if (node.kind == Node::Kind::kSequence) return absl::OkStatus();
  return Unfit(node, what, "a list");
}

absl::Status DocumentReader::CheckFields(const Node& node, absl::string_view what,
                                         absl::Span<const std::string> known) const {
  RETURN_IF_ERROR(CheckMapping(node, what));
  for (const NodeField& field : node.fields) {
    if (std::find(known.begin(), known.end(), field.key.text) != known.end()) continue;
    return At(field.key, absl::StrCat("\"", field.key.text, "\" is no field of ", what,
                                      OfferNames(field.key.text, known, known.size())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DocumentReader::String(const Node& node, absl::string_view what) const {
  if (node.kind != Node::Kind::kScalar || node.text.empty()) {
    return Unfit(node, what, "a string");
  }
  return node.text;
}

absl::StatusOr<bool> DocumentReader::Bool(const Node& node, absl::string_view what) const {
  const bool is_plain = node.kind == Node::Kind::kScalar && !node.is_quoted;
  if (is_plain && (node.text == "true" || node.text == "false")) return node.text == "true";
  return Unfit(node, what, "true or false");
}

absl::StatusOr<int64_t> DocumentReader::Int(const Node& node, absl::string_view what, int64_t least,
                                            int64_t most) const {
  int64_t value = 0;
  const bool is_plain = node.kind == Node::Kind::kScalar && !node.is_quoted;
  if (is_plain && absl::SimpleAtoi(node.text, &value) && value >= least && value <= most) {
    return value;
  }
  return Unfit(node, what, absl::StrCat("a whole number, ", least, " to ", most));
}

absl::StatusOr<float> DocumentReader::Float(const Node& node, absl::string_view what) const {
  float value = 0;
  if (ReadNumber(node, &value)) return value;
  return Unfit(node, what, "a finite number");
}

absl::StatusOr<double> DocumentReader::Double(const Node& node, absl::string_view what) const {
  double value = 0;
  if (ReadNumber(node, &value)) return value;
  return Unfit(node, what, "a finite number");
}

absl::StatusOr<std::vector<std::string>> DocumentReader::Strings(const Node& node,
                                                                 absl::string_view what) const {
  RETURN_IF_ERROR(CheckSequence(node, what));
  std::vector<std::string> strings;
  for (const Node& item : node.items) {
    ASSIGN_OR_RETURN(std::string string, String(item, what));
    strings.push_back(std::move(string));
  }
  return strings;
}

absl::StatusOr<std::vector<float>> DocumentReader::Floats(const Node& node,
                                                          absl::string_view what) const {
  std::vector<float> floats;
  if (node.kind != Node::Kind::kSequence) {
    ASSIGN_OR_RETURN(const float value, Float(node, what));
    return std::vector<float>{value};
  }
  if (node.items.empty()) return At(node, absl::StrCat(what, ": got an empty list; want a number"));
  for (const Node& item : node.items) {
    ASSIGN_OR_RETURN(const float value, Float(item, what));
    floats.push_back(value);
  }
  return floats;
}

absl::StatusOr<std::string> DocumentReader::OneOf(const Node& node, absl::string_view what,
                                                  absl::Span<const std::string> names) const {
  ASSIGN_OR_RETURN(std::string text, String(node, what));
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  return Unfit(node, what, absl::StrJoin(names, ", "));
}

}  // namespace fixpoint
