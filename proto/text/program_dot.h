// A program as a graph for Graphviz: `inspect dot program.pb | dot -Tsvg > program.svg`.

#ifndef FIXPOINT_PROTO_TEXT_PROGRAM_DOT_H_
#define FIXPOINT_PROTO_TEXT_PROGRAM_DOT_H_

#include <string>

#include "proto/program/program_fwd.h"

namespace fixpoint {

struct DotOptions {
  bool backward_ops = true;   // ops with the Backward bit
  bool optimizer_ops = true;  // ops with the Optimize or LearningRate bit
};

// Ops are boxes, filled if they quantize or dequantize; values are ellipses, or boxes with a folded
// corner for parameters and other persistables. Edges are labelled with the slots. A block is a
// cluster, with a dashed edge from the op that runs it. A variable that is written twice is two
// values, so that the graph of a block has no cycle except a loop's. Values that no shown op reads
// or writes are left out.
//
// The text is valid DOT for any names, the same for the same program, and linear in it.
std::string PrintDot(const Program& program, const DotOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_PROGRAM_DOT_H_
