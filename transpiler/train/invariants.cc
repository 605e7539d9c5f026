#include "transpiler/train/invariants.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/forward_ops.h"
#include "ops/gradient_slots.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_types.h"
#include "ops/state_codes.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/role_variables.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/scale_training.h"

namespace fixpoint {
namespace {

using Names = std::vector<std::string>;
using Variables = absl::flat_hash_set<const Variable*>;

template <typename Visit>
void ForEachOp(const Program& program, Visit visit) {
  for (const Op& op : program.ops()) visit(op);
}

// The previous name of an argument; null if there was none.
const std::string* NameIn(const google::protobuf::RepeatedPtrField<OpDesc::Var>& slots,
                          const Argument& argument) {
  if (argument.slot() >= slots.size()) return nullptr;
  const OpDesc::Var& slot = slots[argument.slot()];
  return argument.index() < slot.arguments_size() ? &slot.arguments(argument.index()) : nullptr;
}

// An op with the Optimize bit that runs a block is no optimizer: it lists what ops of the block
// read.
bool IsOptimizer(const Op& op) { return (op.role() & kOptimize) != 0 && op.sub_blocks().empty(); }

bool IsOptimized(const Variable& variable) {
  const auto arguments = variable.arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument* argument) {
    return argument->is_output() && (argument->op().role() & kOptimize) != 0;
  });
}

// Whether an attribute is one that a rewrite sets on the ops that it changes.
bool IsMark(absl::string_view attr) {
  return attr == kRewiredAttr || attr == "quantization_type" || attr == "activation_bits" ||
         attr == "with_quant_attr" || attr == kStateBitsAttr;
}

// One check of one program; collects violations.
class Check {
 public:
  // `found` is null if the edits are known; `startup` if there is none to check.
  Check(const Program& program, const Plan& plan, const FoundRewrite* found, const Program* startup,
        absl::Span<const std::string> free_passes)
      : program_(program),
        plan_(plan),
        found_(found),
        startup_(startup),
        free_passes_(free_passes) {
    for (const Site& site : plan.sites) {
      for (const auto* readers : {&site.readers, &site.gradient_readers}) {
        for (const Argument* reader : *readers) site_of_[reader] = &site;
      }
    }
  }

  void GradientsReadWhatTheirForwardOpsRead();
  void OptimizersUpdateFloatParameters();
  void OneQuantizerForEachSite();
  void EveryQuantizerIsPlanned();
  void NewVariablesAreDeclaredAndInitialised();
  void NewReadsAreReached();
  void NothingElseChanged();
  void TrainedScalesAreUpdated();

  std::vector<Violation> Take() {
    std::stable_sort(
        violations_.begin(), violations_.end(),
        [](const Violation& a, const Violation& b) { return a.invariant < b.invariant; });
    return std::move(violations_);
  }

 private:
  template <typename... Parts>
  void Violated(int invariant, const Parts&... parts) {
    violations_.push_back({invariant, absl::StrCat(parts...)});
  }
  bool IsNew(const Op& op) const {
    return found_ == nullptr ? op.inserted() : found_->ops.count(&op) > 0;
  }
  bool IsNew(const Variable& variable) const {
    return found_ == nullptr ? variable.inserted() : found_->variables.count(&variable) > 0;
  }
  // Whether a pass that is not held to the plan edited an op or a variable.
  template <typename Node>
  bool IsFree(const Node& node) const {
    return std::any_of(free_passes_.begin(), free_passes_.end(),
                       [&node](const std::string& pass) { return node.EditedBy(pass); });
  }
  void OnlyPlannedArgumentsChanged(const Op& op);
  // The new ops between the gradients that are quantized and the gradient ops that they reach.
  absl::flat_hash_set<const Op*> QuantizersOfGradients() const;
  // Whether a new op observes the range of one of the variables, itself or in a summary.
  static bool ObservesOneOf(const Variables& observed, const Op& observer);
  // The gradient that reaches a value goes through its quantizer.
  void GradientPassesQuantizer(const GradientOutput& output);
  // The scale in a slot of a quantize op has an update.
  void ScaleIsUpdated(const Op& quantize, absl::string_view slot);
  // `result` becomes the variable that the site's readers read; null if that is no new one.
  void SiteReadsItsQuantizer(const Site& site, const Variable*& result);

