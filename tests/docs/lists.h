// The pages under docs/lists, and parts of others: what the registries and tables of the code hold,
// as Markdown; and a list for the code itself.

#ifndef FIXPOINT_TESTS_DOCS_LISTS_H_
#define FIXPOINT_TESTS_DOCS_LISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// A file that is made and carried: its path from the root of the repository, and its bytes.
struct GeneratedFile {
  std::string path;
  std::string bytes;
};

// docs/lists/{ops,passes,quantizers,targets,reason_codes}.md and runtime/run_op_types.inc.
std::vector<GeneratedFile> ListPages();

// docs/manual.md, given as it is, with the table of built-in targets in its place. Error
// (kInvalidArgument): it has no such place.
absl::StatusOr<GeneratedFile> ManualWithTargets(absl::string_view manual);

// docs/quantizers/, which has a page for each quantizer, as they are in the repository at `root`,
// with what the code says in its place. Errors: kNotFound: a quantizer has no page;
// kInvalidArgument: a page has no such place.
absl::StatusOr<std::vector<GeneratedFile>> QuantizerPages(const std::string& root);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_DOCS_LISTS_H_
