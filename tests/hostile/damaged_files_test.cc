// Files cut off at every byte, and with each bit turned: the tool answers with a result, or in
// lines that each name the file, and writes nothing then.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/program/program.h"
#include "tests/testing/damaged_bytes.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::string SmallProgram() {
  return ParsedProgram(R"(
    var x f32[-1,2]
    var s f32[1] persistable
    var d f32[-1,2]
    var f fetch_list persistable
    fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=s) -> (Out=d, OutScale=s) {bit_length=8, is_test=true}
    fetch(X=d) -> (Out=f) {col=0}
  )")
      .Proto()
      .SerializeAsString();
}

// A combined file of s: version, no levels of detail, version, description, one element.
std::string SmallParameters() {
  return std::string(16, '\0') + std::string("\x04\0\0\0\x08\x05\x10\x01\0\0\0\x40", 12);
}

struct Case {
  const char* name;
  Damage damage;
  bool damages_program;  // else the parameters
  std::vector<std::string> arguments;
};

// Each case is split into this many parts for the shards.
constexpr int kParts = 8;

class DamagedFile : public testing::TestWithParam<std::tuple<Case, int>> {};

TEST_P(DamagedFile, GivesAResultOrLinesThatNameIt) {
  const auto& [c, part] = GetParam();
  const char* name = c.damages_program ? "net.pb" : "net.params";
  const std::vector<std::string> all =
      Damaged(c.damages_program ? SmallProgram() : SmallParameters(), c.damage);
  for (size_t i = part; i < all.size(); i += kParts) {
    const std::string& bytes = all[i];
    const TemporaryFolder folder;
    folder.Write("net.pb", SmallProgram());
    folder.Write("net.params", SmallParameters());
    folder.Write(name, bytes);
    RunBinaryOptions options;
    options.callers_directory = folder.Path();
    const BinaryRun run = RunBinary("tools/transpile", c.arguments, options);
    ASSERT_THAT(run.exit_code, AnyOf(Eq(0), Eq(3), Eq(4))) << run.err;
    if (run.exit_code == 0) continue;
    EXPECT_THAT(run.err, StartsWith("transpile: net.p"));
    const std::vector<std::string> lines =
        absl::StrSplit(absl::StripPrefix(run.err, "transpile: "), '\n', absl::SkipEmpty());
    EXPECT_THAT(lines, Each(AnyOf(StartsWith("net.p"), MatchesRegex("and [0-9]+ more"))));
    EXPECT_THAT(run.err, EndsWith("\n"));
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(folder.Files(), testing::ElementsAre("net.params", "net.pb"));
    if (c.damage == Damage::kCutOff) {
      EXPECT_THAT(run.err, StartsWith(absl::StrCat("transpile: ", name, ":")));
    }
  }
}

const Case kCases[] = {
    {"ProgramCutOff", Damage::kCutOff, true, {"net.pb"}},
    {"ProgramWithABitTurned", Damage::kBitTurned, true, {"net.pb"}},
    {"ProgramWithABitTurnedFrozen",
     Damage::kBitTurned,
     true,
     {"--mode=freeze", "--params=net.params", "net.pb"}},
    {"ParametersCutOff",
     Damage::kCutOff,
     false,
     {"--mode=freeze", "--params=net.params", "net.pb"}},
    {"ParametersWithABitTurned",
     Damage::kBitTurned,
     false,
     {"--mode=freeze", "--params=net.params", "net.pb"}},
};
INSTANTIATE_TEST_SUITE_P(Files, DamagedFile,
                         testing::Combine(testing::ValuesIn(kCases), testing::Range(0, kParts)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).name,
                                               std::get<1>(info.param));
                         });

}  // namespace
}  // namespace fixpoint
