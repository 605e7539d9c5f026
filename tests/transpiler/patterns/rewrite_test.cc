// Rewrites beside what comes before and after them; what patterns do is in tests/golden/rewrite.

#include "transpiler/patterns/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/pattern_pass.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

using testing::HasSubstr;

constexpr char kNet[] = R"(program version=2006002
block 0 {
  var x f32[-1,4]
  var w f32[4,4] persistable
  var a f32[-1,4]
  var s f32[-1,4]
  var y f32[-1,4]
  var l f32[1]
  matmul_v2(X=x, Y=w) -> (Out=a)
  sigmoid(X=a) -> (Out=s)
  elementwise_mul(X=a, Y=s) -> (Out=y)
  mean(X=y) -> (Out=l)
}
)";

std::vector<Pattern> Patterns(const std::string& name) { return LoadPatterns(name).value(); }

std::string Bytes(const Program& program) { return program.Proto().SerializeAsString(); }

TEST(Rewrite, QuantizingTheResultIsUndoneBeforeTheRewrite) {
  Program program = ParsedProgram(kNet);
  const std::string original = Bytes(program);
  ASSERT_TRUE(Rewrite(&program, Patterns("swish")).ok());
  const std::string rewritten = Bytes(program);
  const auto transpiled = Transpile(&program);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  EXPECT_EQ(transpiled->left_alone, "");
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(Bytes(program), rewritten);
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(Bytes(program), original);
}

TEST(Rewrite, PatternsArePassesOfATranspile) {
  const std::vector<Pattern> patterns = Patterns("swish");
  PassTable passes = TrainPasses();
  ASSERT_TRUE(AddPatternPasses(patterns, &passes).ok());
  for (const std::string name : {"swish", "apply_patterns"}) {
    TranspileOptions options;
    options.passes = &passes;
    options.pipeline = absl::StrCat(name, ",", kTrainPipeline);
    Program program = ParsedProgram(kNet);
    const std::string original = Bytes(program);
    const auto transpiled = Transpile(&program, options);
    ASSERT_TRUE(transpiled.ok()) << transpiled.status();
    EXPECT_THAT(transpiled->notes, testing::Contains(absl::StrCat(name, ": replaced 1 match")));
    ASSERT_TRUE(Untranspile(&program).ok());
    EXPECT_EQ(Bytes(program), original);
  }
}

TEST(Rewrite, WithoutTheEditLogThereIsNoWayBack) {
  Program program = ParsedProgram(kNet);
  ASSERT_TRUE(Rewrite(&program, Patterns("swish")).ok());
  program.ClearEditLog();
  const std::string rewritten = Bytes(program);
  EXPECT_THAT(std::string(Untranspile(&program).message()),
              HasSubstr("block 0, op 1 (swish): stands in place of ops that the pattern swish "
                        "replaced, and the edit log that has them is gone"));
  EXPECT_EQ(Bytes(program), rewritten);
}

TEST(Rewrite, AfterAnErrorTheProgramIsAsBefore) {
  const auto patterns = ParsePatterns(
      "pattern one \"One way.\"\nbefore:\n  sigmoid(X=x) -> (Out=y)\n"
      "after:\n  tanh(X=x) -> (Out=y)\n"
      "pattern other \"The other.\"\nbefore:\n  tanh(X=x) -> (Out=y)\n"
      "after:\n  sigmoid(X=x) -> (Out=y)\n",
      "p.txt");
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  Program program = ParsedProgram(kNet);
  const std::string original = Bytes(program);
  const auto report = Rewrite(&program, *patterns);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(report.status().message()),
              HasSubstr("patterns \"one\", \"other\" still match after 32 rounds"));
  EXPECT_EQ(Bytes(program), original);
}

TEST(Rewrite, BeforeOrAfterTheBackwardPassIsTheSame) {
  Program before = ParsedProgram(kNet);
  ASSERT_TRUE(Rewrite(&before, Patterns("swish")).ok());
  before.ClearEditLog();
  ASSERT_TRUE(AppendBackward(&before, "l").ok());
  Program after = ParsedProgram(kNet);
  ASSERT_TRUE(AppendBackward(&after, "l").ok());
  ASSERT_TRUE(Rewrite(&after, Patterns("swish")).ok());
  std::vector<std::string> types_before;
  std::vector<std::string> types_after;
  for (const Op& op : before.ops()) types_before.push_back(op.type());
  for (const Op& op : after.ops()) types_after.push_back(op.type());
  EXPECT_EQ(types_after, types_before);
}

// c1 = c0 + c0, c2 = c1 + c1 and so on: each constant is found once, not on each of its paths.
TEST(Rewrite, ConstantsThatAreReadTwiceTakeNoLonger) {
  constexpr int kSums = 60;
  std::string vars;
  std::string sums = "  fill_constant() -> (Out=c0) {dtype=5, shape=[1L], value=1.0}\n";
  for (int i = 0; i <= kSums; ++i) {
    absl::StrAppend(&vars, "  var c", i, " f32[1] stop_gradient\n");
    if (i == 0) continue;
    absl::StrAppend(&sums, "  elementwise_add(X=c", i - 1, ", Y=c", i - 1, ") -> (Out=c", i, ")\n");
  }
  const std::string product = absl::StrCat("  elementwise_mul(X=x, Y=c", kSums, ") -> (Out=y)\n");
  Program program =
      ParsedProgram(absl::StrCat("program version=2006002\nblock 0 {\n"
                                 "  var x f32[1] persistable\n  var y f32[1]\n  var l f32[1]\n",
                                 vars, sums, product, "  mean(X=y) -> (Out=l)\n}\n"));
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  const auto patterns =
      ParsePatterns(absl::StrCat("pattern p \"A factor of ones.\"\nbefore:\n", sums, product,
                                 "after:\n  scale(X=x) -> (Out=y) {scale=2.0, bias=0.0}\n"),
                    "p.txt");
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  const auto report = Rewrite(&program, *patterns);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->replaced.size(), 1);
  EXPECT_EQ(report->replaced[0].ops_before, kSums + 2);
}

