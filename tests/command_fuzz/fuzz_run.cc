#include "tests/command_fuzz/fuzz_run.h"

#include <glog/logging.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/file/program_file.h"
#include "proto/file/text_message.h"
#include "proto/text/program_text.h"
#include "proto/wire/program.pb.h"
#include "tests/command_fuzz/findings.h"
#include "tests/command_fuzz/judge.h"
#include "tests/command_fuzz/mutated_bytes.h"
#include "tests/command_fuzz/mutated_program.h"
#include "tests/testing/gzip_bytes.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTools[] = {"calibrate", "infer", "inspect",
                                  "quantize",  "train", "transpile"};
// One in so many files, and one in so many command lines, is damaged.
constexpr int kOddsOfDamage = 12;
constexpr int64_t kMostFileBytes = int64_t{256} << 20;

// Flags that set how long a tool works: a long run with a large value is not a defect.
constexpr const char* kAmountsOfWork[] = {"steps",   "epochs", "seconds",
                                          "batches", "data",   "max_iterations"};

std::vector<std::string> FlagsIn(const std::string& help) {
  std::vector<std::string> flags;
  for (absl::string_view line : absl::StrSplit(help, '\n')) {
    if (!absl::ConsumePrefix(&line, "  --")) continue;
    absl::ConsumePrefix(&line, "no");
    const std::string name(line.substr(0, line.find_first_of("= ")));
    if (std::find(std::begin(kAmountsOfWork), std::end(kAmountsOfWork), name) ==
        std::end(kAmountsOfWork)) {
      flags.push_back(name);
    }
  }
  return flags;
}

