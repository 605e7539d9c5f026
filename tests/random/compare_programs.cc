// compare_programs: random networks, quantized by random configurations; the simulated, the
// portable and the lowered program of each, on the executor and on the reference interpreter.

#include <gflags/gflags.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/thread_waiting.h"
#include "tests/random/programs/coverage.h"
#include "tests/random/programs/program_case.h"

DEFINE_uint64(cases, 1000, "How many networks are tried.");
DEFINE_uint64(first, 0, "The number of the first one.");
DEFINE_uint64(seed, 0, "What they are drawn from, with their numbers.");
DEFINE_bool(verbose, false, "Prints a line for each network before it runs, and what is refused.");

namespace fixpoint::random_cases {
namespace {

int Run() {
  // Fewer cases need not cover everything.
  constexpr uint64_t kManyCases = 1000;
  Coverage coverage;
  uint64_t refused = 0;
  uint64_t differ = 0;
  std::string refusal;
  for (uint64_t number = FLAGS_first; number < FLAGS_first + FLAGS_cases; ++number) {
    if (FLAGS_verbose) {
      std::printf("--seed=%lu --first=%lu --cases=1\n", FLAGS_seed, number);
      std::fflush(stdout);
    }
    const ComparedProgram compared = CompareProgramForms(MakeProgramCase(FLAGS_seed, number));
    AddCoverage(compared.coverage, &coverage);
    if (compared.outcome == ProgramOutcome::kRefused) {
      ++refused;
      refusal = compared.text;
      if (FLAGS_verbose) std::printf("refused: %s", refusal.c_str());
    } else if (compared.outcome == ProgramOutcome::kDiffers) {
      ++differ;
      std::printf("--seed=%lu --first=%lu --cases=1 differs:\n%s\nReduced: %s\n", FLAGS_seed,
                  number, compared.text.c_str(),
                  ReducedReport(MakeProgramCase(FLAGS_seed, number)).c_str());
      std::fflush(stdout);
    }
  }
  for (const auto& [category, count] : coverage) {
    std::printf("%8ld %s\n", count, category.c_str());
  }
  std::printf("%lu networks from --seed=%lu --first=%lu: %lu refused, %lu differ\n", FLAGS_cases,
              FLAGS_seed, FLAGS_first, refused, differ);
  if (refused > 0) std::printf("refused, for instance: %s", refusal.c_str());
  if (FLAGS_cases >= kManyCases && refused >= FLAGS_cases / 10) {
    std::printf("a tenth of the networks or more are refused\n");
    return 1;
  }
  const std::vector<std::string> missing = MissingOf1000(coverage);
  if (FLAGS_cases < kManyCases || missing.empty()) return differ == 0 ? 0 : 1;
  std::printf("no network has: %s\n", absl::StrJoin(missing, ", ").c_str());
  return 1;
}

}  // namespace
}  // namespace fixpoint::random_cases

int main(int argc, char** argv) {
  fixpoint::SpinBriefly(argv);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  return fixpoint::random_cases::Run();
}
