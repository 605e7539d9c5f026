// Runs that begin with `transpile`.

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/target.pb.h"
#include "proto/file/text_message.h"
#include "proto/wire/program.pb.h"
#include "tests/command_fuzz/fuzz_run.h"
#include "tests/command_fuzz/mutated_bytes.h"
#include "tests/command_fuzz/mutated_message.h"
#include "tests/testing/random_message.h"
#include "transpiler/patterns/pattern_file.h"

namespace fixpoint {
namespace {

constexpr const char* kTargets[] = {"paddle_1_8", "paddle_2_6", "onednn_int8", "tensorrt_int8"};
constexpr const char* kPasses[] = {"fold_training_batch_norm",
                                   "plan_quantizers",
                                   "insert_quantizers",
                                   "train_scales",
                                   "freeze_batch_norm",
                                   "initialize_state",
                                   "remove_identities",
                                   "strip_training",
                                   "set_test_mode",
                                   "freeze_observers",
                                   "prune_to_inference",
                                   "remove_dead_variables",
                                   "quantize_weights",
                                   "freeze_scales",
                                   "quantize_biases",
                                   "lower_to_integers"};

std::string TextOf(const std::string& text, google::protobuf::Message* message, Random* random) {
  if (!ParseTextMessage(text, "seed", message).ok()) return text;
  const int changes = random->Below(4);
  for (int i = 0; i < changes; ++i) ChangeAField(random, message);
  return PrintTextMessage(*message);
}

RangeProfile ProfileOf(const ProgramDesc& program, Random* random) {
  RangeProfile profile;
  for (const BlockDesc& block : program.blocks()) {
    for (const VarDesc& variable : block.vars()) {
      if (profile.entries_size() > 20 || random->OneIn(2)) continue;
      RangeProfile::Entry* const entry = profile.add_entries();
      entry->set_variable(variable.name());
      entry->set_min(random->OneIn(6) ? static_cast<float>(OddNumber(random)) : -1.5f);
      entry->set_max(random->OneIn(6) ? static_cast<float>(OddNumber(random)) : 2.0f);
    }
  }
  return profile;
}

std::string SettingOf(const SeedProgram& seed, const std::string& name) {
  const auto found = seed.settings.find(name);
  return found == seed.settings.end() ? "" : found->second;
}

}  // namespace

std::vector<std::string> FuzzRun::QuantizeFlags(const SeedProgram& seed,
                                                const ProgramDesc& program) {
  std::vector<std::string> flags;
  std::string config = SettingOf(seed, "config");
  if (config.empty() && OneIn(3)) config = random_.OneOf(seeds_.configs);
  if (!config.empty()) {
    QuantConfig message;
    flags.push_back(
        absl::StrCat("--config=", WriteText("c.textproto", TextOf(config, &message, &random_))));
  } else if (OneIn(12)) {
    QuantConfig message;
    std::mt19937 random(static_cast<uint32_t>(random_.Below(1 << 30)));
    FillRandomly(&random, &message);
    flags.push_back(absl::StrCat("--config=", WriteText("c.textproto", PrintTextMessage(message))));
  }
  if (OneIn(3)) {
    Target message;
    const std::string text = TextOf(random_.OneOf(seeds_.targets), &message, &random_);
    flags.push_back(absl::StrCat("--target=", WriteText("./t.textproto", text)));
  } else if (OneIn(2)) {
    flags.push_back(
        absl::StrCat("--target=", kTargets[random_.Below(static_cast<int>(std::size(kTargets)))]));
  }
  if (OneIn(5)) {
    const std::string text = PrintTextMessage(ProfileOf(program, &random_));
    flags.push_back(absl::StrCat("--profile=", WriteText("r.textproto", text)));
  }
  if (seed.startup.has_value() && !OneIn(3)) {
    const ProgramDesc startup = OneIn(3) ? Mutated(*seed.startup) : *seed.startup;
    flags.push_back(absl::StrCat("--startup=", WriteProgram("s", startup)));
    Sometimes(4, "--startup_output=sq", &flags);
  }
  Sometimes(8, "--fc_weights=per_row", &flags);
  Sometimes(16, "--fc_weights=per_channel", &flags);
  Sometimes(4, "--explain", &flags);
  Sometimes(5, "--json", &flags);
  const char* const pass = kPasses[random_.Below(static_cast<int>(std::size(kPasses)))];
  Sometimes(20, absl::StrCat("--print_after=", pass), &flags);
  Sometimes(20, "--print_after=all", &flags);
  Sometimes(20, absl::StrCat("--stop_after=", pass), &flags);
  Sometimes(20,
            "--pass_pipeline=remove_identities,plan_quantizers,insert_quantizers,initialize_state",
            &flags);
  Sometimes(30, absl::StrCat("--pass_pipeline=plan_quantizers,", pass, ",insert_quantizers"),
            &flags);
  return flags;
}

void FuzzRun::Quantize() {
  const SeedProgram seed = AnySeed();
  const ProgramDesc program = Mutated(seed.program);
  const std::string path = WriteProgram("p", program);
  std::vector<std::string> arguments = QuantizeFlags(seed, program);
  arguments.push_back(path);
  if (OneIn(6)) {
    arguments.push_back("--dry_run");
    Try("transpile", "--mode=train", arguments);
    return;
  }
  arguments.push_back("--output=q");
  if (Try("transpile", "--mode=train", arguments)) AfterQuantizing(path, "q");
}

void FuzzRun::QuantizeByPlan() {
  const SeedProgram seed = AnySeed();
  const ProgramDesc program = OneIn(2) ? seed.program : Mutated(seed.program);
  const std::string path = WriteProgram("p", program);
  std::vector<std::string> arguments = QuantizeFlags(seed, program);
  for (const char* flag : {"--save_plan=plan", "--dry_run"}) arguments.emplace_back(flag);
  arguments.push_back(path);
  if (!Try("transpile", "--save_plan", arguments)) return;
  if (ReadFolder().count("plan") == 0) return;
  QuantPlan plan;
  WriteText("plan", TextOf(folder_.Read("plan"), &plan, &random_));
  const std::string planned = OneIn(3) ? WriteProgram("p2", Mutated(program)) : path;
  if (Try("transpile", "--plan", {planned, "--plan=plan", "--output=q"})) {
    AfterQuantizing(planned, "q");
  }
}

void FuzzRun::AfterQuantizing(const std::string& original, const std::string& quantized) {
  const std::optional<ProgramDesc> program = ReadProgram(quantized);
  if (!program.has_value()) return;
  std::string path = quantized;
  switch (random_.Below(5)) {
    case 0:
      if (OneIn(2)) path = WriteProgram("q2", Mutated(*program));
      Try("transpile", "--undo", {path, "--undo", "--output=u"});
      break;
    case 1:
      if (OneIn(2)) path = WriteProgram("q2", Mutated(*program));
      Try("transpile", "--mode=test", {path, "--mode=test", "--output=e"});
      break;
    case 2:
      Try("inspect", "verify", {"verify", path});
      Try("inspect", "diff", {"diff", original, path});
      break;
    case 3:
      // Transpiles once more what is quantized already.
      Try("transpile", "--mode=train", {path, "--output=q3"});
      break;
    default: {
      SeedProgram no_seed;
      const std::optional<Model> frozen = Freeze(*program, no_seed);
      if (frozen.has_value()) RunModel(*frozen);
    }
  }
}

void FuzzRun::RewriteByPatterns() {
  const SeedProgram seed = AnySeed();
  const std::string path = WriteProgram("p", Mutated(seed.program));
  std::vector<std::string> arguments = {
      path, "--mode=rewrite", absl::StrCat("--patterns=", random_.OneOf(BuiltInPatternFiles())),
      "--output=w"};
  Sometimes(2, "--explain", &arguments);
  Sometimes(5, "--json", &arguments);
  Sometimes(5, "--pass_pipeline=remove_identities,apply_patterns", &arguments);
  if (Try("transpile", "--mode=rewrite", arguments)) AfterQuantizing(path, "w");
}

void FuzzRun::MakeTestProgram() {
  const SeedProgram seed = AnySeed();
  const std::string path = WriteProgram("p", Mutated(seed.program));
  std::vector<std::string> arguments = {path, "--mode=test", "--output=e"};
  Sometimes(6, "--dry_run", &arguments);
  if (!Try("transpile", "--mode=test", arguments)) return;
  std::optional<ProgramDesc> program = ReadProgram("e");
  if (!program.has_value() || OneIn(2)) return;
  if (OneIn(2)) program = Mutated(*program);
  Model model = {WriteProgram("e2", *program), "", *program};
  model.params = WriteParameters(*program, Scope());
  RunModel(model);
}

std::optional<FuzzRun::Model> FuzzRun::Freeze(const ProgramDesc& quantized,
                                              const SeedProgram& seed) {
  const ProgramDesc program = OneIn(2) ? Mutated(quantized) : quantized;
  const std::string path = WriteProgram("f", program);
  const std::string params = WriteParameters(OneIn(4) ? quantized : program, seed.parameters);
  if (params.empty()) return std::nullopt;
  return Freeze({path, params, program}, seed);
}

std::optional<FuzzRun::Model> FuzzRun::Freeze(const Model& trained, const SeedProgram& seed) {
  std::vector<std::string> arguments = {trained.path, "--mode=freeze",
                                        absl::StrCat("--params=", trained.params),
                                        "--output=frozen", "--params_output=frozen.params"};
  const std::string fetches = SettingOf(seed, "fetches");
  if (!fetches.empty() && !OneIn(6)) {
    arguments.push_back(absl::StrCat("--fetches=", fetches));
  } else if (!OneIn(4)) {
    arguments.push_back(absl::StrCat("--fetches=", FetchNames(trained.program, 2)));
  }
  const std::string feeds = SettingOf(seed, "feeds");
  if (!feeds.empty() && !OneIn(6)) arguments.push_back(absl::StrCat("--feeds=", feeds));
  const std::string form = SettingOf(seed, "form");
  if (!form.empty() && !OneIn(4)) {
    arguments.push_back(absl::StrCat("--frozen_form=", form));
  } else {
    Sometimes(6, "--frozen_form=legacy", &arguments);
    Sometimes(12, "--frozen_form=legacy_int8", &arguments);
  }
  Sometimes(2, "--allow_dynamic", &arguments);
  Sometimes(12, "--dry_run", &arguments);
  Sometimes(8, "--json", &arguments);
  Sometimes(20, "--print_after=all", &arguments);
  const char* const pass = kPasses[random_.Below(static_cast<int>(std::size(kPasses)))];
  Sometimes(20, absl::StrCat("--stop_after=", pass), &arguments);
  if (!Try("transpile", "--mode=freeze", arguments)) return std::nullopt;
  const std::optional<ProgramDesc> frozen = ReadProgram("frozen");
  if (!frozen.has_value()) return std::nullopt;
  return Model{"frozen", "frozen.params", *frozen};
}

std::optional<FuzzRun::Model> FuzzRun::Lower(const Model& model) {
  Model from = model;
  if (OneIn(3)) {
    from.program = Mutated(model.program);
    from.path = WriteProgram("portable", from.program);
  }
  std::vector<std::string> arguments = {from.path, "--mode=lower",
                                        absl::StrCat("--params=", from.params), "--output=lowered",
                                        "--params_output=lowered.params"};
  Sometimes(4, "--explain", &arguments);
  Sometimes(8, "--json", &arguments);
  Sometimes(12, "--dry_run", &arguments);
  Sometimes(20, "--print_after=all", &arguments);
  if (!Try("transpile", "--mode=lower", arguments)) return std::nullopt;
  const std::optional<ProgramDesc> lowered = ReadProgram("lowered");
  if (!lowered.has_value()) return std::nullopt;
  return Model{"lowered", "lowered.params", *lowered};
}

void FuzzRun::FreezeGolden() {
  const SeedProgram& seed = AnyGolden("freeze");
  const std::optional<Model> frozen = Freeze(seed.program, seed);
  if (!frozen.has_value() || OneIn(3)) return;
  if (OneIn(2)) {
    RunModel(*frozen);
  } else if (const std::optional<Model> lowered = Lower(*frozen)) {
    RunModel(*lowered);
  }
}

void FuzzRun::LowerGolden() {
  const SeedProgram& seed = AnyGolden("lower");
  Model model = {"", "", OneIn(4) ? seed.program : Mutated(seed.program)};
  model.path = WriteProgram("p", model.program);
  model.params = WriteParameters(OneIn(4) ? seed.program : model.program, seed.parameters);
  const std::optional<Model> lowered = Lower(model);
  if (lowered.has_value()) RunModel(OneIn(4) ? model : *lowered);
}

void FuzzRun::FromTrainingToIntegers() {
  const SeedProgram seed = AnySeed();
  const ProgramDesc program = OneIn(2) ? seed.program : Mutated(seed.program);
  std::vector<std::string> arguments = QuantizeFlags(seed, program);
  arguments.insert(arguments.end(), {WriteProgram("p", program), "--output=q"});
  if (!Try("transpile", "--mode=train", arguments)) return;
  const std::optional<ProgramDesc> quantized = ReadProgram("q");
  if (!quantized.has_value()) return;
  const std::optional<Model> frozen = Freeze(*quantized, SeedProgram());
  if (!frozen.has_value()) return;
  const std::optional<Model> lowered = Lower(*frozen);
  RunModel(lowered.has_value() ? *lowered : *frozen);
}

}  // namespace fixpoint
