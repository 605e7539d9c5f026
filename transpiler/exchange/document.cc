#include "transpiler/exchange/document.h"

#include <yaml.h>

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

constexpr int kDeepest = 100;

absl::string_view TextOf(const yaml_char_t* text, size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}

// libyaml's parser and the event that it is at.
class EventReader {
 public:
  EventReader(absl::string_view text, absl::string_view name) : name_(name) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~EventReader() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  const yaml_event_t& event() const { return event_; }

  absl::Status Next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 0) return absl::OkStatus();
    const bool has_context = parser_.context != nullptr && parser_.problem != nullptr;
    const std::string context = has_context ? absl::StrCat(parser_.context, ": ") : "";
    const std::string problem = parser_.problem != nullptr ? parser_.problem : "no memory";
    if (parser_.error == YAML_READER_ERROR) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, ": byte ", parser_.problem_offset, ": ", problem, "; want UTF-8"));
    }
    return At(parser_.problem_mark, absl::StrCat("neither JSON nor YAML: ", context, problem));
  }

  absl::Status At(const yaml_mark_t& mark, absl::string_view message) const {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ":", mark.line + 1, ":", mark.column + 1, ": ", message));
  }
  absl::Status Here(absl::string_view message) const { return At(event_.start_mark, message); }

 private:
  const std::string name_;
  yaml_parser_t parser_;
  yaml_event_t event_ = {};
};

// The node that begins at the reader's event; leaves the reader at the node's last event.
absl::StatusOr<Node> ReadNode(EventReader& reader, int depth) {
  if (depth > kDeepest) {
    return reader.Here(absl::StrCat("more than ", kDeepest, " lists and objects in each other"));
  }
  const yaml_event_t& event = reader.event();
  Node node;
  node.line = static_cast<int>(event.start_mark.line) + 1;
  node.column = static_cast<int>(event.start_mark.column) + 1;
  const auto is_plain = [](const yaml_char_t* anchor, const yaml_char_t* tag) {
    return anchor == nullptr && tag == nullptr;
  };
  const auto marked = [&reader] {
    return reader.Here("an anchor or a tag; want plain values, as in JSON");
  };
  switch (event.type) {
    case YAML_SCALAR_EVENT: {
      const auto& scalar = event.data.scalar;
      if (!is_plain(scalar.anchor, scalar.tag)) return marked();
      node.text = std::string(TextOf(scalar.value, scalar.length));
      node.is_quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
      return node;
    }
    case YAML_SEQUENCE_START_EVENT: {
      const auto& start = event.data.sequence_start;
      if (!is_plain(start.anchor, start.tag)) return marked();
      node.kind = Node::Kind::kSequence;
      RETURN_IF_ERROR(reader.Next());
      while (reader.event().type != YAML_SEQUENCE_END_EVENT) {
        ASSIGN_OR_RETURN(Node item, ReadNode(reader, depth + 1));
        node.items.push_back(std::move(item));
        RETURN_IF_ERROR(reader.Next());
      }
      return node;
    }
    case YAML_MAPPING_START_EVENT: {
      const auto& start = event.data.mapping_start;
      if (!is_plain(start.anchor, start.tag)) return marked();
      node.kind = Node::Kind::kMapping;
      absl::flat_hash_set<std::string> names;
      RETURN_IF_ERROR(reader.Next());
      while (reader.event().type != YAML_MAPPING_END_EVENT) {
        NodeField field;
        ASSIGN_OR_RETURN(field.key, ReadNode(reader, depth + 1));
        if (field.key.kind != Node::Kind::kScalar) {
          return reader.Here("a field's name is a list or an object; want a string");
        }
        if (!names.insert(field.key.text).second) {
          return reader.Here(absl::StrCat("\"", field.key.text, "\" is there twice"));
        }
        RETURN_IF_ERROR(reader.Next());
        ASSIGN_OR_RETURN(field.value, ReadNode(reader, depth + 1));
        node.fields.push_back(std::move(field));
        RETURN_IF_ERROR(reader.Next());
      }
      return node;
    }
    case YAML_ALIAS_EVENT:
      return reader.Here("an alias; want plain values, as in JSON");
    default:
      return reader.Here("a value is missing");
  }
}

}  // namespace

const Node* Node::Find(absl::string_view name) const {
  for (const NodeField& field : fields) {
    if (field.key.text == name) return &field.value;
  }
  return nullptr;
}

absl::StatusOr<std::vector<Node>> ParseDocuments(absl::string_view text, absl::string_view name) {
  EventReader reader(text, name);
  std::vector<Node> documents;
  do {
    RETURN_IF_ERROR(reader.Next());
    if (reader.event().type != YAML_DOCUMENT_START_EVENT) continue;
    RETURN_IF_ERROR(reader.Next());
    ASSIGN_OR_RETURN(Node node, ReadNode(reader, 1));
    documents.push_back(std::move(node));
  } while (reader.event().type != YAML_STREAM_END_EVENT);
  return documents;
}

}  // namespace fixpoint
