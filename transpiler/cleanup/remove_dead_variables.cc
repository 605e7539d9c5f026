// remove_dead_variables: removes the variables that no op of the program names, in whichever block
// the op and the variable are. The variables that hold feeds and fetches stay, and so do names that
// an op with blocks of its own has in attributes (states of `recurrent`). After strip_training has
// removed the gradient ops:
//
//   var x f32[-1,4]
//   var y f32[-1,4]
//   var y@GRAD f32[-1,4]
//   relu(X=x) -> (Out=y)
//
//   var x f32[-1,4]
//   var y f32[-1,4]
//   relu(X=x) -> (Out=y)

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

bool HoldsFeedsOrFetches(const Variable& variable) {
  const VarType::Type kind = variable.desc()->type().type();
  return kind == VarType::FEED_MINIBATCH || kind == VarType::FETCH_LIST;
}

class RemoveDeadVariables final : public Pass {
 public:
  absl::string_view name() const override { return "remove_dead_variables"; }
  absl::string_view doc() const override { return "Removes variables that no op names."; }

  std::vector<std::string> Requires() const override { return {"training_stripped"}; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    const absl::flat_hash_set<std::string> named = NamesInAllAttributes(program);
    for (int b = 0; b < program.block_count(); ++b) {
      for (const Variable* variable : program.block(b).variables()) {
        if (variable->is_used() || HoldsFeedsOrFetches(*variable) ||
            named.contains(variable->name())) {
          continue;
        }
        rewriter.Remove(*variable);
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeRemoveDeadVariables() { return std::make_unique<RemoveDeadVariables>(); }

}  // namespace fixpoint
