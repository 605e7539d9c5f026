// Distinguishes the errors that edits made from those that a program had before them, which are its
// writer's.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_EDIT_VERIFIER_H_
#define FIXPOINT_TRANSPILER_PIPELINE_EDIT_VERIFIER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ops/verifier.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Error (kInvalidArgument): the verifier finds errors; a line each, up to 5. Linear in the program.
absl::Status CheckVerifies(const Program& program);

// Checks a program repeatedly while it is edited. The program as it was before its first edit since
// Create or ForgetEdits is verified once, and only if something is found.
class EditVerifier {
 public:
  // The errors of inserted and changed ops, and of gradient ops that no longer read what their
  // forward ops read, without those that the program had before. Linear in the program.
  std::vector<Finding> NewErrors(const Program& program);

 private:
  // Block and op type: the parts of a finding that survive changes of names and positions. Not the
  // code: an op's first error may hide others, which an edit uncovers.
  using Kind = std::pair<int, std::string>;
  using KindCounts = std::map<Kind, int>;

  static Kind KindOf(const Finding& finding);
  const KindCounts& Before(const Program& program);

  std::optional<KindCounts> before_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_EDIT_VERIFIER_H_
