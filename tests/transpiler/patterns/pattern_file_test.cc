// Built-in patterns, and what a pattern's names stand for. Mistakes are cases of
// tests/hostile/cases/patterns.txt.

#include "transpiler/patterns/pattern_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace fixpoint {
namespace {

using Kind = PatternValue::Kind;

TEST(PatternFile, AllBuiltInPatternsLoadAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const std::string& file : BuiltInPatternFiles()) {
    const auto patterns = LoadPatterns(file);
    ASSERT_TRUE(patterns.ok()) << patterns.status();
    for (const Pattern& pattern : *patterns) {
      EXPECT_TRUE(names.insert(pattern.name).second) << pattern.name << " of " << file;
    }
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"fc_relu", "swish", "gelu", "layer_norm"}));
}

TEST(PatternFile, NamesStandForCapturesResultsAndTheRest) {
  const auto patterns = ParsePatterns(
      "pattern p \"A product.\"\n"
      "before:\n"
      "  var w f32[-1,4] persistable\n"
      "  mul(X=x, Y=w) -> (Out=t) {x_num_col_dims=\"$c\"}\n"
      "  relu(X=t) -> (Out=y)\n"
      "after:\n"
      "  mul(X=x, Y=w) -> (Out=u) {x_num_col_dims=\"$c\"}\n"
      "  tanh(X=u) -> (Out=y)\n",
      "p.txt");
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  const Pattern& pattern = patterns->front();
  std::vector<std::pair<std::string, Kind>> kinds;
  for (const PatternValue& value : pattern.values) kinds.emplace_back(value.name, value.kind);
  EXPECT_THAT(kinds, testing::UnorderedElementsAre(
                         testing::Pair("x", Kind::kCapture), testing::Pair("w", Kind::kCapture),
                         testing::Pair("t", Kind::kInner), testing::Pair("y", Kind::kResult),
                         testing::Pair("u", Kind::kMade)));
  EXPECT_THAT(pattern.variables, testing::ElementsAre("$c"));
  EXPECT_EQ(pattern.root().type, "relu");
  EXPECT_EQ(pattern.before[0].line, 4);
}

TEST(PatternFile, AFileIsToldFromABuiltInNameByItsPath) {
  EXPECT_TRUE(IsPatternFile("mine.txt"));
  EXPECT_TRUE(IsPatternFile("patterns/mine"));
  EXPECT_FALSE(IsPatternFile("fc"));
}

}  // namespace
}  // namespace fixpoint
