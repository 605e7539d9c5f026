// Runs of `train`, `infer`, `calibrate` and `quantize`.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "tests/command_fuzz/fuzz_run.h"
#include "tests/command_fuzz/mutated_bytes.h"

namespace fixpoint {
namespace {

bool IsGradient(const std::string& name) { return absl::StrContains(name, "@GRAD"); }

// An empty program where a mutation left no block.
const BlockDesc& FirstBlock(const ProgramDesc& program) {
  return program.blocks().empty() ? BlockDesc::default_instance() : program.blocks(0);
}

bool FeedsImages(const ProgramDesc& program) {
  for (const VarDesc& variable : FirstBlock(program).vars()) {
    const auto& dims = variable.type().lod_tensor().tensor().dims();
    if (variable.persistable() || dims.empty() || dims[0] != -1) continue;
    if (dims.size() == 2 && dims[1] == 784) return true;
    if (dims.size() == 4 && (dims[3] == 28 || dims[3] == 32)) return true;
  }
  return false;
}

bool FetchesAnything(const ProgramDesc& program) {
  const auto& ops = FirstBlock(program).ops();
  return std::any_of(ops.begin(), ops.end(), [](const OpDesc& op) { return op.type() == "fetch"; });
}

}  // namespace

std::vector<std::string> FuzzRun::BackendFlags() {
  std::vector<std::string> flags;
  Sometimes(8, "--seed=7", &flags);
  if (OneIn(4)) flags.emplace_back("--backend=reference");
  Sometimes(8, "--threads=2", &flags);
  return flags;
}

std::vector<std::string> FuzzRun::PlanFlags() {
  std::vector<std::string> flags;
  Sometimes(12, "--dump_plan", &flags);
  Sometimes(12, "--profile", &flags);
  return flags;
}

std::string FuzzRun::DataFlag() {
  switch (random_.Below(12)) {
    case 0:
    case 1:
      WriteFiles(MakeMnist("mnist", &random_));
      return "--data=mnist:mnist";
    case 2:
      WriteFiles(MakeCifar10("cifar", &random_));
      return "--data=cifar10:cifar";
    case 3:
      return "--data=color_digits:20";
    default:
      return "--data=digits:20";
  }
}

std::string FuzzRun::FetchNames(const ProgramDesc& program, int most) {
  std::vector<std::string> written;
  for (const OpDesc& op : FirstBlock(program).ops()) {
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        if (!IsGradient(name)) written.push_back(name);
      }
    }
  }
  if (written.empty()) return "out";
  std::vector<std::string> chosen;
  const int count = 1 + random_.Below(most);
  for (int i = 0; i < count; ++i) {
    // The last values need most of the program.
    const int last = std::min<int>(4, static_cast<int>(written.size()));
    chosen.push_back(OneIn(2) ? random_.OneOf(written)
                              : written[written.size() - 1 - random_.Below(last)]);
  }
  return absl::StrJoin(chosen, ",");
}

std::optional<std::string> FuzzRun::FeedFlag(const ProgramDesc& desc) {
  absl::StatusOr<Program> program = Program::Create(desc, "fed");
  if (!program.ok()) return "--feeds=x=x.npy";
  Files arrays;
  std::vector<std::string> feeds;
  for (const Variable* variable : FedVariables(*program)) {
    const VarType::TensorDesc* const tensor = variable->tensor();
    if (tensor == nullptr) continue;
    std::vector<int64_t> dims(tensor->dims().begin(), tensor->dims().end());
    if (OneIn(20) && !dims.empty()) dims[random_.Below(static_cast<int>(dims.size()))] = 3;
    if (OneIn(40)) dims.push_back(1);
    const VarType::Type dtype = OneIn(40) ? VarType::INT32 : tensor->data_type();
    const std::optional<std::string> array = MakeArray(dtype, dims, &random_);
    if (!array.has_value()) return std::nullopt;
    const std::string path = absl::StrCat("feed", arrays.size(), ".npy");
    feeds.push_back(absl::StrCat(variable->name(), "=", path));
    arrays[path] = *array;
  }
  WriteFiles(arrays);
  return absl::StrCat("--feeds=", absl::StrJoin(feeds, ","));
}

