// freeze_observers: the range that an observer saw becomes an attribute of the op whose output it
// watched, and the observer is removed:
//
//   relu(X=x) -> (Out=y)
//   moving_average_abs_max_scale(X=y) -> (OutScale=s) {is_test=true}
//
//   relu(X=x) -> (Out=y) {out_threshold=<s>}
//
// out_threshold is the reference's name for it (OutScaleForInferencePass).

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

class FreezeObservers final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "freeze_observers"; }
  absl::string_view doc() const override {
    return "Writes observed ranges as out_threshold on the ops that were observed.";
  }
  std::vector<std::string> Requires() const override { return {"test_mode", "trained_parameters"}; }
  std::vector<std::string> Establishes() const override { return {"observers_frozen"}; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    Rewriter rewriter(&program, name());
    int unknown = 0;
    std::string first_unknown;
    for (const Op& op : program.ops()) {
      const auto match = context.quantizers.FindByObserveOp(op.type());
      if (match.recipe == nullptr) continue;
      const Argument* x = op.Input("X");
      const Argument* scale = op.Output(match.recipe->scale_output);
      if (x == nullptr || x->value() == nullptr || scale == nullptr ||
          scale->variable() == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(DescribeInFile(op), ": wants one variable in input X and in output ",
                         match.recipe->scale_output));
      }
      if (x->value()->origin() == Value::Origin::kWrite && !IsFeed(*x->value()->op())) {
        const auto range = ReadRange(*scale->variable(), context.parameters);
        if (range.ok()) {
          rewriter.SetAttr(*x->value()->op(), MakeFloatAttr("out_threshold", *range));
        } else if (unknown++ == 0) {
          first_unknown =
              absl::StrCat(DescribeInFile(op), ": ", std::string(range.status().message()));
        }
      }
      // The observer's Out is a copy of X.
      const Argument* copy = op.Output("Out");
      if (copy != nullptr && copy->value() != nullptr && !copy->value()->readers().empty()) {
        rewriter.InsertBefore(
            op, InPlaceOf(
                    op, name(),
                    OpBuilder("assign").Input("X", x->name()).Output("Out", copy->name()).Build()));
      }
      rewriter.Remove(op);
    }
    if (unknown > 0) {
      context.notes.push_back(absl::StrCat(
          unknown, " observed ranges are not known and left out; the first: ", first_unknown));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFreezeObservers() { return std::make_unique<FreezeObservers>(); }

}  // namespace fixpoint
