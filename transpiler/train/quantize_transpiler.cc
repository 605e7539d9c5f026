#include "transpiler/train/quantize_transpiler.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "ops/op_types.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/wire/deterministic_bytes.h"
#include "proto/wire/fingerprint.h"
#include "transpiler/pipeline/edit_log.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/folded_weights.h"
#include "transpiler/plan/quant_config.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/invariants.h"
#include "transpiler/train/train_context.h"
#include "transpiler/train/train_passes.h"
#include "transpiler/undo/undo_by_marks.h"

namespace fixpoint {
namespace {

absl::Status InvariantsHold(const Program& program, const TrainContext& context,
                            absl::Span<const std::string> free_passes) {
  const std::vector<Violation> violations =
      CheckInvariants(program, context.plan, context.startup, free_passes);
  if (violations.empty()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrJoin(violations, "\n", [](std::string* out, const Violation& violation) {
        absl::StrAppend(out, "invariant ", violation.invariant, ": ", violation.message);
      }));
}

// A sentence about what quantized the program: Fixpoint, by its marks, or another tool, by its
// fake-quantize and dequantize ops. "" if it is not quantized. Observers do not count.
std::string WhoQuantized(const Program& program) {
  if (IsMarked(program)) return "the program was quantized by Fixpoint already";
  OpTypes types(program);
  int count = 0;
  std::string first;
  for (const Op& op : program.ops()) {
    const OpSchema* schema = types.SchemaOf(op);
    if (schema == nullptr || schema->quant_op() == QuantOp::kNone ||
        schema->quant_op() == QuantOp::kObserve) {
      continue;
    }
    if (count++ == 0) first = Describe(op);
  }
  if (count == 0) return "";
  return absl::StrCat("the program was quantized by another tool already: ", count,
                      " ops quantize or dequantize, the first is ", first);
}

// A program of one era with a target of the other: not wrong, but seldom intended.
std::string EraNote(const Program& program, const Target& target) {
  const std::string release = ReleaseName(program.version());
  if (release.empty() || EraOf(program) == EraOf(target)) return "";
  const bool is_newer = EraOf(target) == Era::kPaddle2;
  return absl::StrCat("the program was written by release ", release, "; what target ",
                      target.name(), " inserts is as ", is_newer ? "2.x" : "1.x", " has it",
                      is_newer ? ", and older releases may not run it" : "");
}

// Error (kInvalidArgument): the configuration sets what a given plan already sets.
absl::Status CheckDecidesNothing(const QuantConfig& config) {
  const char* field = config.rules_size() > 0           ? "rules"
                      : config.also_quantize_size() > 0 ? "also_quantize"
                      : config.has_weights()            ? "weights"
                      : config.has_activations()        ? "activations"
                      : config.has_fc_weights()         ? "fc_weights"
                      : config.observe_outputs()        ? "observe_outputs"
                      : config.has_schedule()           ? "schedule"
                                                        : nullptr;
  if (field == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": the given plan already decides what is quantized, and how; leave one of them out"));
}

absl::StatusOr<Target> TargetOf(const TranspileOptions& options, const QuantizerTable& quantizers) {
  if (options.target.has_value()) {
    const std::string& name = options.target->name();
    RETURN_IF_ERROR(CheckTarget(*options.target, name.empty() ? "target" : name, quantizers));
    return *options.target;
  }
  const bool is_of_config = !options.config.target().empty();
  std::string name = options.config.target();
  if (name.empty() && options.plan != nullptr) name = options.plan->target();
  if (name.empty()) name = kDefaultTarget;
  if (IsTargetFile(name)) return LoadTarget(name, quantizers);
  absl::StatusOr<Target> target = BuiltInTarget(name);
  if (target.ok()) return target;
  return InputError(is_of_config ? options.names.config : options.names.plan, target.status());
}

// The parts of a rewrite that the reference has no ops for.
std::string OwnOpsNote(const Program& program, const QuantPlan& plan, const Target& target,
                       const QuantizerTable& quantizers) {
  std::set<std::string> what;
  for (const Op& op : program.ops()) {
    if (op.type() == kFoldedBatchNorm) what.insert("batch norm that is folded");
    if (op.type() == kRequantize) what.insert("requantization by a multiplier and a shift");
  }
  for (const QuantPlan::Site& site : plan.sites()) {
    if (site.role() == SlotRole::BIAS) {
      what.insert(absl::StrCat("the bias in int", site.spec().bits()));
    }
    const Quantizer* quantizer = quantizers.Find(site.spec().quantizer());
    if (quantizer == nullptr || site.observe()) continue;
    const QuantizerRecipe* recipe = FindRecipe(*quantizer, site.spec(), EraOf(target));
    if (recipe != nullptr && !recipe->reference_runs_it) {
      what.insert(absl::StrCat("quantizer ", quantizer->name()));
    } else if (HasPowerOfTwoSteps(*quantizer, site.spec())) {
      what.insert("steps that are powers of two");
    }
  }
  if (!plan.is_inference() && IsScheduled(plan.schedule())) what.insert("the schedule");
  if (what.empty()) return "";
  return absl::StrCat("PaddlePaddle cannot run the result: it has no op for ",
                      absl::StrJoin(what, ", "));
}

// Errors: kFailedPrecondition: the startup program was rewritten, and the program was not;
// kInvalidArgument: it initialises variables, none of which the program has, and so belongs to
// another one.
absl::Status CheckStartup(const Program& program, const Program& startup) {
  if (IsMarked(startup)) {
    return absl::FailedPreconditionError(absl::StrCat(
        startup.name(), ": the startup program was quantized by Fixpoint already, and ",
        program.name(),
        " was not; want the startup program as it was before, or none, for a new one"));
  }
  if (startup.block(0).op_count() == 0) return absl::OkStatus();
  int count = 0;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable() || variable->tensor() == nullptr) continue;
    if (startup.Find(startup.block(0), variable->name()) != nullptr) return absl::OkStatus();
    ++count;
  }
  if (count == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      startup.name(), startup.name().empty() ? "" : ": ",
      "the startup program initialises none of the ", count, " persistable variables of ",
      program.name().empty() ? "the program" : program.name(),
      "; want the startup program of the same network, or none, for a new one"));
}