// Each replacement makes the next match, in a round of its own if that were not found: more than
// there may be.
TEST(Rewrite, FindsWhatAReplacementMakes) {
  constexpr int kRelus = 2 * kMostRewriteRounds;
  const auto patterns = ParsePatterns(
      "pattern p \"First the relu.\"\nbefore:\n  ceil(X=x) -> (Out=s)\n  relu(X=s) -> (Out=y)\n"
      "after:\n  relu(X=x) -> (Out=t)\n  ceil(X=t) -> (Out=y)\n",
      "p.txt");
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  // In the larger program there is little around what is replaced.
  for (const int others : {0, 5000}) {
    std::string text =
        "program version=2006002\nblock 0 {\n  var x f32[4]\n  var v0 f32[4]\n"
        "  var u f32[4]\n  var z f32[4]\n";
    std::string ops = "  ceil(X=x) -> (Out=v0)\n";
    for (int i = 1; i <= kRelus; ++i) {
      absl::StrAppend(&text, "  var v", i, " f32[4]\n");
      absl::StrAppend(&ops, "  relu(X=v", i - 1, ") -> (Out=v", i, ")\n");
    }
    for (int i = 0; i < others; ++i) absl::StrAppend(&ops, "  relu(X=u) -> (Out=z)\n");
    Program program = ParsedProgram(absl::StrCat(text, ops, "}\n"));
    const auto report = Rewrite(&program, *patterns);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->replaced.size(), kRelus) << others;
  }
}

// The second pattern removes a reader, and nothing is inserted where that was; then the first one
// matches, in the next round, and what that makes is found in a third one.
TEST(Rewrite, FindsWhatARemovalMakes) {
  const auto patterns = ParsePatterns(
      "pattern third \"In the last round.\"\nbefore:\n  cos(X=x) -> (Out=y)\n"
      "after:\n  tanh(X=x) -> (Out=y)\n"
      "pattern first \"Of one reader.\"\nbefore:\n  ceil(X=x) -> (Out=y)\n"
      "where:\n  readers(x) == 1\nafter:\n  cos(X=x) -> (Out=y)\n"
      "pattern second \"Without floor.\"\n"
      "before:\n  floor(X=x) -> (Out=s)\n  relu(X=s) -> (Out=y)\n"
      "after:\n  fill_constant() -> (Out=y) {dtype=5, shape=[4L], value=0.0}\n",
      "p.txt");
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  std::string text =
      "program version=2006002\nblock 0 {\n  var x f32[4]\n  var a f32[4]\n  var s f32[4]\n"
      "  var b f32[4]\n  var u f32[4]\n  var z f32[4]\n"
      "  ceil(X=x) -> (Out=a)\n  floor(X=x) -> (Out=s)\n  relu(X=s) -> (Out=b)\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "  ceil(X=u) -> (Out=z)\n");
  Program program = ParsedProgram(absl::StrCat(text, "}\n"));
  const auto report = Rewrite(&program, *patterns);
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> applied;
  for (const ReplacedMatch& match : report->replaced) applied.push_back(match.pattern);
  EXPECT_THAT(applied, testing::ElementsAre("second", "first", "third"));
}

TEST(Rewrite, ReadersOfOtherTypesArePassedOver) {
  constexpr int kOthers = 5000;
  std::string text =
      "program version=2006002\nblock 0 {\n"
      "  var x f32[4]\n  var s f32[4]\n  var t f32[4]\n  var y f32[4]\n  var z f32[4]\n"
      "  sigmoid(X=x) -> (Out=s)\n";
  for (int i = 0; i < kOthers; ++i) absl::StrAppend(&text, "  exp(X=s) -> (Out=z)\n");
  absl::StrAppend(&text, "  tanh(X=s) -> (Out=t)\n  relu(X=s) -> (Out=y)\n}\n");
  Program program = ParsedProgram(text);
  const auto patterns = ParsePatterns(
      "pattern p \"Two of the readers.\"\nbefore:\n  sigmoid(X=x) -> (Out=s)\n"
      "  tanh(X=s) -> (Out=t)\n  relu(X=s) -> (Out=y)\n"
      "after:\n  sigmoid(X=x) -> (Out=s)\n  relu(X=s) -> (Out=y)\n  tanh(X=y) -> (Out=t)\n",
      "p.txt");
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  RewriteOptions options;
  options.explain = true;
  const auto report = Rewrite(&program, *patterns, options);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->near_matches.size(), 1);
  EXPECT_THAT(report->near_matches[0].reason,
              HasSubstr("Out is read by block 0, op 1 (exp), which stands before the last op"));
}

}  // namespace
}  // namespace fixpoint
