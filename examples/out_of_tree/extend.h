// Everything of one's own, for a tool and for a plugin.

#ifndef OUT_OF_TREE_EXTEND_H_
#define OUT_OF_TREE_EXTEND_H_

#include "absl/status/status.h"
#include "transpiler/extensions/extensions.h"

namespace out_of_tree {

absl::Status Extend(fixpoint::Extensions& extensions);

}  // namespace out_of_tree

#endif  // OUT_OF_TREE_EXTEND_H_
