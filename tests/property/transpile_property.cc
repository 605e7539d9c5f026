#include "tests/property/transpile_property.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/verifier.h"
#include "proto/diff/program_diff.h"
#include "proto/file/text_message.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "proto/wire/deterministic_bytes.h"
#include "tests/property/computation.h"
#include "tests/testing/random_program.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/report/reduce.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using Names = std::vector<std::string>;

const Names kTargets = {"paddle_1_8", "paddle_2_6", "onednn_int8", "tensorrt_int8"};

bool HasOnlyInt8(const std::string& target) { return target == "tensorrt_int8"; }

// A spec of a few fields that the target can do.
QuantSpec RandomActivationSpec(const std::string& target, bool needs_observer, Random& random) {
  QuantSpec spec;
  Names quantizers = {"moving_average_abs_max"};
  if (!needs_observer) {
    quantizers.push_back("abs_max");
    quantizers.push_back("range_abs_max");
    if (target == "onednn_int8") {
      quantizers.push_back("window_mean_abs_max");
      quantizers.push_back("moving_average_min_max");
    }
  }
  if (!random.OneIn(3)) spec.set_quantizer(random.OneOf(quantizers));
  if (!HasOnlyInt8(target) && random.OneIn(3)) spec.set_bits(2 + random.Below(7));
  if (target == "paddle_2_6" && random.OneIn(3)) spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  return spec;
}

QuantSpec RandomWeightSpec(const std::string& target, Random& random) {
  QuantSpec spec;
  if (random.OneIn(2)) spec.set_quantizer(random.OneOf(Names{"abs_max", "channel_wise_abs_max"}));
  if (!HasOnlyInt8(target) && random.OneIn(3)) spec.set_bits(2 + random.Below(7));
  if (target == "paddle_2_6" && random.OneIn(4)) spec.set_form(QuantSpec::FUSED);
  return spec;
}

QuantRule RandomRule(const std::string& target, const QuantSpec& activation, Random& random) {
  QuantRule rule;
  rule.set_optional(true);
  const bool by_type = random.OneIn(2);
  if (by_type) rule.set_op_type(random.OneOf(Names{"mul", "conv2d", "matmul_v2", "concat"}));
  if (!by_type || random.OneIn(3)) {
    rule.set_name_pattern(random.OneOf(Names{"w_1", "*relu*", "carried_?", "*_2"}));
  }
  if (random.OneIn(4)) rule.set_block(random.Below(2));
  if (random.OneIn(3)) rule.set_slot(random.OneOf(Names{"X", "Y", "Input", "Filter"}));
  if (random.OneIn(2)) {
    rule.set_skip(true);
  } else {
    *rule.mutable_spec() = activation;
    rule.mutable_spec()->clear_quantizer();
    rule.mutable_spec()->set_bits(HasOnlyInt8(target) ? 8 : 4);
    // Inputs that share a scale have one spec.
    if (target == "onednn_int8") rule.clear_slot();
  }
  return rule;
}

QuantConfig RandomConfig(Random& random) {
  QuantConfig config;
  const std::string target = random.OneOf(kTargets);
  config.set_target(target);
  for (const char* type : {"elementwise_add", "pool2d", "concat", "matmul", "matmul_v2", "mul"}) {
    if (random.OneIn(4)) config.add_also_quantize(type);
  }
  config.set_observe_outputs(random.OneIn(3));
  // Inputs that share a scale are observed first.
  const bool needs_observer = target == "onednn_int8";
  const bool shares = needs_observer && random.OneIn(2);
  if (needs_observer && !shares) config.clear_also_quantize();
  const QuantSpec activation = RandomActivationSpec(target, shares, random);
  *config.mutable_activations() = activation;
  *config.mutable_weights() = RandomWeightSpec(target, random);
  const bool may_ask = !needs_observer || shares;
  for (int i = random.Below(3); i > 0; --i) {
    QuantRule rule = RandomRule(target, activation, random);
    if (may_ask || rule.skip()) *config.add_rules() = std::move(rule);
  }
  return config;
}

