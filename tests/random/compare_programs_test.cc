// Simulated = portable = lowered, on the executor and on the interpreter, of 100 random networks.
// compare_programs has more.

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/strings/str_join.h"
#include "tests/random/programs/coverage.h"
#include "tests/random/programs/program_case.h"

namespace fixpoint::random_cases {
namespace {

TEST(RandomPrograms, GiveTheSameBitsInAllForms) {
  constexpr uint64_t kCases = 100;
  constexpr uint64_t kSeed = 1;
  Coverage coverage;
  uint64_t refused = 0;
  for (uint64_t number = 0; number < kCases; ++number) {
    const ComparedProgram compared = CompareProgramForms(MakeProgramCase(kSeed, number));
    AddCoverage(compared.coverage, &coverage);
    refused += compared.outcome == ProgramOutcome::kRefused ? 1 : 0;
    if (compared.outcome != ProgramOutcome::kDiffers) continue;
    ADD_FAILURE() << "./bazelw run //tests/random:compare_programs -- --seed=" << kSeed
                  << " --first=" << number << " --cases=1\n"
                  << compared.text;
  }
  EXPECT_LT(refused, kCases / 10);
  EXPECT_EQ(absl::StrJoin(MissingOf100(coverage), ", "), "");
}

}  // namespace
}  // namespace fixpoint::random_cases
