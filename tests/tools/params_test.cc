// inspect params as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/hex_bytes.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A bias [2] of 1 and 2, and codes [2,3].
constexpr char kBias[] = "00000000 0000000000000000 00000000 04000000 08051002 0000803f 00000040";
constexpr char kWeight[] =
    "00000000 0000000000000000 00000000 06000000 0815 1002 1003 010203fdfeff";

constexpr char kProgram[] = R"(program version=2006002
block 0 {
  var fc.b f32[2] persistable
  var fc.w f32[2,3] persistable
}
)";

class InspectParams : public testing::Test {
 protected:
  InspectParams() {
    folder_.Write("net.txt", kProgram);
    folder_.Write("all", HexBytes(kBias) + HexBytes(kWeight));
    folder_.Write("separate/fc.b", HexBytes(kBias));
    folder_.Write("separate/fc.w", HexBytes(kWeight));
    folder_.Write("separate/notes", "no tensor");
  }

  BinaryRun Run(std::vector<std::string> arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    arguments.insert(arguments.begin(), "params");
    return RunBinary("tools/inspect", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(InspectParams, NamesTheTensorsOfACombinedFileByItsProgram) {
  const BinaryRun run = Run({"all", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out,
            "all: 2 tensors, 14 bytes\n"
            "\n"
            "name  type         smallest       largest          mean  first elements\n"
            "fc.b  f32[2]              1             2           1.5  1 2\n"
            "fc.w  i8[2,3]            -3             3             0  1 2 3 -3 ...\n");
}

TEST_F(InspectParams, SaysThatNothingNamesTheTensorsOfACombinedFile) {
  const BinaryRun run = Run({"all"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("\n[0]   f32[2] "), HasSubstr("\n[1]   i8[2,3] ")));
  EXPECT_THAT(run.err, HasSubstr("all: a combined file holds no names; they come from the program "
                                 "that it was saved for: inspect params FILE PROGRAM\n"));
}

TEST_F(InspectParams, NamesTheFilesOfAFolderAndThoseThatAreLeftOut) {
  const BinaryRun run = Run({"separate"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\nfc.b  f32[2] "), HasSubstr("\nfc.w  i8[2,3] "),
                             Not(HasSubstr("notes"))));
  EXPECT_THAT(run.err, HasSubstr("separate: notes is left out: byte "));
  EXPECT_THAT(run.err, Not(HasSubstr("holds no names")));
}

TEST_F(InspectParams, IsJsonToo) {
  const BinaryRun run = Run({"--json", "all", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"has_names\": true"), HasSubstr("\"name\": \"fc.w\""),
                             HasSubstr("\"type\": \"i8\""), HasSubstr("\"smallest\": -3"),
                             HasSubstr("\"mean\": 1.5")));
  EXPECT_THAT(Run({"--json", "all"}).out,
              AllOf(HasSubstr("\"has_names\": false"), Not(HasSubstr("\"name\""))));
}

TEST_F(InspectParams, OfAnotherProgramIsTheErrorOfLoading) {
  folder_.Write("other.txt", "program version=2006002\nblock 0 {\n  var w f32[7] persistable\n}\n");
  const BinaryRun run = Run({"all", "other.txt"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("all: holds 2 tensors; it should hold \"w\" alone"));
}

TEST_F(InspectParams, OfNoParameterFileSaysSo) {
  EXPECT_EQ(Run({"net.txt"}).exit_code, 3);
  EXPECT_EQ(Run({"nothing"}).exit_code, 3);
  EXPECT_EQ(Run({}).exit_code, 2);
}

}  // namespace
}  // namespace fixpoint
