// What transpile writes for a training program, and what it leaves as it is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kQuantized[] = R"(var w f32[2] persistable
var w.d f32[2]
var w.s f32[1]
var y f32[2]
fake_quantize_dequantize_abs_max(X=w) -> (Out=w.d, OutScale=w.s) {bit_length=8}
relu(X=w.d) -> (Out=y)
)";

constexpr char kRelu[] = R"(var x f32[-1,4]
var y f32[-1,4]
relu(X=x) -> (Out=y)
)";

constexpr char kStartup[] = R"(var w f32[2] persistable
fill_constant() -> (Out=w) {shape=[2L], dtype=5, value=0.0}
)";

class TranspileTraining : public testing::Test {
 protected:
  BinaryRun Run(std::vector<std::string> arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    BinaryRun run = RunBinary("tools/transpile", arguments, options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run;
  }

  // The lines of a program that are ops.
  std::string OpsOf(const std::string& file) const {
    std::string ops;
    for (absl::string_view line : absl::StrSplit(folder_.Read(file), '\n')) {
      if (absl::StrContains(line, " -> ")) {
        absl::StrAppend(&ops, absl::StripAsciiWhitespace(line), "\n");
      }
    }
    return ops;
  }

  TemporaryFolder folder_;
};

// What a build script names is there afterwards, whatever there was to do.
TEST_F(TranspileTraining, WritesWhatIsNamedAlsoWhereNothingIsChanged) {
  folder_.Write("relu.txt", kRelu);
  folder_.Write("quantized.txt", kQuantized);
  folder_.Write("startup.txt", kStartup);
  const std::vector<std::string> named = {"--output=out.txt", "--startup_output=out.startup.txt",
                                          "--save_plan=out.plan"};
  for (const std::string program : {"relu.txt", "quantized.txt"}) {
    for (const bool has_startup : {false, true}) {
      SCOPED_TRACE(program + (has_startup ? " with a startup program" : ""));
      std::vector<std::string> arguments = named;
      if (has_startup) arguments.emplace_back("--startup=startup.txt");
      arguments.push_back(program);
      EXPECT_THAT(Run(arguments).out, HasSubstr("wrote out.txt\nwrote out.startup.txt\n"));
      EXPECT_EQ(OpsOf("out.txt"), OpsOf(program));
      EXPECT_EQ(OpsOf("out.startup.txt"), has_startup ? OpsOf("startup.txt") : "");
      EXPECT_THAT(folder_.Files(), ElementsAre("out.plan", "out.startup.txt", "out.txt",
                                               "quantized.txt", "relu.txt", "startup.txt"));
      for (const char* file : {"out.plan", "out.startup.txt", "out.txt"}) {
        std::filesystem::remove(folder_.Path(file));
      }
    }
  }
}

TEST_F(TranspileTraining, NotesGoToStandardErrorAndNotIntoTheReport) {
  folder_.Write("relu.txt", kRelu);
  const BinaryRun run = Run({"relu.txt"});
  EXPECT_EQ(run.err,
            "relu.txt: the program has no backward op: it is rewritten for inference\n"
            "relu.txt: nothing in the program was changed; it is not written\n");
  EXPECT_THAT(run.out, StartsWith("op type"));
}

TEST_F(TranspileTraining, WritesNoStartupProgramThatItDidNotChange) {
  folder_.Write("net.txt", kRelu);
  folder_.Write("startup.txt", kStartup);
  const BinaryRun run = Run({"--startup=startup.txt", "net.txt"});
  EXPECT_THAT(run.err, HasSubstr("nothing in the program was changed; it is not written"));
  EXPECT_THAT(run.out, Not(HasSubstr("wrote")));
  EXPECT_THAT(folder_.Files(), ElementsAre("net.txt", "startup.txt"));
}

TEST_F(TranspileTraining, LetsAStartupProgramThatItDidNotChangeThroughAPipe) {
  folder_.Write("relu.txt", kRelu);
  folder_.Write("quantized.txt", kQuantized);
  folder_.Write("startup.txt", kStartup);
  for (const char* program : {"relu.txt", "quantized.txt"}) {
    const BinaryRun run = Run({"--startup=startup.txt", "--startup_output=-", program});
    EXPECT_THAT(run.out, HasSubstr("fill_constant() -> (Out=w)")) << program;
  }
}

}  // namespace
}  // namespace fixpoint
