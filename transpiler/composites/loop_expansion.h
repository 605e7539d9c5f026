// Ops whose components stand in a loop: a while in place of the op, and a block that is added.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_LOOP_EXPANSION_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_LOOP_EXPANSION_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ops/gradient_links.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/composite_map.pb.h"
#include "transpiler/patterns/pattern_rewriter.h"

namespace fixpoint {

class LoopExpansion {
 public:
  // Of ops of the given types. REQUIRES: the program outlives this object, and meanwhile only this
  // edits it.
  LoopExpansion(Program* program, const std::string& author,
                const absl::flat_hash_set<std::string>& types);

  // Why the op stays whole: it has gradients, or something needs a result that no component is; ""
  // if it does not.
  std::string WhyKept(const Op& op, const LoopComponents& components) const;

  // Replaces the op, and fills its entry of the map. Error (kInvalidArgument), and nothing is
  // changed: the components do not fit the op. REQUIRES: WhyKept finds nothing.
  absl::StatusOr<ReplacedMatch> Replace(const Op& op, const LoopComponents& components,
                                        CompositeMap::Composite* entry);

 private:
  Program& program_;
  Rewriter rewriter_;
  const GradientLinks links_;
  const absl::flat_hash_set<std::string> named_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_LOOP_EXPANSION_H_