  const Program& program_;
  const Plan& plan_;
  const FoundRewrite* const found_;
  const Program* const startup_;
  const absl::Span<const std::string> free_passes_;
  absl::flat_hash_map<const Argument*, const Site*> site_of_;
  std::vector<Violation> violations_;
};

void Check::GradientsReadWhatTheirForwardOpsRead() {
  const Era era = EraOf(program_);
  for (const auto& [forward, gradient] : plan_.gradients) {
    if (forward->removed() || gradient->removed()) continue;
    for (const RepeatedSlot& slot : RepeatedSlots(gradient->type(), forward->desc(), era)) {
      if (slot.source_is_output) continue;
      const auto repeated = gradient->Inputs(slot.name);
      const auto read = SourceOf(slot, *forward);
      for (size_t i = 0; i < std::min(repeated.size(), read.size()); ++i) {
        if (repeated[i]->value() == read[i]->value()) continue;
        Violated(1, Describe(*gradient), " reads \"", std::string(repeated[i]->name()),
                 "\" in slot ", std::string(slot.name), " where ", Describe(*forward), " reads \"",
                 std::string(read[i]->name()), "\"");
      }
    }
  }
}

void Check::OptimizersUpdateFloatParameters() {
  ForEachOp(program_, [this](const Op& op) {
    const auto check = [this, &op](const Argument& argument) {
      if (argument.variable() == nullptr || !IsNew(*argument.variable())) return;
      Violated(2, Describe(op), argument.is_output() ? " writes \"" : " reads \"",
               std::string(argument.name()), "\" in slot ", std::string(argument.slot_name()),
               ", which is made by quantizers; want the float parameter");
    };
    if (IsOptimizer(op)) {
      for (const Argument* input : op.inputs()) check(*input);
      for (const Argument* output : op.outputs()) check(*output);
    }
    for (const std::string& name : RoleVariables(op.desc())) {
      const Variable* variable = program_.Find(op.block(), name);
      if (variable == nullptr || !IsNew(*variable)) continue;
      Violated(2, Describe(op), ": op_role_var names \"", name,
               "\", which is made by quantizers; want the float parameter");
    }
  });
}

void Check::SiteReadsItsQuantizer(const Site& site, const Variable*& result) {
  const std::string value = site.value->variable().name();
  for (const auto* readers : {&site.readers, &site.gradient_readers}) {
    for (const Argument* reader : *readers) {
      if (reader->op().removed()) continue;
      if (result == nullptr) result = reader->variable();
      if (reader->variable() != result) {
        Violated(3, Describe(reader->op()), " reads ", std::string(reader->name()), " in slot ",
                 std::string(reader->slot_name()), ", not the quantized ", value);
      }
    }
  }
  if (found_ != nullptr) return;  // it is found by its quantizer
  if (result == nullptr || !result->inserted() || result == &site.value->variable()) {
    Violated(3, "\"", value, "\" has no quantizer");
    result = nullptr;
    return;
  }
  // From the result back to the value: dequantize, then quantize; or one op that does both.
  const Value* source = result->values().empty() ? nullptr : result->values().front();
  while (source != nullptr && source != site.value && source->variable().inserted()) {
    const Argument* x = source->op() == nullptr ? nullptr : source->op()->Input("X");
    source = x == nullptr ? nullptr : x->value();
  }
  if (source != site.value) {
    Violated(3, "\"", result->name(), "\" is not made of the value of \"", value,
             "\" that the plan quantizes");
  }
}