// One try of one case.
class Try {
 public:
  explicit Try(const TranspileCase& tried)
      : case_(tried),
        startup_(StartupOf(tried.program)),
        bytes_(DeterministicBytes(tried.program)) {}

  std::string FirstBroken();

 private:
  struct Outcome {
    Program program;
    Program startup;
    TranspileResult result;
  };

  absl::StatusOr<Outcome> Run(const QuantPlan* plan) const;
  std::string Text() const;
  std::string Verifies(const Program& program, const Program& startup) const;
  std::string Computes(const ProgramDesc& after) const;
  std::string Quantizes(const Outcome& outcome) const;
  std::string Startup(const Outcome& outcome) const;
  std::string Again(const Outcome& outcome) const;
  std::string FollowsPlan(const Outcome& outcome) const;
  std::string Undoes(const ProgramDesc& after, const ProgramDesc& before) const;
  std::string UndoesByMarks(ProgramDesc after) const;

  const TranspileCase& case_;
  const ProgramDesc startup_;
  const std::string bytes_;
};

absl::StatusOr<Try::Outcome> Try::Run(const QuantPlan* plan) const {
  absl::StatusOr<Program> program = Program::Create(case_.program, "main");
  if (!program.ok()) return program.status();
  absl::StatusOr<Program> startup = Program::Create(startup_, "startup");
  if (!startup.ok()) return startup.status();
  TranspileOptions options;
  // A plan says all that a configuration does, and brings its target.
  if (plan == nullptr) options.config = case_.config;
  options.startup = &*startup;
  options.plan = plan;
  options.pipeline = case_.pipeline;
  absl::StatusOr<TranspileResult> result = Transpile(&*program, options);
  if (!result.ok()) return result.status();
  return Outcome{*std::move(program), *std::move(startup), *std::move(result)};
}

std::string Try::Text() const {
  const auto parsed = ParseProgramText(PrintProgram(case_.program), "printed");
  if (!parsed.ok()) return absl::StrCat("text: ", std::string(parsed.status().message()));
  return DeterministicBytes(*parsed) == bytes_ ? "" : "text: the parsed program is another one";
}

std::string Try::Verifies(const Program& program, const Program& startup) const {
  VerifyOptions options;
  options.startup = &startup;
  std::vector<Finding> findings = Verify(program, options);
  findings.erase(std::remove_if(findings.begin(), findings.end(),
                                [](const Finding& f) { return f.severity != Severity::kError; }),
                 findings.end());
  return findings.empty() ? "" : absl::StrCat("verifies: ", FindingsText(program, findings));
}

std::string Try::Computes(const ProgramDesc& after) const {
  const std::vector<OpRun> want = Compute(case_.program);
  const std::vector<OpRun> got = Compute(after);
  if (want.size() != got.size()) {
    return absl::StrCat("computes: ", got.size(), " ops run; ", want.size(), " did before");
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] == got[i]) continue;
    return absl::StrCat("computes: run ", i, " differs: ", got[i].op, "\n  before: ", want[i].op);
  }
  return "";
}

