// inspect as a user runs it: what it prints where, and how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kSeeHelp[] = "inspect --help shows the usage\n";

constexpr char kProgram[] = R"(program version=2006002
block 0 {
  var x f32[-1,3]
  var w f32[3,4] persistable
  mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, op_callstack=["a.py"]}
  mul_grad(X=x, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
}
)";

class Inspect : public testing::Test {
 protected:
  // Files are found relative to the folder.
  BinaryRun Run(const std::vector<std::string>& arguments, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    return RunBinary("tools/inspect", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(Inspect, TextIsTheProgramItself) {
  folder_.Write("program.txt", kProgram);
  const BinaryRun run = Run({"text", "program.txt"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, kProgram);
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, TextCanLeaveOutDebugAttributes) {
  RunBinaryOptions options;
  options.input = kProgram;
  const BinaryRun run = Run({"text", "--nodebug_attributes", "-"}, options);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1}\n"));
}

TEST_F(Inspect, StatsBeginWithTheFile) {
  RunBinaryOptions options;
  options.input = kProgram;
  const BinaryRun run = Run({"stats", "-"}, options);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, StartsWith(R"(file        standard input
format      text
version     2006002 (2.6.2)
edit log    no
quantized   no
)"));
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, StatsAsJson) {
  folder_.Write("program.txt", kProgram);
  const BinaryRun run = Run({"stats", "--json", "program.txt"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, R"({
  "schema_version": 1,
  "file": "program.txt",
  "format": "text",
  "gzipped": false,
  "converted": false,
  "blocks": [
    {
      "ops": 2,
      "variables": 2
    }
  ],
  "edit_log": false,
  "feeds": [
    {
      "name": "x",
      "type": "f32[-1,3]"
    }
  ],
  "fetches": [],
  "op_types": [
    {
      "ops": {
        "backward": 0,
        "forward": 1,
        "learning_rate": 0,
        "optimizer": 0,
        "other": 0,
        "total": 1
      },
      "type": "mul"
    },
    {
      "ops": {
        "backward": 1,
        "forward": 0,
        "learning_rate": 0,
        "optimizer": 0,
        "other": 0,
        "total": 1
      },
      "type": "mul_grad"
    }
  ],
  "ops": {
    "backward": 1,
    "forward": 1,
    "learning_rate": 0,
    "optimizer": 0,
    "other": 0,
    "total": 2
  },
  "parameters": [
    {
      "bytes": 48,
      "tensors": 1,
      "type": "f32[3,4]"
    }
  ],
  "quantization": {
    "by": "",
    "changed_by": "",
    "quantizers": []
  },
  "release": "2.6.2",
  "state": [],
  "version": 2006002
}
)");
}

TEST_F(Inspect, VerifyOfAValidProgramEndsWithZero) {
  folder_.Write("program.txt", R"(
    var x f32[-1,3]
    var y f32[-1,3]
    relu(X=x) -> (Out=y)
  )");
  const BinaryRun run = Run({"verify", "program.txt"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "program.txt: verified, 0 findings\n");
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, VerifyShowsWhatIsWrongAndEndsWithOne) {
  RunBinaryOptions options;
  options.input = "var y f32[-1,3]\nrelu(X=x) -> (Out=y)\n";
  const BinaryRun run = Run({"verify", "-"}, options);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out,
            "error: standard input: block 0, op 0 (relu): input X reads \"x\", which block 0 does "
            "not declare [dangling_name]\n"
            "    relu(X=x) -> (Out=y)\n"
            "standard input: not valid, 1 finding\n");
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, VerifyAsJson) {
  folder_.Write("program.txt", "var y f32[-1,3]\nrelu(X=x) -> (Out=y)\n");
  const BinaryRun run = Run({"verify", "--json", "program.txt"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, R"json({
  "schema_version": 1,
  "file": "program.txt",
  "valid": false,
  "errors": 1,
  "findings": [
    {
      "block": 0,
      "code": "dangling_name",
      "message": "input X reads \"x\", which block 0 does not declare",
      "op": 0,
      "op_type": "relu",
      "severity": "error",
      "text": "relu(X=x) -> (Out=y)"
    }
  ],
  "warnings": 0,
  "invariants_checked": false,
  "violations": []
}
)json");
}

// op_role_var as the reference's QuantizeTranspiler leaves it.
constexpr char kCorrupted[] = R"(
  var x f32[-1,3]
  var w f32[3,4] persistable
  var w.quantized f32[3,4]
  var w.scale f32[1]
  var w.quantized.dequantized f32[3,4]
  var y f32[-1,4]
  var y@GRAD f32[-1,4]
  var w@GRAD f32[3,4]
  fake_quantize_abs_max(X=w) -> (Out=w.quantized, OutScale=w.scale)
  fake_dequantize_max_abs(X=w.quantized, Scale=w.scale) -> (Out=w.quantized.dequantized) {max_range=127.0}
  mul(X=x, Y=w.quantized.dequantized) -> (Out=y)
  fill_constant() -> (Out=y@GRAD) {shape=[1L, 4L], dtype=5, value=1.0, op_role=257}
  mul_grad(X=x, Y=w.quantized.dequantized, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w.quantized.dequantized", "w@GRAD"]}
)";

TEST_F(Inspect, VerifyChecksTheInvariantsOfWhatSomebodyElseQuantized) {
  folder_.Write("quantized.txt", kCorrupted);
  const BinaryRun run = Run({"verify", "quantized.txt"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("error: quantized.txt: invariant 2: block 0, op 4 (mul_grad): "
                                 "op_role_var names \"w.quantized.dequantized\", which is made by "
                                 "quantizers; want the float parameter\n"));
  EXPECT_THAT(run.out, HasSubstr("quantized.txt: not valid, 1 finding, 1 violation of the "
                                 "invariants of quantized programs\n"));
  EXPECT_THAT(Run({"verify", "--json", "quantized.txt"}).out,
              HasSubstr(R"(  "invariants_checked": true,
  "violations": [
    {
      "invariant": 2,)"));
}

TEST_F(Inspect, VerifySaysWhyItDoesNotCheckTheInvariants) {
  folder_.Write("frozen.txt", R"(
    var x f32[-1,3]
    var x.quantized f32[-1,3]
    var x.scale f32[1]
    var y f32[-1,3]
    fake_quantize_abs_max(X=x) -> (Out=x.quantized, OutScale=x.scale)
    relu(X=x.quantized) -> (Out=y)
  )");
  const BinaryRun run = Run({"verify", "frozen.txt"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(
      run.out,
      "note: frozen.txt: the invariants of quantized programs are not checked: block 0, op 1 "
      "(relu): reads \"x.quantized\", the codes of block 0, op 0 (fake_quantize_abs_max); want "
      "a dequantize op between them\n"
      "frozen.txt: verified, 0 findings\n");
}

TEST_F(Inspect, VerifyReadsTheStartupProgram) {
  folder_.Write("main.txt", R"(
    var x f32[-1,3]
    var w f32[3,4] persistable
    var y f32[-1,4]
    mul(X=x, Y=w) -> (Out=y)
  )");
  folder_.Write("startup.txt", R"(
    var v f32[1] persistable
    fill_constant() -> (Out=v) {shape=[1L], dtype=5, value=0.0}
  )");
  EXPECT_EQ(Run({"verify", "main.txt"}).exit_code, 0);
  const BinaryRun run = Run({"verify", "--startup=startup.txt", "main.txt"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("[uninitialized]\n"));
}

TEST_F(Inspect, DiffOfWhatIsAlikeIsSilent) {
  folder_.Write("a.txt", "relu(X=x) -> (Out=t)\ntanh(X=t) -> (Out=y)\n");
  folder_.Write("b.txt", "relu(X=x) -> (Out=s)\ntanh(X=s) -> (Out=z)\n");
  const BinaryRun run = Run({"diff", "--ignore_names", "a.txt", "b.txt"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, DiffShowsWhatIsDifferentAndEndsWithOne) {
  folder_.Write("a.txt", "relu(X=x) -> (Out=y) {op_callstack=[\"a\"]}\n");
  RunBinaryOptions options;
  options.input = "relu(X=x) -> (Out=y) {threshold=6.0, op_callstack=[\"b\"]}\n";
  const BinaryRun run = Run({"diff", "--nodebug_attributes", "a.txt", "-"}, options);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, R"(--- a.txt
+++ standard input
@@ block 0 @@
~ op 0: relu(X=x) -> (Out=y)
    attribute threshold: absent -> 6.0
)");
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, DiffCanBeStrict) {
  folder_.Write("a.txt", "relu(X=x, Y=[]) -> (Out=y)\n");
  folder_.Write("b.txt", "relu(X=x) -> (Out=y)\n");
  EXPECT_EQ(Run({"diff", "a.txt", "b.txt"}).exit_code, 0);
  EXPECT_EQ(Run({"diff", "--strict", "a.txt", "b.txt"}).exit_code, 1);
}

TEST_F(Inspect, DiffAsJson) {
  folder_.Write("a.txt", "relu(X=x) -> (Out=y)\n");
  folder_.Write("b.txt", "var v f32[1]\nscale(X=x) -> (Out=x)\nrelu(X=z) -> (Out=y)\n");
  const BinaryRun run = Run({"diff", "--json", "a.txt", "b.txt"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, R"json({
  "schema_version": 1,
  "a": "a.txt",
  "b": "b.txt",
  "alike": false,
  "differences": [
    {
      "block": 0,
      "change": "added",
      "name": "v",
      "parts": [],
      "subject": "variable",
      "text": "var v f32[1]"
    },
    {
      "block": 0,
      "change": "added",
      "index_b": 0,
      "name": "scale",
      "parts": [],
      "subject": "op",
      "text": "scale(X=x) -> (Out=x)"
    },
    {
      "block": 0,
      "change": "changed",
      "index_a": 0,
      "index_b": 1,
      "name": "relu",
      "parts": [
        {
          "after": "z",
          "before": "x",
          "what": "input X"
        }
      ],
      "subject": "op",
      "text": "relu(X=z) -> (Out=y)"
    }
  ],
  "given_up_blocks": []
}
)json");
}

TEST_F(Inspect, DotCanLeaveOutBackwardOps) {
  folder_.Write("program.txt", kProgram);
  EXPECT_THAT(Run({"dot", "program.txt"}).out, HasSubstr("mul_grad"));
  const BinaryRun run = Run({"dot", "--nobackward", "program.txt"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, StartsWith("digraph program {\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("mul_grad")));
}

TEST_F(Inspect, HelpFitsAScreen) {
  const BinaryRun run = Run({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 52);
  size_t line = 0;
  for (size_t end; (end = run.out.find('\n', line)) != std::string::npos; line = end + 1) {
    EXPECT_LE(end - line, 100) << run.out.substr(line, end - line);
  }
}

TEST_F(Inspect, WrongCommandLinesEndWithTwo) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } kCases[] = {
      {{},
       "a subcommand is missing: stats, text, verify, diff, dot, convert, cost, profile, params, "
       "ranges, rows or report"},
      {{"sats", "x"}, "unknown subcommand sats; did you mean stats?"},
      {{"quantize", "x"}, "unknown subcommand quantize"},
      {{"stats"}, "stats takes PROGRAM, and was given 0 files"},
      {{"diff", "x"}, "diff takes A B, and was given 1 file"},
      {{"text", "x", "y"}, "text takes PROGRAM, and was given 2 files"},
      {{"diff", "-", "-"}, "diff: only one of the two programs can be standard input"},
      {{"verify", "--startup=-", "-"},
       "verify: only one of the two programs can be standard input"},
      {{"text", "--strict", "x"}, "--strict is not a flag of text; it is one of diff"},
      {{"dot", "--json", "x"},
       "--json is not a flag of dot; it is one of stats, verify, diff, cost, profile and params"},
      {{"diff", "--stritc", "x", "y"}, "unknown flag --stritc; did you mean --strict?"},
      {{"stats", "--json=2", "x"}, "--json=2: want true or false"},
  };
  for (const auto& c : kCases) {
    const BinaryRun run = Run(c.arguments);
    EXPECT_EQ(run.exit_code, 2) << c.message;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, "inspect: " + c.message + "\n" + kSeeHelp);
  }
}

TEST_F(Inspect, BadProgramsEndWithThreeAndNameTheFile) {
  folder_.Write("bad.txt", "relu(X=x -> (Out=y)\n");
  folder_.Write("cycle.txt", R"(program
block 0 {
}
block 1 parent=1 {
}
)");
  const struct {
    std::string file;
    std::string message;
  } kCases[] = {
      {"nothing.pb", "nothing.pb: cannot be read: No such file or directory"},
      {".", ".: is a folder; want the file of a program"},
      {"bad.txt", "bad.txt:1:"},
      {"cycle.txt", "cycle.txt: block 1: parent_idx is 1; a parent stands before its block"},
  };
  for (const auto& c : kCases) {
    for (const char* subcommand : {"stats", "dot"}) {
      const BinaryRun run = Run({subcommand, c.file});
      EXPECT_EQ(run.exit_code, 3) << c.file;
      EXPECT_EQ(run.out, "");
      EXPECT_THAT(run.err, StartsWith("inspect: " + c.message));
    }
  }
}

TEST_F(Inspect, AnOutputThatCannotBeWrittenEndsWithFive) {
  folder_.Write("program.txt", kProgram);
  RunBinaryOptions options;
  options.output = "/dev/full";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"text", "program.txt"}, {"--help"}}) {
    const BinaryRun run = Run(arguments, options);
    EXPECT_EQ(run.exit_code, 5);
    EXPECT_EQ(run.err, "inspect: standard output: cannot be written: No space left on device\n");
  }
}

TEST_F(Inspect, StandardOutputThatIsClosedCannotBeWritten) {
  folder_.Write("program.txt", kProgram);
  RunBinaryOptions options;
  options.output = "closed";
  const BinaryRun run = Run({"text", "program.txt"}, options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err,
            "inspect: standard output: cannot be written: it is closed, or open for reading "
            "only\n");
  // A diff of what is alike writes nothing.
  EXPECT_EQ(Run({"diff", "program.txt", "program.txt"}, options).exit_code, 0);
}

TEST_F(Inspect, AReaderThatGoesAwayIsNoError) {
  folder_.Write("program.txt", kProgram);
  RunBinaryOptions options;
  options.output = "closed pipe";
  const BinaryRun run = Run({"text", "program.txt"}, options);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
}

TEST_F(Inspect, AFolderOfTheCallerThatIsGoneIsAnError) {
  RunBinaryOptions options;
  options.callers_directory = folder_.Path("gone");
  const BinaryRun run = RunBinary("tools/inspect", {"stats", "x"}, options);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err, "inspect: " + folder_.Path("gone") +
                         ": No such file or directory; it is the folder that the tool was called "
                         "from\n");
}

}  // namespace
}  // namespace fixpoint