void FuzzRun::RunModel(const Model& model) {
  if (model.program.blocks().empty()) return;
  std::vector<std::string> arguments = {model.path};
  if (!model.params.empty()) arguments.push_back(absl::StrCat("--params=", model.params));
  const int what = random_.Below(8);
  if (what < 2) return Bench(model, std::move(arguments));
  for (std::string& flag : BackendFlags()) arguments.push_back(std::move(flag));
  const bool on_images = FeedsImages(model.program) && OneIn(2);
  const std::optional<std::string> feeds = on_images ? DataFlag() : FeedFlag(model.program);
  if (!feeds.has_value()) return;
  arguments.push_back(*feeds);
  if (on_images) arguments.emplace_back("--batch_size=4");
  if (what < 5) return Compare(model, std::move(arguments));
  for (std::string& flag : PlanFlags()) arguments.push_back(std::move(flag));
  Sometimes(8, "--check_finite", &arguments);
  if (on_images) {
    Sometimes(8, "--json", &arguments);
    if (OneIn(4)) arguments.push_back(absl::StrCat("--scores=", FetchNames(model.program, 1)));
    Try("infer", "--data", arguments);
    return;
  }
  std::vector<std::string> fetches;
  for (int i = 0; i < 1 + random_.Below(2); ++i) {
    fetches.push_back(absl::StrCat(FetchNames(model.program, 1), "=y", i, ".npy"));
  }
  arguments.push_back(absl::StrCat("--fetches=", absl::StrJoin(fetches, ",")));
  Try("infer", "--fetches", arguments);
}

void FuzzRun::Bench(const Model& model, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--bench", "--seconds=0"});
  for (std::string& flag : PlanFlags()) arguments.push_back(std::move(flag));
  Sometimes(8, "--threads=2", &arguments);
  Sometimes(8, "--json", &arguments);
  Sometimes(2, "--batch_size=3", &arguments);
  if (OneIn(2)) {
    const std::optional<std::string> feeds = FeedFlag(model.program);
    if (!feeds.has_value()) return;
    arguments.push_back(*feeds);
  }
  // A program that fetches nothing has to be told what is computed.
  if (OneIn(FetchesAnything(model.program) ? 8 : 2)) {
    arguments.push_back(absl::StrCat("--scores=", FetchNames(model.program, 1)));
  }
  Try("infer", "--bench", arguments);
}

void FuzzRun::Compare(const Model& model, std::vector<std::string> arguments) {
  const std::string other = OneIn(2) ? model.path : WriteProgram("other", Mutated(model.program));
  arguments.push_back(absl::StrCat("--compare=", other));
  Sometimes(2, "--compare_backend=reference", &arguments);
  Sometimes(2, "--op_by_op", &arguments);
  Sometimes(8, "--json", &arguments);
  if (OneIn(4)) {
    arguments.push_back(absl::StrCat("--compare_params=", WriteParameters(model.program, Scope())));
  }
  Try("infer", "--compare", arguments);
}

void FuzzRun::Infer() {
  SeedProgram seed = AnySeed();
  if (OneIn(3)) {
    seed.program = RandomProgram(random_.Below(1 << 30), {1 + random_.Below(10), OneIn(3), false});
  }
  Model model = {"", "", OneIn(6) ? seed.program : Mutated(seed.program)};
  if (model.program.blocks().empty()) return;
  model.path = WriteProgram("p", model.program);
  model.params = WriteParameters(OneIn(6) ? seed.program : model.program, seed.parameters);
  if (model.params.empty() && !OneIn(10)) return Inspect();
  RunModel(model);
}

void FuzzRun::ToIntegers() {
  const SeedProgram& seed =
      seeds_.examples[random_.Below(static_cast<int>(seeds_.examples.size()))];
  if (!FeedsImages(seed.program)) return Infer();
  const std::string original = WriteProgram("t", seed.program);
  if (!Try("transpile", "--mode=test", {original, "--mode=test", "--output=f"})) return;
  const std::optional<ProgramDesc> test = ReadProgram("f");
  if (!test.has_value() || test->blocks().empty()) return;
  const ProgramDesc program = OneIn(2) ? *test : Mutated(*test);
  if (program.blocks().empty()) return;
  std::vector<std::string> arguments = {WriteProgram("p", program), DataFlag(), "--samples=3",
                                        "--batch_size=2"};
  const std::string params = WriteParameters(program, seed.parameters);
  if (!params.empty()) arguments.push_back(absl::StrCat("--params=", params));
  if (OneIn(2)) arguments.push_back(absl::StrCat("--scores=", FetchNames(program, 1)));
  Sometimes(8, "--threads=2", &arguments);
  Sometimes(8, "--resume", &arguments);
  if (OneIn(2)) {
    Sometimes(4, "--outputs", &arguments);
    Sometimes(4, "--save_every=1", &arguments);
    arguments.emplace_back("--output=profile");
    Try("calibrate", "", arguments);
    return;
  }
  arguments.insert(arguments.end(), {"--output=int8", "--notimes"});
  if (OneIn(4)) arguments.push_back("--config=" + WriteText("config", "weights { bits: 4 }"));
  Sometimes(6, "--fold_batch_norm", &arguments);
  Sometimes(6, "--equalize", &arguments);
  Sometimes(6, "--smooth", &arguments);
  Sometimes(6, "--correct_biases", &arguments);
  if (OneIn(3)) {
    arguments.emplace_back(OneIn(2) ? "--metric=accuracy" : "--metric=-loss");
    Sometimes(2, "--max_drop=0.5", &arguments);
  } else {
    Sometimes(4, "--budget=20KB", &arguments);
  }
  Try("quantize", "", arguments);
}

