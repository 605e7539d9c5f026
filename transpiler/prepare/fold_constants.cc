// fold_constants: computes what parameters and attributes alone decide, once, by the reference
// interpreter. The result becomes a parameter of the variable's name, and the op goes:
//
//   var b f32[8] persistable
//   reshape2(X=b) -> (Out=c, XShape=s) {shape=[1, 8, 1, 1]}
//   elementwise_add(X=x, Y=c) -> (Out=y)
//
//   var c f32[1,8,1,1] persistable
//   elementwise_add(X=x, Y=c) -> (Out=y)
//
// An op is constant if its type has a reference kernel and draws no random numbers, and if it reads
// nothing but constants. It stays if what it writes is kept from run to run, written a second time,
// named by an attribute, or read where an attribute could stand (ops/attribute_inputs.h: a run
// plans for such a value, and knows it as long as ops compute it); if it is in a block that an op
// runs; and if its outputs have more than kMostGrowth bytes more than its inputs. Shapes of values
// that are fed are no constants, because a run may feed other ones.

#include <memory>
#include <string>
#include <vector>

#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/prepare/constant_folder.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

class FoldConstants final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "fold_constants"; }
  absl::string_view doc() const override {
    return "Computes what parameters and attributes alone decide, and makes it parameters.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    ConstantFolder folder(&program, &context.parameters, &context.notes, name());
    for (const Op& op : program.block(0).ops()) RETURN_IF_ERROR(folder.Fold(op));
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFoldConstants() { return std::make_unique<FoldConstants>(); }

}  // namespace fixpoint