bool Establishes(const Pipeline& pipeline, const std::string& fact) {
  for (const Pass* pass : pipeline.passes()) {
    const std::vector<std::string> facts = pass->Establishes();
    if (std::find(facts.begin(), facts.end(), fact) != facts.end()) return true;
  }
  return false;
}

// Error (kInvalidArgument): a quantizer of the plan trains its scale, and no pass has handled that.
absl::Status CheckScalesAreTrained(const Pipeline& pipeline, const Plan& plan) {
  if (Establishes(pipeline, "scales_trained")) return absl::OkStatus();
  for (const Site& site : plan.sites) {
    if (!site.has_own_gradient) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("pipeline: quantizer ", site.spec.quantizer(), " trains the scale of \"",
                     site.value->variable().name(), "\", and no pass of ", pipeline.ToText(),
                     " gives it a gradient; add train_scales after insert_quantizers"));
  }
  return absl::OkStatus();
}

// Error (kInvalidArgument): batch norm has to be frozen, and no pass has handled that.
absl::Status CheckBatchNormIsScheduled(const Pipeline& pipeline, const Plan& plan) {
  if (Establishes(pipeline, "batch_norm_scheduled") ||
      !ScheduleOf(plan).has_freeze_batch_norm_from_step()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pipeline: the schedule freezes batch norm, and no pass of ", pipeline.ToText(),
                   " does; add freeze_batch_norm after insert_quantizers"));
}

