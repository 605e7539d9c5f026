// The differences between two programs, expressed in ops, slots, attributes and variables.
//
// Ops are aligned block by block (sequence_alignment.h), so that an insertion is one difference
// and not a shift of everything after it; the blocks that aligned ops run belong together.

#ifndef FIXPOINT_PROTO_DIFF_PROGRAM_DIFF_H_
#define FIXPOINT_PROTO_DIFF_PROGRAM_DIFF_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"

namespace fixpoint {

struct DiffOptions {
  // Identifies temporaries by what writes them and not by name: programs are alike if one can be
  // turned into the other by renaming temporaries, each to a name of its own. Only persistables,
  // variables that a feed op writes and variables that no op writes are identified by name.
  bool ignore_temporary_names = false;
  // Leaves out the attributes that record where an op was created (proto/text/program_text.h).
  bool ignore_debug_attributes = false;
  // Compares every field. Otherwise these differences are ignored: the order of slots, attributes
  // and variables; an empty slot and a missing one; a default that is written out and one that is
  // not; the number of a block.
  bool strict = false;
};

// One difference: something that is in one program only, or in both and not the same.
struct Difference {
  enum class Subject { kProgram, kBlock, kVariable, kOp };
  enum class Change { kRemoved, kAdded, kChanged };

  // One slot, attribute or other part that changed, as the text form writes it.
  struct Part {
    std::string what;    // "input Filter", "attribute strides", "declaration"
    std::string before;  // "absent" if there was none
    std::string after;
  };

  Subject subject = Subject::kProgram;
  Change change = Change::kChanged;
  int block = 0;     // in the second program; for kRemoved, in the first
  int index_a = -1;  // an op's position in its block, in either program; else -1
  int index_b = -1;
  std::string name;         // an op's type, a variable's name
  std::string text;         // in the text form, on one line; of an op that changed, its slots alone
  std::vector<Part> parts;  // for kChanged, at least one
};

struct ProgramDiff {
  // Differences of the program, then block by block; in each its variables, then its ops in order.
  std::vector<Difference> differences;
  // Blocks (of the second program) with stretches that have too little in common to be aligned:
  // their ops are listed as removed and added, though fewer differences might have sufficed.
  std::vector<int> given_up_blocks;
};

// Finds the differences between `a` and `b`; none if and only if the programs are alike under the
// options. The time is nearly linear in the size of nearly equal programs and bounded for any two.
ProgramDiff DiffPrograms(const Program& a, const Program& b, const DiffOptions& options = {});

// As text: a heading per block, then what was removed (-), added (+) and changed (~), with a line
// for each changed part. "" if there is no difference.
std::string PrintDiff(const ProgramDiff& diff);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DIFF_PROGRAM_DIFF_H_
