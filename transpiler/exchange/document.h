// A file of another tool as a tree that knows its lines: YAML, of which JSON is a part.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_DOCUMENT_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_DOCUMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

struct NodeField;

struct Node {
  enum class Kind { kScalar, kSequence, kMapping };
  Kind kind = Kind::kScalar;
  int line = 0;  // from 1
  int column = 0;
  std::string text;               // of a scalar
  bool is_quoted = false;         // a string, whatever it looks like
  std::vector<Node> items;        // of a sequence
  std::vector<NodeField> fields;  // of a mapping, in the order of the file

  // Null if the mapping has no such field.
  const Node* Find(absl::string_view name) const;
};

struct NodeField {
  Node key;  // a scalar
  Node value;
};

// The documents of a file; none of an empty one. Error (kInvalidArgument), "name:line:column: what
// is wrong": it is no YAML; a field is there twice; anchors, aliases and tags; more than 100 nodes
// inside each other.
absl::StatusOr<std::vector<Node>> ParseDocuments(absl::string_view text, absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_DOCUMENT_H_
