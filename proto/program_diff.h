// What is different between two programs, told in ops, slots, attributes and variables.
//
// Ops are aligned block by block (sequence_alignment.h), so that an insertion is one difference
// and not a shift of everything after it; the blocks that aligned ops run belong together.

#ifndef FIXPOINT_PROTO_PROGRAM_DIFF_H_
#define FIXPOINT_PROTO_PROGRAM_DIFF_H_

#include <string>
#include <vector>

#include "proto/program.h"

namespace fixpoint {

struct DiffOptions {
  // Takes a temporary for what writes it and not for its name: programs are alike if one can be
  // made the other by renaming temporaries, each to a name of its own. Known by their names are
  // only persistables, what a feed op writes and what no op writes.
  bool ignore_temporary_names = false;
  // Leaves out the attributes that tell where an op was made (program_text.h).
  bool ignore_debug_attributes = false;
  // Makes every field count. Otherwise these are no difference: the order of slots, attributes and
  // variables; a slot that is empty and one that is missing; a default that is written out and one
  // that is not; the number of a block.
  bool strict = false;
};

// One thing that is in one program only, or is in both and not the same.
struct Difference {
  enum class Subject { kProgram, kBlock, kVariable, kOp };
  enum class Change { kRemoved, kAdded, kChanged };

  // One slot, attribute or other part of what changed, in the words of the text form.
  struct Part {
    std::string what;    // "input Filter", "attribute strides", "declaration"
    std::string before;  // "absent" where there was none
    std::string after;
  };

  Subject subject = Subject::kProgram;
  Change change = Change::kChanged;
  int block = 0;     // in the second program; in the first of what was removed
  int index_a = -1;  // an op's position in its block, in either program; else -1
  int index_b = -1;
  std::string name;         // an op's type, a variable's name
  std::string text;         // in the text form, on one line; of an op that changed, its slots alone
  std::vector<Part> parts;  // of kChanged, at least one
};

struct ProgramDiff {
  // Of the program, then block by block; in each its variables, then its ops in order.
  std::vector<Difference> differences;
  // Blocks (of the second program) with stretches that have too little in common to be aligned:
  // their ops are differences, removed and added, though fewer might have done.
  std::vector<int> given_up_blocks;
};

// Finds the differences of `b` from `a`; none if and only if the programs are alike under the
// options. Time is near linear in the size of nearly equal programs and bounded for any two.
ProgramDiff DiffPrograms(const Program& a, const Program& b, const DiffOptions& options = {});

// Lines for people: a heading per block, then what was removed (-), added (+) and changed (~), with
// a line for each changed part. "" where there is no difference.
std::string PrintDiff(const ProgramDiff& diff);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_DIFF_H_
