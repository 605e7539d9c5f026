#include "transpiler/exchange/foreign_config.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {

absl::StatusOr<QuantConfig> ParseForeignConfig(absl::string_view text, absl::string_view name) {
  const DocumentReader reader((std::string(name)));
  ASSIGN_OR_RETURN(const std::vector<Node> documents, ParseDocuments(text, name));
  if (documents.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": documents: ", documents.size(),
                                                   "; want one, a configuration as JSON"));
  }
  const Node& root = documents[0];
  switch (root.kind) {
    case Node::Kind::kSequence:
      return NniConfig(reader, root);
    case Node::Kind::kMapping:
      return PaddleConfig(reader, root);
    case Node::Kind::kScalar:
      break;
  }
  return reader.At(root,
                   "want a list, which is NNI's configuration, or an object, which is "
                   "PaddlePaddle's");
}

}  // namespace fixpoint