void FuzzRun::Train() {
  const bool of_reference = !seeds_.reference.empty() && OneIn(4);
  const std::vector<SeedProgram>& seeds = of_reference ? seeds_.reference : seeds_.examples;
  const SeedProgram& seed = seeds[random_.Below(static_cast<int>(seeds.size()))];
  if (!FeedsImages(seed.program)) return Infer();
  ProgramDesc program = OneIn(2) ? seed.program : Mutated(seed.program);
  if (program.blocks().empty()) return;
  std::string path = WriteProgram("p", program);
  std::vector<std::string> arguments;
  if (seed.startup.has_value()) {
    const ProgramDesc startup = OneIn(3) ? Mutated(*seed.startup) : *seed.startup;
    std::string startup_path = WriteProgram("s", startup);
    if (OneIn(3)) {
      std::vector<std::string> flags = QuantizeFlags(seed, program);
      flags.insert(flags.end(), {path, "--output=q", absl::StrCat("--startup=", startup_path),
                                 "--startup_output=sq"});
      if (Try("transpile", "--mode=train", flags)) {
        if (folder_.Files().empty()) return;
        const std::optional<ProgramDesc> quantized = ReadProgram("q");
        if (quantized.has_value()) program = OneIn(3) ? Mutated(*quantized) : *quantized;
        path = WriteProgram("q2", program);
        startup_path = "sq";
      }
    }
    arguments.push_back(absl::StrCat("--startup=", startup_path));
  }
  arguments.insert(arguments.end(), {path, "--steps=2", "--batch_size=4", DataFlag()});
  for (auto& flags : {BackendFlags(), PlanFlags()}) {
    arguments.insert(arguments.end(), flags.begin(), flags.end());
  }
  const bool saves = OneIn(2);
  if (saves) arguments.emplace_back("--save=saved");
  Sometimes(4, "--metrics=metrics", &arguments);
  Sometimes(6, "--eval_every=1", &arguments);
  if (OneIn(4)) {
    arguments.emplace_back("--checkpoint_dir=checkpoints");
    Sometimes(2, "--checkpoint_every=1", &arguments);
    Sometimes(2, "--resume", &arguments);
  }
  if (OneIn(8)) {
    arguments.push_back(absl::StrCat("--dump=", FetchNames(program, 2)));
    arguments.emplace_back("--dump_output=dump.npz");
  }
  if (OneIn(8)) {
    arguments.push_back(
        absl::StrCat("--eval_program=", WriteProgram("eval", Mutated(seed.program))));
  }
  if (OneIn(6)) arguments.push_back(absl::StrCat("--params=", WriteParameters(program, Scope())));
  if (OneIn(12)) arguments.push_back(absl::StrCat("--loss=", FetchNames(program, 1)));
  if (!Try("train", "", arguments)) return;
  if (saves && !OneIn(4)) return RunTrained(path);
  // Trains once more, from the current state.
  if (OneIn(2)) Try("train", "", arguments);
}

void FuzzRun::RunTrained(const std::string& path) {
  if (!Try("transpile", "--mode=test", {path, "--mode=test", "--output=e"})) return;
  const std::optional<ProgramDesc> test = ReadProgram("e");
  if (!test.has_value()) return;
  Model model = {"e", "saved", *test};
  if (OneIn(3)) {
    model.program = Mutated(*test);
    model.path = WriteProgram("e2", model.program);
  }
  if (OneIn(2)) {
    if (std::optional<Model> frozen = Freeze(model, SeedProgram())) model = *std::move(frozen);
    if (std::optional<Model> lowered = Lower(model)) model = *std::move(lowered);
  }
  RunModel(model);
  RunModel(model);
}

}  // namespace fixpoint