// Error (kInvalidArgument): batch norm has to be folded, and no pass has handled that.
absl::Status CheckBatchNormIsFolded(const Pipeline& pipeline, const QuantConfig& config) {
  if (!config.fold_batch_norm() || Establishes(pipeline, "batch_norm_folded")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pipeline: fold_batch_norm is true, and no pass of ", pipeline.ToText(),
                   " folds; add fold_training_batch_norm before plan_quantizers"));
}

bool NamesOneOf(const OpDesc& op, const std::set<std::string>& names) {
  for (const auto* slots : {&op.inputs(), &op.outputs()}) {
    for (const OpDesc::Var& slot : *slots) {
      for (const std::string& argument : slot.arguments()) {
        if (names.count(argument) > 0) return true;
      }
    }
  }
  return false;
}

// Whether an op that the log does not mention names a variable that the log removes. The
// fingerprint does not see it, because it covers only what was rewritten.
bool NamesWhatLogTakesAway(const ProgramDesc& program, const EditLog& log) {
  std::set<std::string> inserted;
  std::set<std::pair<int, int>> told;
  for (const EditLog::BlockEdits& edits : log.blocks()) {
    if (edits.block() < 0 || edits.block() >= program.blocks_size()) continue;
    const BlockDesc& block = program.blocks(edits.block());
    for (const EditLog::VarEdit& edit : edits.vars()) {
      const bool is_there = edit.index() >= 0 && edit.index() < block.vars_size();
      if (edit.has_inserted_by() && is_there) inserted.insert(block.vars(edit.index()).name());
    }
    for (const EditLog::OpEdit& edit : edits.ops()) {
      if (!edit.has_removed()) told.insert({edits.block(), edit.index()});
    }
  }
  for (int b = 0; b < program.blocks_size(); ++b) {
    for (int i = 0; i < program.blocks(b).ops_size(); ++i) {
      if (told.count({b, i}) == 0 && NamesOneOf(program.blocks(b).ops(i), inserted)) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Pipeline> ParseTrainPipeline(absl::string_view text, const PassTable& passes) {
  ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Parse(text, passes, {"target", "startup_program"}));
  const auto wrong = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("pipeline: ", parts...));
  };
  std::set<std::string> established;
  for (const Pass* pass : pipeline.passes()) {
    for (const std::string& fact : pass->Establishes()) {
      if (!established.insert(fact).second) {
        return wrong(pass->name(), " is there again; \"", fact, "\" holds already");
      }
    }
  }
  if (established.count("planned") > 0 && established.count("quantizers_inserted") == 0) {
    return wrong("no pass inserts the quantizers that are planned; add insert_quantizers and ",
                 "initialize_state, or leave the pipeline as it is and stop after plan_quantizers");
  }
  if (established.count("quantizers_inserted") > 0 && established.count("state_initialized") == 0) {
    return wrong("no pass initialises the state of the quantizers; add initialize_state, or leave ",
                 "the pipeline as it is and stop after insert_quantizers");
  }
  return pipeline;
}