std::string Try::Quantizes(const Outcome& outcome) const {
  // Which slots read something else, as the messages say.
  absl::flat_hash_set<std::string> rewired;
  const ProgramDesc& after = outcome.program.Proto();
  for (const BlockDesc& block : after.blocks()) {
    int position = 0;
    for (const OpDesc& op : block.ops()) {
      if (FindAttr(op, kInsertedByAttr) != nullptr) continue;
      const OpDesc& before = case_.program.blocks(block.idx()).ops(position);
      for (int slot = 0; slot < before.inputs_size(); ++slot) {
        for (int i = 0; i < before.inputs(slot).arguments_size(); ++i) {
          if (before.inputs(slot).arguments(i) == op.inputs(slot).arguments(i)) continue;
          rewired.insert(
              absl::StrCat(block.idx(), " ", position, " ", op.inputs(slot).parameter(), " ", i));
        }
      }
      ++position;
    }
  }
  size_t planned = 0;
  for (const QuantPlan::Site& site : outcome.result.plan.sites()) {
    for (const auto* readers : {&site.readers(), &site.gradient_readers()}) {
      for (const QuantPlan::SlotRef& ref : *readers) {
        ++planned;
        const std::string place =
            absl::StrCat(ref.block(), " ", ref.op(), " ", ref.slot(), " ", ref.index());
        if (rewired.count(place) == 0) return absl::StrCat("quantizes: not the slot ", place);
      }
    }
  }
  return planned == rewired.size()
             ? ""
             : absl::StrCat("quantizes: ", rewired.size(), " slots; the plan names ", planned);
}

std::string Try::Startup(const Outcome& outcome) const {
  absl::flat_hash_map<std::string, int> initialised;
  for (const OpDesc& op : outcome.startup.Proto().blocks(0).ops()) {
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) ++initialised[name];
    }
  }
  for (const BlockDesc& block : outcome.program.Proto().blocks()) {
    for (const VarDesc& var : block.vars()) {
      if (!var.persistable() || initialised[var.name()] == 1) continue;
      return absl::StrCat("startup: \"", var.name(), "\" is initialised ", initialised[var.name()],
                          " times");
    }
  }
  return "";
}

std::string Try::Again(const Outcome& outcome) const {
  auto program = Program::Create(outcome.program.Proto());
  TranspileOptions options;
  options.config = case_.config;
  const auto result = Transpile(&*program, options);
  if (!result.ok()) return absl::StrCat("again: ", std::string(result.status().message()));
  if (result->left_alone.empty()) return "again: it does not say that it left the program alone";
  return DeterministicBytes(program->Proto()) == DeterministicBytes(outcome.program.Proto())
             ? ""
             : "again: the program was changed";
}

std::string Try::FollowsPlan(const Outcome& outcome) const {
  QuantPlan plan;
  const absl::Status parsed =
      ParseTextMessage(PrintTextMessage(outcome.result.plan), "plan", &plan);
  if (!parsed.ok()) return absl::StrCat("plan: ", std::string(parsed.message()));
  const absl::StatusOr<Outcome> followed = Run(&plan);
  if (!followed.ok()) return absl::StrCat("plan: ", std::string(followed.status().message()));
  return DeterministicBytes(followed->program.Proto()) ==
                     DeterministicBytes(outcome.program.Proto()) &&
                 DeterministicBytes(followed->startup.Proto()) ==
                     DeterministicBytes(outcome.startup.Proto())
             ? ""
             : "plan: following it gives another program";
}

std::string Try::Undoes(const ProgramDesc& after, const ProgramDesc& before) const {
  ProgramDesc loaded;
  if (!loaded.ParseFromString(DeterministicBytes(after))) return "undo: it cannot be loaded";
  auto program = Program::Create(std::move(loaded));
  if (!program.ok()) return absl::StrCat("undo: ", std::string(program.status().message()));
  if (absl::Status status = Untranspile(&*program); !status.ok()) {
    return absl::StrCat("undo: ", std::string(status.message()));
  }
  return DeterministicBytes(program->Proto()) == DeterministicBytes(before)
             ? ""
             : "undo: other bytes than before";
}

std::string Try::UndoesByMarks(ProgramDesc after) const {
  after.clear_edit_log();
  auto program = Program::Create(std::move(after));
  if (absl::Status status = Untranspile(&*program); !status.ok()) {
    return absl::StrCat("marks: ", std::string(status.message()));
  }
  const auto before = Program::Create(case_.program);
  const std::string diff = PrintDiff(DiffPrograms(*before, *program));
  return diff.empty() ? "" : absl::StrCat("marks: a difference is left\n", diff);
}