void Check::OneQuantizerForEachSite() {
  Variables results;
  for (const Site& site : plan_.sites) {
    if (site.observe) continue;
    const Variable* result = nullptr;
    SiteReadsItsQuantizer(site, result);
    if (result == nullptr) continue;
    if (!results.insert(result).second) {
      if (found_ != nullptr) continue;
      Violated(3, "\"", result->name(), "\" stands for two quantizers of the plan");
    }
    for (const Argument* argument : result->arguments()) {
      const bool reads = !argument->is_output() && argument->op().sub_blocks().empty();
      const bool is_free =
          IsFree(argument->op()) || (found_ != nullptr && IsOfScaleTraining(argument->op()));
      if (reads && site_of_.count(argument) == 0 && !is_free) {
        Violated(3, Describe(argument->op()), " reads \"", result->name(),
                 found_ == nullptr ? "\", which the plan does not say"
                                   : "\"; want only forward ops, and the same slots of their "
                                     "gradient ops, to read it");
      }
    }
  }
}

bool Check::ObservesOneOf(const Variables& observed, const Op& observer) {
  const Op* op = &observer;
  // A summary takes a few steps; more are a cycle.
  for (int steps = 0; op != nullptr && steps < 100; ++steps) {
    const Argument* source = op->Input("X");
    const Variable* variable = source == nullptr ? nullptr : source->variable();
    if (variable == nullptr || observed.contains(variable)) return variable != nullptr;
    op = variable->inserted() ? source->value()->op() : nullptr;
  }
  return false;
}

void Check::EveryQuantizerIsPlanned() {
  OpTypes types(program_);
  Variables observed;
  // The variables that a site's readers read, and the values that they are made of.
  std::vector<const Op*> open;
  Variables visited;
  const auto add_writers = [&open, &visited](const Variable* variable) {
    if (variable == nullptr || !variable->inserted() || !visited.insert(variable).second) return;
    for (const Value* value : variable->values()) {
      if (value->origin() == Value::Origin::kWrite) open.push_back(value->op());
    }
  };
  for (const Site& site : plan_.sites) {
    for (const auto* readers : {&site.readers, &site.gradient_readers}) {
      for (const Argument* reader : *readers) add_writers(reader->variable());
    }
    if (site.observe) observed.insert(&site.value->variable());
  }
  absl::flat_hash_set<const Op*> planned;
  while (!open.empty()) {
    const Op* op = open.back();
    open.pop_back();
    if (!op->inserted() || !planned.insert(op).second) continue;
    for (const Argument* input : op->inputs()) add_writers(input->variable());
  }
  ForEachOp(program_, [&](const Op& op) {
    if (!op.inserted() || IsFree(op) || planned.count(&op) > 0) return;
    const OpSchema* schema = types.SchemaOf(op);
    if (schema == nullptr || schema->quant_op() == QuantOp::kNone) return;
    if (schema->quant_op() == QuantOp::kObserve && ObservesOneOf(observed, op)) return;
    Violated(3, Describe(op), " is new, and belongs to no quantizer of the plan");
  });
}

void Check::NewVariablesAreDeclaredAndInitialised() {
  ForEachOp(program_, [this](const Op& op) {
    if (found_ == nullptr ? !op.inserted() && !op.changed() : !IsNew(op)) return;
    const auto check = [this, &op](const Argument& argument) {
      const Variable* variable = argument.variable();
      if (variable == nullptr || (!IsNew(op) && site_of_.count(&argument) == 0)) return;
      if (variable->desc() == nullptr) {
        Violated(4, Describe(op), ": no block declares \"", variable->name(), "\"");
      } else if (IsNew(*variable) && variable->tensor() == nullptr) {
        Violated(4, "\"", variable->name(), "\" is declared without a tensor");
      }
    };
    for (const Argument* argument : op.inputs()) check(*argument);
    for (const Argument* argument : op.outputs()) check(*argument);
  });
  if (startup_ == nullptr) return;
  for (int b = 0; b < program_.block_count(); ++b) {
    for (const Variable* variable : program_.block(b).variables()) {
      if (!IsNew(*variable) || !variable->persistable()) continue;
      int initialised = 0;
      const Variable* there = startup_->Find(startup_->block(0), variable->name());
      if (there != nullptr) {
        for (const Argument* argument : there->arguments()) initialised += argument->is_output();
      }
      if (initialised != 1) {
        Violated(4, "\"", variable->name(), "\" is initialised ", initialised,
                 " times in the startup program");
      }
    }
  }
}

