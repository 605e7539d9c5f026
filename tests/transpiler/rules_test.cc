#include "transpiler/plan/rules.h"

#include <gtest/gtest.h>

#include <string>

namespace fixpoint {
namespace {

TEST(GlobMatches, AllOfTheTextOrNothing) {
  EXPECT_TRUE(GlobMatches("conv2d_*.w_0", "conv2d_12.w_0"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("a*b*c", "a--b-b-c"));
  EXPECT_TRUE(GlobMatches("?", "x"));
  EXPECT_TRUE(GlobMatches("a**", "a"));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("conv2d_*.w_0", "conv2d_12.w_01"));
  EXPECT_FALSE(GlobMatches("conv", "conv2d"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_FALSE(GlobMatches("a*b*c", "a-c-b"));
  EXPECT_FALSE(GlobMatches("", "a"));
}

TEST(GlobMatches, AStarInTheTextIsAnyCharacter) {
  EXPECT_TRUE(GlobMatches("a?c", "a*c"));
  EXPECT_TRUE(GlobMatches("*c", "a*c"));
  EXPECT_FALSE(GlobMatches("abc", "a*c"));
}

// With a choice remembered for each star, this would take for ever.
TEST(GlobMatches, ManyStarsAreQuick) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(GlobMatches(pattern + "b", std::string(2000, 'a')));
  EXPECT_TRUE(GlobMatches(pattern, std::string(2000, 'a')));
}

TEST(ScopeContains, WholeComponentsInARow) {
  EXPECT_TRUE(ScopeContains("/head/fc/", "fc"));
  EXPECT_TRUE(ScopeContains("/head/fc/", "head/fc"));
  EXPECT_TRUE(ScopeContains("/head/fc/", "/head/"));
  EXPECT_FALSE(ScopeContains("/no_skip_quant_x/", "skip_quant"));
  EXPECT_FALSE(ScopeContains("/head/middle/fc/", "head/fc"));
  EXPECT_FALSE(ScopeContains("/head/", ""));
  EXPECT_FALSE(ScopeContains("", "head"));
}

}  // namespace
}  // namespace fixpoint