std::string Try::FirstBroken() {
  if (std::string broken = Text(); !broken.empty()) return broken;
  const auto program = Program::Create(case_.program, "before");
  if (!program.ok()) return absl::StrCat("program: ", std::string(program.status().message()));
  const auto startup = Program::Create(startup_, "startup");
  if (std::string broken = Verifies(*program, *startup); !broken.empty()) {
    return absl::StrCat("before it ", broken);
  }
  absl::StatusOr<Outcome> outcome = Run(nullptr);
  if (!outcome.ok()) return absl::StrCat("transpile: ", std::string(outcome.status().message()));
  const ProgramDesc after = outcome->program.Proto();
  const ProgramDesc startup_after = outcome->startup.Proto();
  const bool keeps_ops = case_.pipeline == kTrainPipeline;
  if (outcome->result.plan.sites().empty()) {
    if (DeterministicBytes(after) == bytes_) return "";
    if (keeps_ops) return "quantizes: nothing, but edits the program";
  }
  for (std::string broken :
       {Verifies(outcome->program, outcome->startup), keeps_ops ? Computes(after) : "",
        keeps_ops ? Quantizes(*outcome) : "", Startup(*outcome), Again(*outcome),
        FollowsPlan(*outcome), Undoes(after, case_.program)}) {
    if (!broken.empty()) return broken;
  }
  if (startup_after.has_edit_log()) {
    if (std::string broken = Undoes(startup_after, startup_); !broken.empty()) {
      return absl::StrCat(broken, " (of the startup program)");
    }
  }
  // Undone where it stands, without a file between.
  if (absl::Status status = Untranspile(&outcome->program); !status.ok()) {
    return absl::StrCat("undo: ", std::string(status.message()));
  }
  if (DeterministicBytes(outcome->program.Proto()) != bytes_) {
    return "undo: other bytes than before, in memory";
  }
  return keeps_ops ? UndoesByMarks(after) : "";
}

// What two failures have in common if they are the same: the property, and for an error what it
// says first, but for numbers, which change as a program is made smaller.
std::string Symptom(const std::string& broken) {
  if (!absl::StartsWith(broken, "transpile:")) return broken.substr(0, broken.find(':'));
  std::string line = broken.substr(0, broken.find('\n'));
  line.erase(std::remove_if(line.begin(), line.end(), absl::ascii_isdigit), line.end());
  return line;
}

}  // namespace

TranspileCase RandomTranspileCase(uint64_t seed) {
  Random random(seed ^ 0x9e3779b97f4a7c15);
  RandomProgramOptions options;
  options.forward_ops = 3 + random.Below(11);
  options.backward = !random.OneIn(5);
  TranspileCase made;
  made.pipeline = kTrainPipeline;
  made.program = RandomProgram(seed, options);
  made.config = RandomConfig(random);
  if (!options.backward && random.OneIn(2)) {
    made.pipeline = absl::StrCat("remove_identities,", kTrainPipeline);
  }
  return made;
}

std::string FirstBrokenProperty(const TranspileCase& tried) { return Try(tried).FirstBroken(); }

std::string ReportOfSeed(uint64_t seed) {
  const TranspileCase tried = RandomTranspileCase(seed);
  const std::string broken = FirstBrokenProperty(tried);
  if (broken.empty()) return "";
  const ProgramDesc reduced = Reduce(tried.program, [&](const ProgramDesc& candidate) {
    return Symptom(FirstBrokenProperty({candidate, tried.config, tried.pipeline})) ==
           Symptom(broken);
  });
  return absl::StrCat("seed ", seed, ": ", broken, "\nconfig: ", tried.config.ShortDebugString(),
                      "\npipeline: ", tried.pipeline, "\n",
                      FirstBrokenProperty({reduced, tried.config, tried.pipeline}),
                      "\nreduced to\n", PrintProgram(reduced));
}

}  // namespace fixpoint
