// One run of the fuzzer: a folder with files, and one or more command lines that run in it, each of
// which can read what the earlier ones wrote. The run depends on its seed and number alone.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_FUZZ_RUN_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_FUZZ_RUN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"
#include "tests/command_fuzz/limited_run.h"
#include "tests/command_fuzz/made_data.h"
#include "tests/command_fuzz/seed_programs.h"
#include "tests/testing/random_program.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {

// How often each tool and mode ended with each exit code, by "transpile --mode=test".
using ExitCodes = std::map<std::string, std::map<int, int>>;

struct FuzzOptions {
  std::string tools;     // the folder of the built tools
  std::string findings;  // where findings go
  RunLimits limits;
  // The flags of each tool, without dashes.
  std::map<std::string, std::vector<std::string>> flags;
};

// Asks each tool for its flags.
FuzzOptions OptionsFor(const std::string& tools, const std::string& findings);

class FuzzRun {
 public:
  FuzzRun(const Seeds& seeds, const FuzzOptions& options, uint64_t seed, uint64_t number);

  // Makes the run; counts its command lines in `exit_codes`. Returns the number of findings.
  int Go(ExitCodes* exit_codes);

 private:
  // A program in the folder, with what it is run with.
  struct Model {
    std::string path;
    std::string params;  // "" where it has none
    ProgramDesc program;
  };

  // One of the kinds of runs (transpile_runs.cc, inference_runs.cc, inspect_runs.cc).
  void Quantize();
  void QuantizeByPlan();
  void RewriteByPatterns();
  void MakeTestProgram();
  void FreezeGolden();
  void LowerGolden();
  void FromTrainingToIntegers();
  void Train();
  void Infer();
  void ToIntegers();
  void Inspect();

  // Parts of them.
  std::vector<std::string> QuantizeFlags(const SeedProgram& seed, const ProgramDesc& program);
  void AfterQuantizing(const std::string& original, const std::string& quantized);
  // Writes the program, or a changed one, with parameters, and freezes it.
  std::optional<Model> Freeze(const ProgramDesc& quantized, const SeedProgram& seed);
  std::optional<Model> Freeze(const Model& trained, const SeedProgram& seed);
  std::optional<Model> Lower(const Model& model);
  void RunModel(const Model& model);
  void Bench(const Model& model, std::vector<std::string> arguments);
  void Compare(const Model& model, std::vector<std::string> arguments);
  // Runs a program whose parameters `train` has saved.
  void RunTrained(const std::string& path);
  std::vector<std::string> BackendFlags();
  std::vector<std::string> PlanFlags();
  std::optional<std::string> FeedFlag(const ProgramDesc& program);
  std::string FetchNames(const ProgramDesc& program, int most);
  std::string DataFlag();

  // A program of the project, a random one, or a real one.
  SeedProgram AnySeed();
  // One of the goldens whose setting `mode` is this.
  const SeedProgram& AnyGolden(absl::string_view mode);
  // The program as it is, or with some changes.
  ProgramDesc Mutated(ProgramDesc program);

  // Writes a program in one of its forms, sometimes damaged; returns the path.
  std::string WriteProgram(absl::string_view stem, const ProgramDesc& program);
  // Writes protobuf text, some of it damaged.
  std::string WriteText(const std::string& path, const std::string& text);
  // Writes files, some of them damaged.
  void WriteFiles(const Files& files);
  // Writes parameters for the program; "" where they would be too many.
  std::string WriteParameters(const ProgramDesc& program, const Scope& known);
  // A program that a tool wrote.
  std::optional<ProgramDesc> ReadProgram(const std::string& path);

  // Runs a command line, sometimes a damaged one, and judges the run. Returns whether it ended with
  // exit code 0.
  bool Try(const std::string& tool, const std::string& mode, std::vector<std::string> arguments);
  void DamageArguments(const std::string& tool, std::vector<std::string>* arguments);
  // Replaces the first argument that is a file by "-".
  void GiveOnStandardInput(ToolCommand* command);
  Files ReadFolder() const;

  bool OneIn(int n) { return random_.OneIn(n); }
  // Adds the flag once in `n` times.
  void Sometimes(int n, const std::string& flag, std::vector<std::string>* flags);

  const Seeds& seeds_;
  const FuzzOptions& options_;
  const uint64_t seed_;
  const uint64_t number_;
  Random random_;
  TemporaryFolder folder_;
  ExitCodes* exit_codes_ = nullptr;
  int findings_ = 0;
  int parameter_sets_ = 0;  // that WriteParameters wrote
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_FUZZ_RUN_H_
