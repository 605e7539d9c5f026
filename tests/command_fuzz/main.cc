// command_fuzz: whole command lines on damaged and random input, as many as are asked for.
// docs/fuzzing.md says how it is run and what it has found.

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/command_fuzz/fuzz_run.h"
#include "tests/command_fuzz/seed_programs.h"
#include "tests/testing/temporary_folder.h"

DEFINE_uint64(seed, 0, "What all runs follow from, with their numbers.");
DEFINE_uint64(runs, 1000, "How many runs there are.");
DEFINE_uint64(first, 0, "The number of the first run.");
DEFINE_int32(jobs, 1, "How many runs there are at a time.");
DEFINE_bool(reference, true, "Change the real programs of the reference data too.");
DEFINE_string(findings, "", "The folder that findings go to; else one in the temporary folder.");

namespace fixpoint {
namespace {

// What one process writes of its runs: a line for each tool, mode and exit code, and one for the
// findings.
constexpr char kFindingsLine[] = "findings";

void Work(const Seeds& seeds, const FuzzOptions& options, int job, const std::string& results) {
  ExitCodes exit_codes;
  int findings = 0;
  for (uint64_t i = job; i < FLAGS_runs; i += FLAGS_jobs) {
    FuzzRun run(seeds, options, FLAGS_seed, FLAGS_first + i);
    findings += run.Go(&exit_codes);
  }
  std::ofstream file(results);
  file << kFindingsLine << "\t0\t" << findings << "\n";
  for (const auto& [mode, counts] : exit_codes) {
    for (const auto& [code, count] : counts) file << mode << "\t" << code << "\t" << count << "\n";
  }
  CHECK(file.flush()) << results;
}

ExitCodes ReadResults(const std::string& path) {
  ExitCodes exit_codes;
  std::ifstream file(path);
  std::string mode;
  for (int code, count; std::getline(file, mode, '\t') && file >> code >> count;) {
    exit_codes[mode][code] = count;
    file.ignore();
  }
  return exit_codes;
}

void PrintTable(const ExitCodes& exit_codes) {
  std::set<int> codes;
  for (const auto& [mode, counts] : exit_codes) {
    for (const auto& [code, count] : counts) codes.insert(code);
  }
  std::cout << "| command lines | all |";
  for (const int code : codes) std::cout << " exit " << code << " |";
  std::cout << "\n|---|---|";
  for (size_t i = 0; i < codes.size(); ++i) std::cout << "---|";
  std::map<int, int> sums;
  int all = 0;
  for (const auto& [mode, counts] : exit_codes) {
    int of_mode = 0;
    for (const auto& [code, count] : counts) {
      of_mode += count;
      sums[code] += count;
    }
    all += of_mode;
    std::cout << absl::StrFormat("\n| `%s` | %d |", mode, of_mode);
    for (const int code : codes) {
      const auto found = counts.find(code);
      std::cout << absl::StrFormat(" %d |", found == counts.end() ? 0 : found->second);
    }
  }
  std::cout << "\n| all | " << all << " |";
  for (const int code : codes) std::cout << " " << sums[code] << " |";
  std::cout << "\n";
}

int Run() {
  const Seeds seeds = LoadSeeds(FLAGS_reference);
  if (seeds.reference.empty() && FLAGS_reference)
    std::cout << "no reference data beside this checkout: skipped\n";
  const std::string findings_folder =
      FLAGS_findings.empty()
          ? (std::filesystem::temp_directory_path() / "fixpoint_findings").string()
          : std::filesystem::absolute(FLAGS_findings).string();
  const FuzzOptions options = OptionsFor("tools", findings_folder);
  const TemporaryFolder results;
  std::vector<pid_t> workers;
  for (int job = 0; job < FLAGS_jobs; ++job) {
    const pid_t worker = fork();
    PCHECK(worker >= 0);
    if (worker == 0) {
      Work(seeds, options, job, results.Path(absl::StrCat(job)));
      _exit(0);
    }
    workers.push_back(worker);
  }
  for (const pid_t worker : workers) {
    int status = 0;
    PCHECK(waitpid(worker, &status, 0) == worker);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the fuzzer itself failed";
  }
  ExitCodes exit_codes;
  int findings = 0;
  for (int job = 0; job < FLAGS_jobs; ++job) {
    for (const auto& [mode, counts] : ReadResults(results.Path(absl::StrCat(job)))) {
      for (const auto& [code, count] : counts) {
        mode == kFindingsLine ? findings += count : exit_codes[mode][code] += count;
      }
    }
  }
  PrintTable(exit_codes);
  std::cout << FLAGS_runs << " runs of seed " << FLAGS_seed << " from " << FLAGS_first << ": "
            << findings << " findings\n";
  if (findings > 0) std::cout << "they are in " << findings_folder << "\n";
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  // It complains of names that are no UTF-8, which they are on purpose.
  google::protobuf::SetLogHandler(nullptr);
  return fixpoint::Run();
}
