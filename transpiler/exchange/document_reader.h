// The values of a document's nodes, with errors that name the place.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_DOCUMENT_READER_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_DOCUMENT_READER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transpiler/exchange/document.h"

namespace fixpoint {

// Errors (kInvalidArgument) are "file:line:column: <field>: got ...; want ...". `what` is the field
// that a message speaks of.
class DocumentReader {
 public:
  explicit DocumentReader(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }

  absl::Status At(const Node& node, absl::string_view message) const;

  // The node is an object whose fields all have one of the names.
  absl::Status CheckFields(const Node& node, absl::string_view what,
                           absl::Span<const std::string> known) const;
  absl::Status CheckMapping(const Node& node, absl::string_view what) const;
  absl::Status CheckSequence(const Node& node, absl::string_view what) const;

  absl::StatusOr<std::string> String(const Node& node, absl::string_view what) const;
  absl::StatusOr<bool> Bool(const Node& node, absl::string_view what) const;
  absl::StatusOr<int64_t> Int(const Node& node, absl::string_view what, int64_t least,
                              int64_t most) const;
  // The nearest float, which is finite.
  absl::StatusOr<float> Float(const Node& node, absl::string_view what) const;
  absl::StatusOr<double> Double(const Node& node, absl::string_view what) const;
  absl::StatusOr<std::vector<std::string>> Strings(const Node& node, absl::string_view what) const;
  // One number, or a list of them: a tensor.
  absl::StatusOr<std::vector<float>> Floats(const Node& node, absl::string_view what) const;
  // One of the names.
  absl::StatusOr<std::string> OneOf(const Node& node, absl::string_view what,
                                    absl::Span<const std::string> names) const;

 private:
  absl::Status Unfit(const Node& node, absl::string_view what, absl::string_view wanted) const;

  std::string file_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_DOCUMENT_READER_H_
