#include "tools/command_line.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

DEFINE_bool(json, false, "as JSON");
DEFINE_bool(backward, true, "without backward ops");
DEFINE_int32(bits, 8, "bits of a quantized value");
DEFINE_double(share, 0.6, "a share of the values");
DEFINE_string(output, "", "where the result goes");
DEFINE_bool(not_of_this_tool, false, "of another tool");

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ToolHelp TestHelp() {
  return {"quant",
          "quantizes a program.",
          {"quant PROGRAM    does it"},
          {{"Flags:", {"json", "backward", "bits", "share", "output"}}},
          {"quant program.pb", "quant - < program.pb"}};
}

class CommandLineTest : public testing::Test {
 protected:
  CommandLine Parse(std::vector<const char*> words) {
    words.insert(words.begin(), "quant");
    return ParseCommandLine(static_cast<int>(words.size()), words.data(), TestHelp(), out_, err_);
  }

  gflags::FlagSaver saver_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CommandLineTest, FlagsAndPositionalArgumentsMix) {
  const CommandLine line = Parse({"a.pb", "--bits=4", "-", "--json", "--output", "-", "b.pb"});
  EXPECT_FALSE(line.exit_code.has_value());
  EXPECT_THAT(line.arguments, ElementsAre("a.pb", "-", "b.pb"));
  EXPECT_THAT(line.flags, ElementsAre("bits", "json", "output"));
  EXPECT_EQ(FLAGS_bits, 4);
  EXPECT_TRUE(FLAGS_json);
  EXPECT_EQ(FLAGS_output, "-");
  EXPECT_EQ(out_.str() + err_.str(), "");
}

TEST_F(CommandLineTest, BooleanFlagsHaveThreeForms) {
  EXPECT_THAT(Parse({"--nobackward", "x"}).arguments, ElementsAre("x"));
  EXPECT_FALSE(FLAGS_backward);
  EXPECT_THAT(Parse({"--backward", "x"}).arguments, ElementsAre("x"));
  EXPECT_TRUE(FLAGS_backward);
  EXPECT_THAT(Parse({"--backward=false", "x"}).arguments, ElementsAre("x"));
  EXPECT_FALSE(FLAGS_backward);
}

TEST_F(CommandLineTest, AListAddsUpIfItIsRepeatable) {
  ToolHelp help = TestHelp();
  const std::vector<const char*> words = {"quant", "--output=a,b", "x", "--output", "c"};
  const int count = static_cast<int>(words.size());
  EXPECT_EQ(ParseCommandLine(count, words.data(), help, out_, err_).exit_code, kWrongUsage);
  EXPECT_EQ(err_.str(), "quant: --output is given twice\nquant --help shows the usage\n");
  help.repeatable = {"output"};
  const CommandLine line = ParseCommandLine(count, words.data(), help, out_, err_);
  EXPECT_FALSE(line.exit_code.has_value());
  EXPECT_THAT(line.flags, ElementsAre("output"));
  EXPECT_EQ(FLAGS_output, "a,b,c");
}

TEST_F(CommandLineTest, AfterTwoDashesEverythingIsPositional) {
  EXPECT_THAT(Parse({"--", "--json", "--help"}).arguments, ElementsAre("--json", "--help"));
  EXPECT_FALSE(FLAGS_json);
}

TEST_F(CommandLineTest, ANegativeNumberCanBeAValue) {
  EXPECT_THAT(Parse({"--bits", "-3"}).arguments, IsEmpty());
  EXPECT_EQ(FLAGS_bits, -3);
}

TEST_F(CommandLineTest, WithoutArgumentsThereAreNone) {
  EXPECT_THAT(ParseCommandLine(0, nullptr, TestHelp(), out_, err_).arguments, IsEmpty());
}

TEST_F(CommandLineTest, HelpShowsThisToolsFlagsAndEndsWithExamples) {
  for (const char* flag : {"--help", "-h", "-help"}) {
    out_.str("");
    const CommandLine line = Parse({"--json", flag, "--no_such_flag"});
    EXPECT_EQ(line.exit_code, kDone);
    EXPECT_EQ(err_.str(), "");
    EXPECT_EQ(out_.str(), R"(quant: quantizes a program.

  quant PROGRAM    does it

Flags:
  --json                   as JSON
  --nobackward             without backward ops
  --bits=int32             bits of a quantized value [8]
  --share=double           a share of the values [0.6]
  --output=string          where the result goes
Examples:
  quant program.pb
  quant - < program.pb
)");
  }
}

TEST_F(CommandLineTest, VersionIsOneLine) {
  EXPECT_EQ(Parse({"--version"}).exit_code, kDone);
  EXPECT_EQ(out_.str(), "quant (Fixpoint) 0.1.0\n");
}

TEST_F(CommandLineTest, WrongCommandLinesSayWhatIsWrong) {
  const struct {
    std::vector<const char*> words;
    std::string message;
  } kCases[] = {
      {{"--bit=4"}, "unknown flag --bit; did you mean --bits?"},
      {{"--hlep"}, "unknown flag --hlep; did you mean --help?"},
      {{"--quantum"}, "unknown flag --quantum"},
      {{"-x"}, "unknown flag --x"},
      {{"--not_of_this_tool"}, "unknown flag --not_of_this_tool"},
      {{"--flagfile=x"}, "unknown flag --flagfile"},
      {{"--bits=four"}, "--bits=four: want a whole number of 32 bits"},
      {{"--bits="}, "--bits=: want a whole number of 32 bits"},
      {{"--bits=99999999999"}, "--bits=99999999999: want a whole number of 32 bits"},
      {{"--json=maybe"}, "--json=maybe: want true or false"},
      {{"x", "--bits"}, "--bits needs a value, a whole number of 32 bits"},
      {{"--nobits"},
       "unknown flag --nobits; only a switch has a --no form, and that takes no "
       "value"},
      {{"--nojson=true"},
       "unknown flag --nojson; only a switch has a --no form, and that takes no "
       "value"},
      {{"--=x"}, "unknown flag --"},
  };
  for (const auto& c : kCases) {
    err_.str("");
    EXPECT_EQ(Parse(c.words).exit_code, kWrongUsage) << c.message;
    EXPECT_EQ(err_.str(), "quant: " + c.message + "\nquant --help shows the usage\n");
    EXPECT_EQ(out_.str(), "");
  }
}

TEST(ExitCodeOf, EachKindOfErrorHasItsCode) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(UsageError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::UnimplementedError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 70);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("")), 70);
}

TEST(CheckBinaryOutput, AFileMayHoldAnything) { EXPECT_TRUE(CheckBinaryOutput("program.pb").ok()); }

}  // namespace
}  // namespace fixpoint
