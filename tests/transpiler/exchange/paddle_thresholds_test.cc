#include "transpiler/exchange/paddle_thresholds.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/text/program_text.h"
#include "tests/transpiler/exchange/ranges_fixture.h"

namespace fixpoint {
namespace {

using PaddleThresholds = LearnedRangesTest;
using PaddleThresholdsOfAffine = AffineRangesTest;

std::string ErrorOf(const std::string& ops) {
  const std::string program = absl::StrCat("var x f32[-1,2]\nvar h f32[-1,2]\nvar i i64[1]\n", ops);
  return std::string(ReadPaddleThresholds(program, "p").status().message());
}

TEST_F(PaddleThresholds, AreOnTheOpsThatWriteTheValues) {
  const auto program = WithPaddleThresholds(ranges_, program_);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(PrintOp(program->blocks(0).ops(4)),
            "relu(X=conv.out) -> (Out=h) {Out0_threshold=0.012345679, "
            "out_threshold=0.012345679}");
  // No op writes x.
  EXPECT_EQ(PrintOp(program->blocks(0).ops(0)),
            "fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=x.scale) -> "
            "(Out=x.again, OutScale=x.scale) {bit_length=8, is_test=true, "
            "X0_threshold=1.0000001}");
}

TEST_F(PaddleThresholds, ReadBackGivesTheRangesToTheBit) {
  const std::string text = PrintProgram(*WithPaddleThresholds(ranges_, program_));
  const auto profile = ReadPaddleThresholds(text, "p");
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->entries_size(), 2);
  EXPECT_EQ(profile->entries(0).variable(), "x");
  EXPECT_EQ(profile->entries(0).max(), 1.0000001f);
  EXPECT_EQ(profile->entries(0).min(), -1.0000001f);
  EXPECT_EQ(profile->entries(1).variable(), "h");
  EXPECT_EQ(profile->entries(1).max(), 0.012345679f);
  // A program that has them already gets the same again.
  const Program again = ParsedProgram(text);
  auto ranges =
      FindLearnedRanges(again, *ParseParameters(kParameters, "parameters"), QuantizerTable());
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  EXPECT_EQ(ranges->size(), ranges_.size()) << "a range that is quantized by is listed once";
  EXPECT_EQ(PrintProgram(*WithPaddleThresholds(*ranges, again)), text);
}

TEST_F(PaddleThresholdsOfAffine, AreRefused) {
  EXPECT_EQ(WithPaddleThresholds(ranges_, program_).status().message(),
            "\"h\" has a zero point, for which PaddlePaddle has no attribute");
}

// Attributes of an op's own have no number, and out_threshold is of floats.
TEST(PaddleThresholdsErrors, SayWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"relu(X=x) -> (Out=h)",
       "p: is a program, and no op of it has a range; want out_threshold or <Slot>0_threshold"},
      {"relu(X=x) -> (Out=h) {score_threshold=1.0}", "no op of it has a range"},
      {"shape(Input=x) -> (Out=i) {out_threshold=1.0}", "no op of it has a range"},
      {"relu(X=x) -> (Out=h) {out_threshold=-1.0}",
       "out_threshold: want a finite number from 0, the largest magnitude of a value"},
      {"relu(X=x) -> (Out=h) {out_threshold=\"1\"}", "out_threshold: want a finite number"},
      {"relu(X=x) -> (Out=h) {Out0_threshold=inf}", "Out0_threshold: want a finite number"},
      {"relu(X=x) -> (Out=h) {Out1_threshold=1.0}",
       "Out1_threshold: the op has no such argument; want an output or an input"},
      {"relu(X=x) -> (Out=h) {Out0_threshold=1.0, out_threshold=2.0}",
       "out_threshold: \"h\" has 2 here, and 1 by another attribute; want one range"},
      {"relu(X=x) -> (Out=h) {out_threshold=1.0}\nrelu(X=h) -> (Out=x) {X0_threshold=2.0}",
       "\"h\" has the range 2 here, and 1 by an earlier op; want one for each name"},
  };
  for (const auto& [ops, error] : cases) {
    EXPECT_NE(ErrorOf(ops).find(error), std::string::npos) << ops << "\n" << ErrorOf(ops);
  }
}

TEST(PaddleThresholdsFiles, AreProgramsInAnyForm) {
  EXPECT_TRUE(LooksLikeProgram("# a comment\n\nprogram version=1\n"));
  EXPECT_TRUE(LooksLikeProgram("var x f32[1]\n"));
  EXPECT_TRUE(LooksLikeProgram("blocks { idx: 0 parent_idx: -1 }\n"));
  EXPECT_TRUE(LooksLikeProgram(absl::string_view("\x0a\x04\x08\x00\x10\x00", 6)));
  EXPECT_TRUE(LooksLikeProgram("\x1f\x8b"));
  EXPECT_FALSE(LooksLikeProgram("program_hash: 1\n"));
  EXPECT_FALSE(LooksLikeProgram("entries { variable: \"x\" }\n"));
  EXPECT_FALSE(LooksLikeProgram(""));
}

TEST(ObservedRanges, AreListedWithoutCodes) {
  const Program program = ParsedProgram(R"(
var x f32[-1,2]
var h f32[-1,2]
var g f32[-1,2]
var s f32[1] persistable
relu(X=x) -> (Out=h)
moving_average_abs_max_scale(X=h) -> (OutScale=s) {is_test=true}
tanh(X=h) -> (Out=g) {out_threshold=0.5}
)");
  const auto ranges =
      FindLearnedRanges(program, *ParseParameters("s f32[1] 3\n", "s"), QuantizerTable());
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 2);
  EXPECT_EQ(ranges->at(0).variable(), "h");
  EXPECT_TRUE(ranges->at(0).is_observed);
  EXPECT_EQ(ranges->at(0).scales, std::vector<float>{3});
  EXPECT_EQ(ranges->at(1).variable(), "g");
  EXPECT_EQ(ranges->at(1).Max(0), 0.5f);
  EXPECT_EQ(ranges->at(1).Min(0), -0.5f);
}

}  // namespace
}  // namespace fixpoint