absl::StatusOr<TranspileResult> Transpile(Program* program, const TranspileOptions& options) {
  TranspileResult result;
  std::string who = WhoQuantized(*program);
  if (!who.empty() && (IsMarked(*program) || !options.config.allow_quantized())) {
    result.left_alone = std::move(who);
    return result;
  }
  RETURN_IF_ERROR(InputError(options.names.config, CheckConfig(options.config)));
  if (options.plan != nullptr) {
    RETURN_IF_ERROR(InputError(options.names.config, CheckDecidesNothing(options.config)));
  }
  if (options.startup != nullptr) RETURN_IF_ERROR(CheckStartup(*program, *options.startup));
  const QuantizerTable built_in_quantizers;
  const CheckTable no_checks;
  const PassTable built_in_passes = TrainPasses();
  const QuantizerTable& quantizers =
      options.quantizers == nullptr ? built_in_quantizers : *options.quantizers;
  const CheckTable& checks = options.checks == nullptr ? no_checks : *options.checks;
  const PassTable& passes = options.passes == nullptr ? built_in_passes : *options.passes;
  ASSIGN_OR_RETURN(const Target target, TargetOf(options, quantizers));
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParseTrainPipeline(options.pipeline, passes));
  if (options.plan != nullptr && !Establishes(pipeline, "planned")) {
    return absl::InvalidArgumentError(absl::StrCat("pipeline: a plan is given, and no pass of ",
                                                   pipeline.ToText(),
                                                   " follows it; add plan_quantizers"));
  }

  Program own_startup;
  TrainContext context(quantizers, options.config, target, checks,
                       options.startup == nullptr ? &own_startup : options.startup);
  context.names = options.names;
  context.profile = options.profile;
  context.starts_from_parameters = options.starts_from_parameters;
  context.given_plan = options.plan;
  PipelineOptions pipeline_options = options.pipeline_options;
  std::vector<std::string> free_passes;
  for (const Pass* pass : pipeline.passes()) {
    if (!pass->IsHeldToPlan()) free_passes.emplace_back(pass->name());
  }
  pipeline_options.check_at_end = [&]() {
    RETURN_IF_ERROR(CheckScalesAreTrained(pipeline, context.plan));
    RETURN_IF_ERROR(CheckBatchNormIsScheduled(pipeline, context.plan));
    RETURN_IF_ERROR(CheckBatchNormIsFolded(pipeline, options.config));
    RETURN_IF_ERROR(InvariantsHold(*program, context, free_passes));
    const auto& own_check = options.pipeline_options.check_at_end;
    return own_check ? own_check() : absl::OkStatus();
  };
  RETURN_IF_ERROR(pipeline.Run(*program, context, pipeline_options));

  result.plan = std::move(context.plan_as_made);
  if (program->edited()) StoreEditLog(program).set_plan(DeterministicBytes(result.plan));
  if (context.startup.edited()) StoreEditLog(&context.startup);
  if (options.startup == nullptr) result.new_startup = std::move(own_startup);
  if (std::string note = EraNote(*program, target); !note.empty()) {
    result.notes.push_back(std::move(note));
  }
  if (std::string note = OwnOpsNote(*program, result.plan, target, quantizers); !note.empty()) {
    result.notes.push_back(std::move(note));
  }
  for (std::string& note : context.notes) result.notes.push_back(std::move(note));
  const std::string& last = options.pipeline_options.stop_after;
  if (!last.empty() && pipeline.passes().back()->name() != last) {
    result.notes.push_back(
        absl::StrCat("the pipeline ended after ", last,
                     ": the plan is only partly applied, and the result is not checked"));
  }
  return result;
}

absl::Status Untranspile(Program* program) {
  if (!program->Proto().has_edit_log()) return UndoByMarks(program);
  const EditLog log = program->Proto().edit_log();
  program->ClearEditLog();
  const bool is_the_same = Fingerprint(program->Proto(), log) == log.fingerprint() &&
                           !NamesWhatLogTakesAway(program->Proto(), log);
  absl::Status adopted;
  if (is_the_same) {
    adopted = program->AdoptEditLog(log);
    if (adopted.ok()) {
      program->RevertEdits();
      if (log.has_before()) *program->mutable_edit_log() = log.before();
      return absl::OkStatus();
    }
  }
  const absl::Status undone = UndoByMarks(program);
  if (undone.ok()) return undone;
  *program->mutable_edit_log() = log;
  const auto refused = [program](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat(program->name(), program->name().empty() ? "" : ": ", why));
  };
  if (is_the_same) return refused(adopted.message());
  if (HasMarks(*program)) return undone;
  return refused(
      "the edit log belongs to another program, or this one was changed since, and no op has a "
      "mark of "
      "Fixpoint that could be undone");
}

}  // namespace fixpoint
