// A pass of one's own: drops op_callstack, the Python lines that made each op.

#ifndef OUT_OF_TREE_DROP_CALLSTACKS_H_
#define OUT_OF_TREE_DROP_CALLSTACKS_H_

#include <memory>

#include "transpiler/pipeline/pass.h"

namespace out_of_tree {

std::unique_ptr<fixpoint::Pass> MakeDropCallstacks();

}  // namespace out_of_tree

#endif  // OUT_OF_TREE_DROP_CALLSTACKS_H_
