// plan_quantizers: decides what is quantized (planner.h), unless a plan was given. The program is
// the same before and after; for a convolution the plan says, shortened
// (proto/config/quant_plan.proto):
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//
//   sites { value { variable: "x" } readers { type: "conv2d" slot: "Input" } role: ACTIVATION }
//   sites { value { variable: "w" } readers { type: "conv2d" slot: "Filter" } role: WEIGHT }
//   decisions { op: 0 type: "conv2d" quantized: true reason: "by_target" }

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/never_negative.h"
#include "ops/op_traits.h"
#include "ops/quantizer.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/plan/formula_facts.h"
#include "transpiler/plan/plan_file.h"
#include "transpiler/plan/plan_on_target.h"
#include "transpiler/plan/planner.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

class PlanQuantizers final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return "plan_quantizers"; }
  absl::string_view doc() const override {
    return "Decides what is quantized and how, with a reason for each op; edits nothing.";
  }
  std::vector<std::string> Requires() const override { return {"target"}; }
  std::vector<std::string> Establishes() const override { return {"planned"}; }

  absl::Status RunIn(Program& program, TrainContext& context) const override {
    if (context.given_plan != nullptr) {
      absl::StatusOr<Plan> plan =
          PlanFromProto(*context.given_plan, program, context.target, context.quantizers);
      if (!plan.ok()) return InputError(context.names.plan, plan.status());
      context.plan = *std::move(plan);
      RETURN_IF_ERROR(
          InputError(context.names.plan, CheckPlanOnTarget(context.plan, program, context.target,
                                                           context.quantizers, context.checks)));
    } else {
      ASSIGN_OR_RETURN(context.plan,
                       MakePlan(program, context.config, context.target, context.quantizers,
                                context.names.config, context.checks));
    }
    if (context.config.observe_outputs()) NoteNothingObserved(program, context);
    if (context.given_plan == nullptr) NoteHiddenSigns(program, context);
    if (context.plan.is_inference) context.notes.push_back(kForInferenceNote);
    if (context.profile != nullptr) {
      RETURN_IF_ERROR(
          InputError(context.names.profile, MergeProfile(*context.profile, program, context.plan)));
    }
    if (context.plan.is_inference) NoteMissingRanges(context);
    context.plan_as_made = PlanToProto(context.plan);
    return absl::OkStatus();
  }

 private:
  // A target whose entry says so quantizes the outputs, which finds their ranges too.
  static void NoteNothingObserved(const Program& program, TrainContext& context) {
    const Target& target = context.target;
    absl::flat_hash_set<absl::string_view> listed;
    absl::flat_hash_set<absl::string_view> quantized;
    for (const Target::ObservedOutputs& outputs : target.outputs()) {
      auto& types = outputs.quantize() ? quantized : listed;
      types.insert(outputs.types().begin(), outputs.types().end());
    }
    listed.insert(quantized.begin(), quantized.end());
    const std::vector<Site>& sites = context.plan.sites;
    const bool is_any_found = std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
      const Op* op = site.value->op();
      return site.observe || (op != nullptr && quantized.contains(op->type()));
    });
    if (is_any_found) return;
    const bool is_any_there = std::any_of(program.ops().begin(), program.ops().end(),
                                          [&](const Op& op) { return listed.contains(op.type()); });
    context.notes.push_back(absl::StrCat(
        "observe_outputs: ",
        listed.empty() ? absl::StrCat("target ", target.name(), " observes no outputs")
        : is_any_there
            ? absl::StrCat("nothing is observed: of the outputs that target ", target.name(),
                           " lists, each is skipped by a rule or cannot be quantized")
            : absl::StrCat("the program has no op whose outputs target ", target.name(),
                           " observes")));
  }

  static bool IsRightOperand(const Argument& argument) {
    const std::optional<ProductTrait>& product = TraitsOf(argument.op()).product;
    return product && argument.slot_name() == product->weight;
  }

  // Whether the signedness of activations is left to the program, everywhere.
  static bool IsSignednessFound(const TrainContext& context) {
    QuantSpec::Signedness asked = context.target.activations().signedness();
    const auto is_other = [](const QuantSpec& spec) {
      return spec.has_signedness() && spec.signedness() != QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE;
    };
    const auto& ops = context.target.ops();
    const auto& rules = context.config.rules();
    if (context.config.activations().has_signedness()) {
      asked = context.config.activations().signedness();
    }
    return asked == QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE &&
           std::none_of(ops.begin(), ops.end(),
                        [&](const auto& op) { return is_other(op.activations()); }) &&
           std::none_of(rules.begin(), rules.end(),
                        [&](const auto& rule) { return is_other(rule.spec()); });
  }

  // Half of the codes are lost where a formula makes of values that are never negative ones that
  // may be, as far as its ops tell.
  static void NoteHiddenSigns(const Program& program, TrainContext& context) {
    if (!IsSignednessFound(context)) return;
    const Era era = EraOf(context.target);
    NeverNegative never_negative(EraOf(program));
    int count = 0;
    const Site* first = nullptr;
    for (const Site& site : context.plan.sites) {
      const QuantSpec& spec = site.spec;
      if (site.role != SlotRole::ACTIVATION || spec.scheme() != QuantSpec::SYMMETRIC ||
          spec.signedness() != QuantSpec::SIGNED || !never_negative.Holds(*site.value) ||
          QuantizesNoNegatives(*context.quantizers.Find(spec.quantizer()), spec, site.role, era,
                               /*of_value=*/true) ||
          std::any_of(site.readers.begin(), site.readers.end(),
                      [](const Argument* reader) { return IsRightOperand(*reader); })) {
        continue;
      }
      if (count++ == 0) first = &site;
    }
    if (count == 0) return;
    context.notes.push_back(absl::StrCat(
        "activations that are never negative, and that get codes with a sign because what their "
        "quantizer computes from them may be negative, as far as its ops tell: ",
        count, ", the first is ", first->value->variable().name(), ", of ", first->spec.quantizer(),
        "; a relu, an abs or a clip above 0 tells"));
  }

  // Nothing trains the ranges of a program for inference.
  static void NoteMissingRanges(TrainContext& context) {
    int count = 0;
    std::string first;
    for (const Site& site : context.plan.sites) {
      if (site.role != SlotRole::ACTIVATION || site.range) continue;
      if (context.quantizers.Find(site.spec.quantizer())->is_dynamic()) continue;
      if (count++ == 0) first = site.value->variable().name();
    }
    if (count == 0) return;
    context.notes.push_back(absl::StrCat(
        "activations whose range neither training nor a profile gives, so that the results will be "
        "wrong: ",
        count, ", the first is ", first));
  }
};

}  // namespace

std::unique_ptr<Pass> MakePlanQuantizers() { return std::make_unique<PlanQuantizers>(); }

}  // namespace fixpoint
