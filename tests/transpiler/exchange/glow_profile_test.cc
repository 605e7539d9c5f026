#include "transpiler/exchange/glow_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/transpiler/exchange/ranges_fixture.h"

namespace fixpoint {
namespace {

using GlowProfile = AffineRangesTest;

constexpr char kHead[] = "---\nGlowToolsVersion: '1'\n...\n---\nGraphPreLowerHash: 0x0\n...\n---\n";

std::string ErrorOf(const std::string& text) {
  return std::string(ReadGlowProfile(text, "p.yaml").status().message());
}

TEST_F(GlowProfile, IsThreeDocuments) {
  const auto text = WriteGlowProfile(ranges_);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, std::string(kHead) +
                       "- NodeOutputName: 'x:0'\n"
                       "  Min: -1.0000001\n"
                       "  Max: 1.0000001\n"
                       "  Histogram: [ ]\n"
                       "- NodeOutputName: 'h:0'\n"
                       "  Min: -0.037037037\n"
                       "  Max: 3.1111112\n"
                       "  Histogram: [ ]\n"
                       "...\n");
}

TEST_F(GlowProfile, ReadBackGivesTheRangesToTheBit) {
  const auto profile = ReadGlowProfile(*WriteGlowProfile(ranges_), "p.yaml");
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->entries_size(), 2);
  EXPECT_EQ(profile->entries(0).variable(), "x");
  EXPECT_EQ(profile->entries(0).max(), 1.00000012f);
  EXPECT_EQ(profile->entries(1).variable(), "h");
  EXPECT_EQ(profile->entries(1).min(), ranges_[2].Min(0));
  EXPECT_EQ(profile->entries(1).max(), ranges_[2].Max(0));
}

TEST(GlowProfileText, OfGlowIsRead) {
  const auto profile = ReadGlowProfile(
      std::string(kHead) +
          "- NodeOutputName:  'it''s:0'\n  Min:             -0.5\n  Max:             2\n"
          "  Histogram:       [ 1, 0, 2 ]\n...\n",
      "p.yaml");
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->entries_size(), 1);
  EXPECT_EQ(profile->entries(0).variable(), "it's");
  EXPECT_EQ(profile->entries(0).min(), -0.5f);
}

TEST(GlowProfileText, ThatIsWrongIsRefusedAtItsPlace) {
  const std::string head = kHead;
  EXPECT_EQ(ErrorOf("---\nGlowToolsVersion: '1'\n"),
            "p.yaml: documents: 1; want three, with GlowToolsVersion, with GraphPreLowerHash, "
            "and a list of ranges, as Glow's -dump-profile writes them");
  EXPECT_EQ(ErrorOf(head + "- NodeOutputName: 'x'\n  Min: 0\n  Max: 1\n"),
            "p.yaml:8:19: NodeOutputName: got \"x\"; want a variable's name and its only output, "
            "as in \"conv2d_0.tmp_0:0\"");
  EXPECT_EQ(ErrorOf(head + "- NodeOutputName: 'x:0'\n  Min: 0\n"),
            "p.yaml:8:3: a node's range has no Max");
  EXPECT_EQ(ErrorOf(head + "- NodeOutputName: 'x:0'\n  Min: 2\n  Max: 1\n"),
            "p.yaml:10:8: Max 1 is below Min 2");
  EXPECT_EQ(ErrorOf(head + "- NodeOutputName: 'x:0'\n  Min: .nan\n  Max: 1\n"),
            "p.yaml:9:8: Min: got .nan; want a finite number");
  EXPECT_EQ(ErrorOf(head + "- {NodeOutputName: 'x:0', Min: 0, Max: 1, Histogram: [-1]}\n"),
            "p.yaml:8:55: Histogram: a count of -1");
  EXPECT_EQ(ErrorOf(head + "- {NodeOutputName: 'x:0', Min: 0, Max: 1}\n"
                           "- {NodeOutputName: 'x:0', Min: 0, Max: 1}\n"),
            "p.yaml:9:3: \"x\" is there twice");
  EXPECT_EQ(
      ErrorOf(head + "- {NodeOutputName: 'x:0', Mean: 0}\n"),
      "p.yaml:8:27: \"Mean\" is no field of a node's range; there are NodeOutputName, Min, Max, "
      "Histogram");
}

}  // namespace
}  // namespace fixpoint
