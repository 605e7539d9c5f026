// plan_quantizers: decides what is quantized (planner.h), unless a plan was given. Edits nothing.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/status_macros.h"
#include "transpiler/pass.h"
#include "transpiler/planner.h"

namespace fixpoint {
namespace {

class PlanQuantizers final : public Pass {
 public:
  absl::string_view name() const override { return "plan_quantizers"; }
  absl::string_view doc() const override {
    return "Decides what is quantized and how, with a reason for each op; edits nothing.";
  }
  std::vector<std::string> Establishes() const override { return {"planned"}; }

  absl::Status Run(Program& program, PassContext& context) const override {
    if (context.plan.is_given) return absl::OkStatus();
    ASSIGN_OR_RETURN(context.plan,
                     MakePlan(program, context.config, context.target, context.quantizers));
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakePlanQuantizers() { return std::make_unique<PlanQuantizers>(); }

}  // namespace fixpoint
