// plan_quantizers: decides what is quantized (planner.h), unless a plan was given. The program is
// the same before and after; for a convolution the plan says, shortened (proto/quant_plan.proto):
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//
//   sites { value { variable: "x" } readers { type: "conv2d" slot: "Input" } role: ACTIVATION }
//   sites { value { variable: "w" } readers { type: "conv2d" slot: "Filter" } role: WEIGHT }
//   decisions { op: 0 type: "conv2d" quantized: true reason: "by_target" }

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizer.h"
#include "proto/status_macros.h"
#include "transpiler/input_error.h"
#include "transpiler/pass.h"
#include "transpiler/plan_file.h"
#include "transpiler/planner.h"
#include "transpiler/scale_training.h"
#include "transpiler/target.h"

namespace fixpoint {
namespace {

class PlanQuantizers final : public Pass {
 public:
  absl::string_view name() const override { return "plan_quantizers"; }
  absl::string_view doc() const override {
    return "Decides what is quantized and how, with a reason for each op; edits nothing.";
  }
  std::vector<std::string> Requires() const override { return {"target"}; }
  std::vector<std::string> Establishes() const override { return {"planned"}; }

  absl::Status Run(Program& program, PassContext& context) const override {
    TrainContext& train = *context.train;
    if (train.given_plan != nullptr) {
      RETURN_IF_ERROR(InputError(train.names.plan, ReadPlan(program, context.quantizers, train)));
    } else {
      ASSIGN_OR_RETURN(train.plan, MakePlan(program, train.config, train.target, context.quantizers,
                                            train.names.config));
      FindTrainedScales(context.quantizers, train);
    }
    if (train.plan.is_inference) {
      context.notes.push_back("the program has no backward op: it is rewritten for inference");
    }
    if (train.profile != nullptr) {
      RETURN_IF_ERROR(
          InputError(train.names.profile, MergeProfile(*train.profile, program, train.plan)));
    }
    if (train.plan.is_inference) NoteMissingRanges(context);
    train.plan_as_made = PlanToProto(train.plan);
    return absl::OkStatus();
  }

 private:
  // Nothing trains the ranges of a program of inference.
  static void NoteMissingRanges(PassContext& context) {
    int count = 0;
    std::string first;
    for (const Site& site : context.train->plan.sites) {
      if (site.role != SlotRole::ACTIVATION || site.range) continue;
      if (context.quantizers.Find(site.spec.quantizer())->is_dynamic()) continue;
      if (count++ == 0) first = site.value->variable().name();
    }
    if (count == 0) return;
    context.notes.push_back(absl::StrCat(
        "activations whose range neither training nor a profile tells, so that the results will be "
        "wrong: ",
        count, ", the first is ", first));
  }

  static absl::Status ReadPlan(const Program& program, const QuantizerTable& quantizers,
                               TrainContext& train) {
    ASSIGN_OR_RETURN(train.plan, PlanFromProto(*train.given_plan, program));
    if (train.plan.target.empty() && train.plan.sites.empty() && train.plan.decisions.empty()) {
      return absl::InvalidArgumentError("has no target, no sites and no decisions; want a plan");
    }
    RETURN_IF_ERROR(CheckPlan(train.plan, train.target, quantizers));
    FindTrainedScales(quantizers, train);
    return CheckTrainedScales(program, train.plan);
  }

  static void FindTrainedScales(const QuantizerTable& quantizers, TrainContext& train) {
    for (Site& site : train.plan.sites) {
      site.trained_inputs = train.plan.is_inference || site.observe || site.role == SlotRole::BIAS
                                ? std::vector<std::string>()
                                : TrainedInputs(quantizers, site.spec, EraOf(train.target));
    }
  }
};

}  // namespace

std::unique_ptr<Pass> MakePlanQuantizers() { return std::make_unique<PlanQuantizers>(); }

}  // namespace fixpoint