// Makes runs with neighbouring seeds and numbers differ.
uint64_t Mixed(uint64_t seed, uint64_t number) {
  uint64_t bits = seed * 0x9e3779b97f4a7c15 + number + 1;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace

FuzzOptions OptionsFor(const std::string& tools, const std::string& findings) {
  FuzzOptions options;
  options.tools = fs::absolute(tools).string();
  options.findings = findings;
  for (const char* tool : kTools) {
    ToolCommand help;
    help.arguments = {"--help"};
    const ToolRun run =
        RunWithin(options.limits, absl::StrCat(options.tools, "/", tool), "/", help);
    options.flags[tool] = FlagsIn(run.out);
    CHECK(!options.flags[tool].empty()) << options.tools << "/" << tool << ": " << run.err;
  }
  return options;
}

FuzzRun::FuzzRun(const Seeds& seeds, const FuzzOptions& options, uint64_t seed, uint64_t number)
    : seeds_(seeds),
      options_(options),
      seed_(seed),
      number_(number),
      random_(Mixed(seed, number)) {}

int FuzzRun::Go(ExitCodes* exit_codes) {
  using Kind = void (FuzzRun::*)();
  static constexpr Kind kKinds[] = {&FuzzRun::Quantize,
                                    &FuzzRun::Quantize,
                                    &FuzzRun::Quantize,
                                    &FuzzRun::QuantizeByPlan,
                                    &FuzzRun::RewriteByPatterns,
                                    &FuzzRun::MakeTestProgram,
                                    &FuzzRun::MakeTestProgram,
                                    &FuzzRun::FreezeGolden,
                                    &FuzzRun::FreezeGolden,
                                    &FuzzRun::LowerGolden,
                                    &FuzzRun::LowerGolden,
                                    &FuzzRun::LowerGolden,
                                    &FuzzRun::FromTrainingToIntegers,
                                    &FuzzRun::FromTrainingToIntegers,
                                    &FuzzRun::Train,
                                    &FuzzRun::Train,
                                    &FuzzRun::Train,
                                    &FuzzRun::Infer,
                                    &FuzzRun::Infer,
                                    &FuzzRun::Infer,
                                    &FuzzRun::ToIntegers,
                                    &FuzzRun::ToIntegers,
                                    &FuzzRun::Inspect,
                                    &FuzzRun::Inspect};
  exit_codes_ = exit_codes;
  (this->*kKinds[random_.Below(static_cast<int>(std::size(kKinds)))])();
  return findings_;
}

SeedProgram FuzzRun::AnySeed() {
  const int choice = random_.Below(10);
  const auto copy = [](const SeedProgram& seed) {
    SeedProgram copied;
    copied.name = seed.name;
    copied.program = seed.program;
    copied.startup = seed.startup;
    copied.settings = seed.settings;
    return copied;
  };
  if (choice == 0) {
    return copy(seeds_.examples[random_.Below(static_cast<int>(seeds_.examples.size()))]);
  }
  if (choice < 4) {
    return copy(seeds_.goldens[random_.Below(static_cast<int>(seeds_.goldens.size()))]);
  }
  if (choice < 6 && !seeds_.reference.empty()) {
    return copy(seeds_.reference[random_.Below(static_cast<int>(seeds_.reference.size()))]);
  }
  SeedProgram seed;
  seed.name = "random";
  seed.program =
      RandomProgram(random_.Below(1 << 30), {1 + random_.Below(14), OneIn(2), !OneIn(4)});
  seed.startup = StartupOf(seed.program);
  return seed;
}

const SeedProgram& FuzzRun::AnyGolden(absl::string_view mode) {
  std::vector<const SeedProgram*> found;
  for (const SeedProgram& golden : seeds_.goldens) {
    const auto setting = golden.settings.find("mode");
    if ((setting == golden.settings.end() ? "" : setting->second) == mode) found.push_back(&golden);
  }
  CHECK(!found.empty()) << mode;
  return *random_.OneOf(found);
}

ProgramDesc FuzzRun::Mutated(ProgramDesc program) {
  const int choice = random_.Below(20);
  const int changes = choice < 3    ? 0
                      : choice < 11 ? 1
                      : choice < 17 ? 2 + random_.Below(2)
                                    : 4 + random_.Below(12);
  MutateProgram(changes, &random_, &program);
  return program;
}

std::string FuzzRun::WriteProgram(absl::string_view stem, const ProgramDesc& program) {
  const int form = random_.Below(10);
  const bool binary = form < 4;
  std::string bytes = binary      ? program.SerializePartialAsString()
                      : form == 4 ? PrintTextMessage(program)
                                  : PrintProgram(program);
  if (OneIn(kOddsOfDamage)) {
    bytes =
        binary ? MutatedBytes(std::move(bytes), &random_) : MutatedText(std::move(bytes), &random_);
  }
  if (OneIn(20)) bytes = GzipBytes(bytes);
  const std::string path = absl::StrCat(stem, binary ? ".pdmodel" : ".txt");
  folder_.Write(path, bytes);
  return path;
}

std::string FuzzRun::WriteText(const std::string& path, const std::string& text) {
  folder_.Write(path, OneIn(4) ? MutatedText(text, &random_) : text);
  return path;
}

void FuzzRun::WriteFiles(const Files& files) {
  for (const auto& [path, bytes] : files) {
    if (OneIn(4 * kOddsOfDamage)) continue;
    std::string written = bytes;
    if (OneIn(2 * kOddsOfDamage)) written = MutatedBytes(std::move(written), &random_);
    if (OneIn(4 * kOddsOfDamage)) written = GzipBytes(written);
    folder_.Write(path, written);
  }
}

std::string FuzzRun::WriteParameters(const ProgramDesc& program, const Scope& known) {
  const std::optional<std::map<std::string, Tensor>> parameters =
      MakeParameters(program, known, &random_);
  if (!parameters.has_value()) return "";
  // The name is new, because a path that is already a file cannot become a folder.
  const std::string path = absl::StrCat("params", parameter_sets_++);
  WriteFiles(OneIn(3) ? SeparateFiles(*parameters, path) : CombinedFile(*parameters, path));
  return path;
}

std::optional<ProgramDesc> FuzzRun::ReadProgram(const std::string& path) {
  const absl::StatusOr<LoadedProgram> loaded = LoadProgram(folder_.Path(path));
  if (!loaded.ok()) return std::nullopt;
  return *loaded->program;
}

Files FuzzRun::ReadFolder() const {
  Files files;
  for (const std::string& path : folder_.Files()) files[path] = folder_.Read(path);
  return files;
}

void FuzzRun::Sometimes(int n, const std::string& flag, std::vector<std::string>* flags) {
  if (OneIn(n)) flags->push_back(flag);
}

void FuzzRun::DamageArguments(const std::string& tool, std::vector<std::string>* arguments) {
  const int place = arguments->empty() ? 0 : random_.Below(static_cast<int>(arguments->size()));
  const std::string flag = absl::StrCat("--", random_.OneOf(options_.flags.at(tool)));
  switch (random_.Below(6)) {
    case 0:
      if (!arguments->empty()) arguments->erase(arguments->begin() + place);
      break;
    case 1:
      if (!arguments->empty()) arguments->push_back((*arguments)[place]);
      break;
    case 2:
      arguments->push_back(flag);
      break;
    case 3:
      arguments->push_back(absl::StrCat(flag, "=", OddInteger(&random_)));
      break;
    case 4:
      arguments->push_back(absl::StrCat(flag, "=", OddNumber(&random_)));
      break;
    default: {
      const std::vector<std::string> files = folder_.Files();
      arguments->push_back(
          absl::StrCat(flag, "=", files.empty() || OneIn(4) ? "-" : random_.OneOf(files)));
    }
  }
}

void FuzzRun::GiveOnStandardInput(ToolCommand* command) {
  const std::vector<std::string> files = folder_.Files();
  for (std::string& argument : command->arguments) {
    if (std::find(files.begin(), files.end(), argument) == files.end()) continue;
    command->input = folder_.Read(argument);
    argument = "-";
    return;
  }
}

bool FuzzRun::Try(const std::string& tool, const std::string& mode,
                  std::vector<std::string> arguments) {
  ToolCommand command;
  command.tool = tool;
  if (OneIn(kOddsOfDamage)) DamageArguments(tool, &arguments);
  command.arguments = std::move(arguments);
  if (OneIn(kOddsOfDamage)) GiveOnStandardInput(&command);
  if (OneIn(4)) {
    static constexpr const char* kInstructions[] = {"SSE41", "AVX2", "AVX512_CORE"};
    command.environment.push_back(
        absl::StrCat("ONEDNN_MAX_CPU_ISA=", kInstructions[random_.Below(3)]));
  }
  command.file_bytes = OneIn(2 * kOddsOfDamage) ? random_.Below(4) * int64_t{1024} : 0;
  if (command.file_bytes == 0) command.file_bytes = kMostFileBytes;

  Finding finding;
  finding.files = ReadFolder();
  finding.result =
      RunWithin(options_.limits, absl::StrCat(options_.tools, "/", tool), folder_.Path(), command);
  const std::optional<std::string> wrong =
      WhatIsWrong(command, finding.result, finding.files, ReadFolder());
  const bool done = finding.result.exit_code == 0 && !finding.result.timed_out;
  ++(*exit_codes_)[mode.empty() ? tool : absl::StrCat(tool, " ", mode)][finding.result.exit_code];
  if (!wrong.has_value()) return done;
  ++findings_;
  finding.wrong = *wrong;
  finding.signature = SignatureOf(command, finding.result, *wrong);
  finding.seed = seed_;
  finding.run = number_;
  finding.command = std::move(command);
  if (KeepFinding(options_.findings, finding)) {
    LOG(ERROR) << "run " << number_ << ": " << finding.signature;
  }
  return done;
}

}  // namespace fixpoint
