#include "proto/diff/sequence_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace fixpoint {

bool operator==(const AlignedPair& x, const AlignedPair& y) {
  return x.a == y.a && x.b == y.b && x.level == y.level;
}

void PrintTo(const AlignedPair& pair, std::ostream* out) {
  *out << pair.a << "-" << pair.b << "@" << pair.level;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each letter is a key.
LevelKeys Letters(const std::string& a, const std::string& b) {
  return {{a.begin(), a.end()}, {b.begin(), b.end()}};
}

// What the alignment keeps of a.
std::string Kept(const std::string& a, const SequenceAlignment& alignment) {
  std::string kept;
  for (const AlignedPair& pair : alignment.pairs) kept += a[pair.a];
  return kept;
}

// The length of a longest common subsequence, by the textbook's quadratic table.
int LongestCommonLength(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> best(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      best[i][j] =
          a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

TEST(SequenceAlignment, EmptySequencesHaveNoPairs) {
  EXPECT_THAT(AlignSequences({Letters("", "")}).pairs, IsEmpty());
  EXPECT_THAT(AlignSequences({Letters("ab", "")}).pairs, IsEmpty());
  EXPECT_THAT(AlignSequences({Letters("", "ab")}).pairs, IsEmpty());
  EXPECT_TRUE(AlignSequences({Letters("", "ab")}).complete);
}

TEST(SequenceAlignment, EqualSequencesArePairedElementByElement) {
  EXPECT_THAT(AlignSequences({Letters("aabab", "aabab")}).pairs,
              ElementsAre(AlignedPair{0, 0, 0}, AlignedPair{1, 1, 0}, AlignedPair{2, 2, 0},
                          AlignedPair{3, 3, 0}, AlignedPair{4, 4, 0}));
}

TEST(SequenceAlignment, AnInsertionLeavesTheRestPaired) {
  EXPECT_THAT(AlignSequences({Letters("abc", "abXc")}).pairs,
              ElementsAre(AlignedPair{0, 0, 0}, AlignedPair{1, 1, 0}, AlignedPair{2, 3, 0}));
}

TEST(SequenceAlignment, OfAnElementThatMovedOneSideIsKept) {
  EXPECT_EQ(Kept("abcdX", AlignSequences({Letters("abcdX", "Xabcd")})), "abcd");
}

TEST(SequenceAlignment, WhatIsAlikeAtAStricterLevelIsPairedFirst) {
  // By type (the looser level) the first a of a could be the first of b.
  EXPECT_THAT(AlignSequences({Letters("1", "21"), Letters("a", "aa")}).pairs,
              ElementsAre(AlignedPair{0, 1, 0}));
}

TEST(SequenceAlignment, WhatIsAlikeOnlyAtALooserLevelIsPairedBetween) {
  EXPECT_THAT(AlignSequences({Letters("1x3", "1y3"), Letters("aba", "aba")}).pairs,
              ElementsAre(AlignedPair{0, 0, 0}, AlignedPair{1, 1, 1}, AlignedPair{2, 2, 0}));
}

TEST(SequenceAlignment, EditScriptsAreShortestWhereNoKeyIsUnique) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string a, b;
    for (int i = 0; i < 6; ++i) {
      for (const char* piece : {"ab", "ba", "aab", "bbc", "cca"}) {
        if (random() % 2 == 0) a += piece;
        if (random() % 2 == 0) b += piece;
      }
    }
    // Every letter several times at each end, so that nothing is trimmed and nothing unique.
    a = "abc" + a + "aabbcc";
    b = "cba" + b + "bbccaa";
    const SequenceAlignment alignment = AlignSequences({Letters(a, b)});
    ASSERT_TRUE(alignment.complete);
    AlignedPair last = {-1, -1, 0};
    for (const AlignedPair& pair : alignment.pairs) {
      ASSERT_EQ(a[pair.a], b[pair.b]);
      ASSERT_LT(last.a, pair.a);
      ASSERT_LT(last.b, pair.b);
      last = pair;
    }
    ASSERT_EQ(static_cast<int>(alignment.pairs.size()), LongestCommonLength(a, b)) << a << " " << b;
  }
}

TEST(SequenceAlignment, SequencesWithTooLittleInCommonAreGivenUp) {
  std::string a, b;
  for (int i = 0; i < kLongestEditScript; ++i) {
    a += "xy";
    b += "zw";
  }
  const SequenceAlignment alignment = AlignSequences({Letters(a, b)});
  EXPECT_THAT(alignment.pairs, IsEmpty());
  EXPECT_FALSE(alignment.complete);
}

TEST(SequenceAlignment, AGivenUpStretchDoesNotHideWhatIsAlikeAroundIt) {
  std::string a, b;
  for (int i = 0; i < kLongestEditScript; ++i) {
    a += "xy";
    b += "zw";
  }
  const std::string left = "123", right = "456";
  const SequenceAlignment alignment =
      AlignSequences({Letters(left + a + "7" + a + right, left + b + "7" + b + right)});
  EXPECT_EQ(Kept(left + a + "7" + a + right, alignment), "1237456");
  EXPECT_FALSE(alignment.complete);
}

TEST(SequenceAlignment, LongSequencesOfFewKeysTakeBoundedTime) {
  LevelKeys keys;
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    keys.a.push_back(random() % 20);
    keys.b.push_back(random() % 20);
  }
  EXPECT_FALSE(AlignSequences({keys, keys, keys}).complete);
}

}  // namespace
}  // namespace fixpoint