absl::flat_hash_set<const Op*> Check::QuantizersOfGradients() const {
  absl::flat_hash_set<const Op*> ops;
  for (const Site& site : plan_.sites) {
    if (!site.is_of_gradient()) continue;
    for (const Argument* reader : site.gradient_readers) {
      const Value* value = reader->value();
      while (value != nullptr && value->op() != nullptr && IsNew(*value->op()) &&
             ops.insert(value->op()).second) {
        const Argument* const x = value->op()->Input("X");
        value = x == nullptr ? nullptr : x->value();
      }
    }
  }
  return ops;
}

void Check::NewReadsAreReached() {
  const absl::flat_hash_set<const Op*> of_gradients = QuantizersOfGradients();
  ForEachOp(program_, [&](const Op& op) {
    const bool is_of_gradient = (op.role() & kBackward) != 0 && of_gradients.contains(&op);
    if (IsNew(op) && (op.role() & (kBackward | kOptimize)) != 0 && !IsFree(op) && !is_of_gradient) {
      Violated(5, Describe(op), " has op_role ", op.role(), "; new ops belong to the forward part");
    }
    for (const Argument* input : op.inputs()) {
      const Variable* variable = input->variable();
      if (variable == nullptr || !IsNew(*variable) || variable->persistable()) continue;
      if (input->value()->origin() == Value::Origin::kEntry) {
        Violated(5, Describe(op), " reads \"", variable->name(), "\" before it is written");
      }
    }
  });
}

void Check::NothingElseChanged() {
  for (int b = 0; b < program_.block_count(); ++b) {
    for (const Op* op : program_.block(b).removed_ops()) {
      if (!IsFree(*op)) Violated(6, "block ", b, ": an op was removed: ", op->type());
    }
    for (const Variable* variable : program_.block(b).removed_variables()) {
      if (IsFree(*variable)) continue;
      Violated(6, "block ", b, ": \"", variable->name(), "\" was removed");
    }
    for (const Variable* variable : program_.block(b).variables()) {
      if (!variable->changed() || IsFree(*variable)) continue;
      Violated(6, "\"", variable->name(), "\" was declared anew");
    }
  }
  ForEachOp(program_, [this](const Op& op) {
    if (IsFree(op)) return;
    if (op.inserted()) {
      for (const Argument* output : op.outputs()) {
        if (output->variable() != nullptr && !output->variable()->inserted()) {
          Violated(6, Describe(op), " is new and writes \"", output->variable()->name(),
                   "\", which is not");
        }
      }
    }
    if (op.changed()) OnlyPlannedArgumentsChanged(op);
  });
}

void Check::GradientPassesQuantizer(const GradientOutput& output) {
  const auto written = output.op->Outputs(output.slot);
  const Argument* argument =
      output.index < static_cast<int>(written.size()) ? written[output.index] : nullptr;
  if (argument == nullptr || argument->variable() == nullptr || !argument->variable()->inserted()) {
    Violated(7, Describe(*output.op), " has no gradient for the quantizer in slot ", output.slot);
    return;
  }
  const OpDesc original = output.op->OriginalSlots();
  const std::string* before = NameIn(original.outputs(), *argument);
  if (before == nullptr || *before == kEmptyArgument) return;  // the program has no such gradient
  const Variable* variable = program_.Find(output.op->block(), *before);
  for (const Argument* other : variable->arguments()) {
    if (other->is_output() && other->op().inserted()) return;
  }
  Violated(7, "no quantizer's gradient op writes \"", *before, "\" as ", Describe(*output.op),
           " did");
}

// Where inserted ops compute the scale, or the value that is quantized, the states that they read
// count; at least one is trained.
void Check::ScaleIsUpdated(const Op& quantize, absl::string_view slot) {
  const Argument* scale = quantize.Input(slot);
  if (scale == nullptr || scale->variable() == nullptr) return;  // which other invariants say
  std::vector<const Argument*> reads(quantize.inputs().begin(), quantize.inputs().end());
  absl::flat_hash_set<const Op*> seen;
  while (!reads.empty()) {
    const Argument* const read = reads.back();
    reads.pop_back();
    const Variable* const variable = read->variable();
    if (variable == nullptr) continue;
    if (variable->inserted() && variable->persistable() && IsOptimized(*variable)) return;
    const Op* const op = read->value() == nullptr ? nullptr : read->value()->op();
    if (op == nullptr || !op->inserted() || !seen.insert(op).second) continue;
    for (const Argument* input : op->inputs()) reads.push_back(input);
  }
  Violated(7, "nothing updates \"", scale->variable()->name(), "\", a scale that is trained");
}

