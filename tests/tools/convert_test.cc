// inspect convert as a user runs it: a program in another form, whole or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kProgram[] = R"(program version=2006002
block 0 {
  var x f32[-1,3]
  var w f32[3,4] persistable
  mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, op_callstack=["a.py"]}
  mul_grad(X=x, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
}
)";

class Convert : public testing::Test {
 protected:
  Convert() { folder_.Write("program.txt", kProgram); }

  // Files are found relative to the folder.
  BinaryRun Run(const std::vector<std::string>& arguments, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    return RunBinary("tools/inspect", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(Convert, GivesTheSameProgramInAnotherForm) {
  const std::vector<std::vector<std::string>> chains = {{"p.pdmodel"},
                                                        {"__model__"},
                                                        {"p.pbtxt"},
                                                        {"p.pdmodel.gz"},
                                                        {"p.pb", "p.textproto", "p.txt.gz"}};
  for (const std::vector<std::string>& chain : chains) {
    SCOPED_TRACE(chain.back());
    std::string last = "program.txt";
    for (const std::string& next : chain) {
      const BinaryRun run = Run({"convert", last, "--output=" + next});
      EXPECT_EQ(run.exit_code, 0) << run.err;
      EXPECT_EQ(run.out, "wrote " + next + "\n");
      last = next;
    }
    const BinaryRun strict = Run({"diff", "--strict", "program.txt", last});
    EXPECT_EQ(strict.exit_code, 0) << strict.out;
    EXPECT_EQ(Run({"convert", last, "--output=-", "--to=text"}).out,
              Run({"text", "program.txt"}).out);
  }
  EXPECT_THAT(Run({"stats", "p.pdmodel"}).out, HasSubstr("format      binary\n"));
  EXPECT_THAT(Run({"stats", "p.pdmodel.gz"}).out, HasSubstr("format      binary, gzipped\n"));
}

TEST_F(Convert, GoesByWhatIsAskedForBeforeTheName) {
  EXPECT_EQ(Run({"convert", "program.txt", "--output=p.txt", "--to=binary"}).exit_code, 0);
  EXPECT_THAT(Run({"stats", "p.txt"}).out, HasSubstr("format      binary\n"));
}

TEST_F(Convert, SaysWhatItLacks) {
  const struct {
    std::vector<std::string> flags;
    int exit_code;
    std::string message;
  } kCases[] = {
      {{}, 2, "convert: want an output: --output=FILE"},
      {{"--output=-"}, 2, "--output=- does not say the form; want --to=binary"},
      {{"--output=p.onnx"}, 2, "--output=p.onnx does not say the form; want --to=binary"},
      {{"--output=p.pb", "--to=onnx"}, 2, "--to=onnx; there are binary, text and protobuf_text"},
      {{"--output=./program.txt"}, 2, "would replace the input program.txt"},
      {{"--output=nowhere/p.pb"}, 5, "nowhere/p.pb: cannot be written"},
  };
  for (const auto& c : kCases) {
    std::vector<std::string> arguments = {"convert", "program.txt"};
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    const BinaryRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, c.exit_code) << c.message;
    EXPECT_THAT(run.err, HasSubstr(c.message));
    EXPECT_THAT(folder_.Files(), ElementsAre("program.txt"));
  }
}

TEST_F(Convert, AClosedStandardOutputIsToldBeforeTheFileIsWritten) {
  RunBinaryOptions options;
  options.output = "closed";
  const BinaryRun run = Run({"convert", "program.txt", "--output=p.pb"}, options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err,
            "inspect: standard output: cannot be written: it is closed, or open for reading "
            "only\n");
  EXPECT_THAT(folder_.Files(), ElementsAre("program.txt"));
}

// A disk that is full after 60 bytes of a file.
TEST_F(Convert, WhatDoesNotFitOnTheDiskIsNotHalfWritten) {
  RunBinaryOptions options;
  options.largest_file = 60;
  const BinaryRun run = Run({"convert", "program.txt", "--output=p.pb"}, options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err, "inspect: p.pb: cannot be written: File too large\n");
  EXPECT_THAT(folder_.Files(), ElementsAre("program.txt"));
}

}  // namespace
}  // namespace fixpoint
