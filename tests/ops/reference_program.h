// The reference programs, loaded.

#ifndef FIXPOINT_TESTS_OPS_REFERENCE_PROGRAM_H_
#define FIXPOINT_TESTS_OPS_REFERENCE_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "proto/program/program.h"

namespace fixpoint {

struct ReferenceProgram {
  std::string path;
  Program program;

  Era era() const { return EraOf(program.version(), program.Proto().has_op_version_map()); }
};

// The programs whose path contains `part`, in the order of their paths; none if they are absent.
std::vector<ReferenceProgram> LoadReferencePrograms(absl::string_view part);

// The path of the startup program that goes with a training program's.
std::string StartupOf(absl::string_view training);

// Calls `visit` with each op of each block.
template <typename Visit>
void ForEachOp(const Program& program, Visit visit) {
  for (const Op& op : program.ops()) visit(op);
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_REFERENCE_PROGRAM_H_
