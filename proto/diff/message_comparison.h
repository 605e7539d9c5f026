// The differences between two messages that belong together, part by part.

#ifndef FIXPOINT_PROTO_DIFF_MESSAGE_COMPARISON_H_
#define FIXPOINT_PROTO_DIFF_MESSAGE_COMPARISON_H_

#include <vector>

#include "proto/diff/program_correspondence.h"
#include "proto/diff/program_diff.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// Each function returns the parts that differ; with DiffOptions::strict, at least one if the
// serialized messages are not the same bytes (apart from temporaries and debug attributes that the
// options ignore). A part that only one side has is "absent" from the other.

// REQUIRES: the ops belong to the corresponding programs.
std::vector<Difference::Part> CompareOps(const Op& a, const Op& b,
                                         const ProgramCorrespondence& correspondence,
                                         const DiffOptions& options);

// Ignores names.
std::vector<Difference::Part> CompareDeclarations(const VarDesc& a, const VarDesc& b,
                                                  const DiffOptions& options);

// Compares everything except variables and ops.
std::vector<Difference::Part> CompareBlockHeaders(const BlockDesc& a, const BlockDesc& b,
                                                  const ProgramCorrespondence& correspondence,
                                                  const DiffOptions& options);

// Compares everything except the blocks.
std::vector<Difference::Part> CompareProgramHeaders(const ProgramDesc& a, const ProgramDesc& b,
                                                    const DiffOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DIFF_MESSAGE_COMPARISON_H_