void Check::TrainedScalesAreUpdated() {
  if (std::none_of(plan_.sites.begin(), plan_.sites.end(),
                   [](const Site& site) { return site.has_own_gradient; })) {
    return;
  }
  auto gradients = GradientsByForwardOp(plan_);
  for (const Site& site : plan_.sites) {
    if (!site.has_own_gradient) continue;
    for (const Argument* reader : site.readers) {
      for (const GradientOutput& output :
           ScaleTraining::GradientOutputs(*reader, gradients[&reader->op()], EraOf(program_))) {
        GradientPassesQuantizer(output);
      }
    }
    const Value* result = site.readers.front()->value();
    const Op* quantize = result == nullptr ? nullptr : FusedQuantizeOp(*result);
    if (quantize == nullptr) continue;  // which invariant 3 says
    for (const std::string& slot : site.trained_inputs) ScaleIsUpdated(*quantize, slot);
  }
}

void Check::OnlyPlannedArgumentsChanged(const Op& op) {
  if (IsOptimizer(op)) Violated(2, Describe(op), " was changed");
  const auto is_named = [this](const Argument* input) { return site_of_.count(input) != 0; };
  const bool may_be_marked =
      !op.sub_blocks().empty() || std::any_of(op.inputs().begin(), op.inputs().end(), is_named);
  for (const std::string& attr : op.ChangedAttrs()) {
    if (attr == kRoleVarAttr) {
      Violated(2, Describe(op), ": op_role_var was edited");
    } else if (!IsMark(attr) || !may_be_marked) {
      Violated(6, Describe(op), ": attribute ", attr, " is not as before");
    }
  }
  const OpDesc original = op.OriginalSlots();
  if (!op.sub_blocks().empty()) return;  // says more of what its block reads
  for (const Argument* output : op.outputs()) {
    const std::string* before = NameIn(original.outputs(), *output);
    if (before == nullptr || *before != output->name()) {
      Violated(6, Describe(op), " writes \"", std::string(output->name()), "\" where it wrote \"",
               before == nullptr ? "" : *before, "\"");
    }
  }
  for (const Argument* input : op.inputs()) {
    const std::string* before = NameIn(original.inputs(), *input);
    if ((before == nullptr || *before != input->name()) && site_of_.count(input) == 0) {
      Violated(IsForward(op) ? 6 : 1, Describe(op), " reads \"", std::string(input->name()),
               "\" in slot ", std::string(input->slot_name()), ", which the plan does not name");
    }
  }
}

}  // namespace

std::vector<Violation> CheckInvariants(const Program& program, const Plan& plan,
                                       const Program& startup,
                                       absl::Span<const std::string> free_passes) {
  Check check(program, plan, nullptr, &startup, free_passes);
  check.GradientsReadWhatTheirForwardOpsRead();
  check.OneQuantizerForEachSite();
  check.EveryQuantizerIsPlanned();
  check.NewVariablesAreDeclaredAndInitialised();
  check.NewReadsAreReached();
  check.NothingElseChanged();
  check.TrainedScalesAreUpdated();
  return check.Take();
}

std::vector<Violation> CheckInvariants(const Program& program, const FoundRewrite& rewrite,
                                       const Program* startup) {
  Check check(program, rewrite.plan, &rewrite, startup, /*free_passes=*/{});
  check.GradientsReadWhatTheirForwardOpsRead();
  check.OptimizersUpdateFloatParameters();
  check.OneQuantizerForEachSite();
  check.NewVariablesAreDeclaredAndInitialised();
  check.NewReadsAreReached();
  return check.Take();
}

}  // namespace fixpoint
