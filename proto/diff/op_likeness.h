// Keys by which the ops of two programs are recognised in one another when they are aligned.

#ifndef FIXPOINT_PROTO_DIFF_OP_LIKENESS_H_
#define FIXPOINT_PROTO_DIFF_OP_LIKENESS_H_

#include <cstdint>
#include <vector>

#include "proto/diff/named_variables.h"
#include "proto/diff/program_diff.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// keys[block][level][op], for AlignSequences. From the strictest level to the loosest:
//
//   with names                       without the names of temporaries
//   type, attributes, arguments      the whole computation that leads to the op
//   type, outputs                    type, attributes, arguments, each by the op that writes it
//                                    type, arguments that are known by name
//   type                             type
//
// Attributes that name blocks are ignored. Linear in the program.
std::vector<std::vector<std::vector<uint64_t>>> OpLikenessKeys(const Program& program,
                                                               const NamedVariables& named,
                                                               const DiffOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DIFF_OP_LIKENESS_H_
