// The pages under docs/lists: what the registries and tables of the code hold, as Markdown.

#ifndef FIXPOINT_TESTS_DOCS_LISTS_H_
#define FIXPOINT_TESTS_DOCS_LISTS_H_

#include <string>
#include <vector>

namespace fixpoint {

// A file that is made and carried: its path from the root of the repository, and its bytes.
struct GeneratedFile {
  std::string path;
  std::string bytes;
};

// docs/lists/{ops,passes,quantizers,targets,reason_codes}.md.
std::vector<GeneratedFile> ListPages();

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_DOCS_LISTS_H_
