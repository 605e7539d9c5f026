#include "proto/base/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fixpoint {
namespace {

TEST(NearestName, TakesTheFewestEdits) {
  const std::vector<std::string> names = {"stats", "text", "diff", "dot", "verify"};
  EXPECT_EQ(NearestName("stat", names), "stats");
  EXPECT_EQ(NearestName("dif", names), "diff");
  EXPECT_EQ(NearestName("tetx", names), "text");
  EXPECT_EQ(NearestName("vrefiy", names), "verify");
  EXPECT_EQ(NearestName("dott", names), "dot");
  EXPECT_EQ(NearestName("vrfy", names), "verify");
}

TEST(NearestName, TheFirstOfEqualsIsTaken) { EXPECT_EQ(NearestName("w_3", {"w_1", "w_2"}), "w_1"); }

TEST(NearestName, WhereNothingIsNearWhatGoesOnAfterTheNameIsTaken) {
  EXPECT_EQ(NearestName("w_3", {"conv2d_0.tmp_0", "w_3.w_0@GRAD", "w_3.w_0", "w_30000"}),
            "w_3.w_0");
  EXPECT_EQ(NearestName("w_3", {"w_30000", "fc.w_3.w_0"}), "");
}

TEST(NearestName, IsEmptyWhereNothingIsNear) {
  EXPECT_EQ(NearestName("optimize", {"stats", "text"}), "");
  EXPECT_EQ(NearestName("", {"stats"}), "");
  EXPECT_EQ(NearestName("x", {"y"}), "");
  EXPECT_EQ(NearestName("stats", {}), "");
  EXPECT_EQ(NearestName(std::string(257, 'x'), {std::string(257, 'x')}), "");
}

TEST(NearestName, ASwapOfNeighboursIsOneEdit) {
  EXPECT_EQ(NearestName("dto", {"dot"}), "dot");
  EXPECT_EQ(NearestName("tod", {"dot"}), "");
}

TEST(NearestName, DidYouMeanIsTheEndOfAMessage) {
  EXPECT_EQ(DidYouMean("stat", {"stats"}), "; did you mean stats?");
  EXPECT_EQ(DidYouMean("nothing", {"stats"}), "");
}

TEST(OfferNames, NamesThoseThatThereAreWhereNoneIsNear) {
  EXPECT_EQ(OfferNames("imag", {"image", "label"}), "; did you mean image?");
  EXPECT_EQ(OfferNames("x", {"image", "label"}), "; there are image, label");
  EXPECT_EQ(OfferNames("x", {"image"}), "; there is image");
  EXPECT_EQ(OfferNames("x", {}), "");
}

TEST(FirstNames, SaysHowManyAreLeftOut) {
  EXPECT_EQ(FirstNames({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(FirstNames({"a", "b", "c", "d", "e"}), "a, b, c and 2 more");
  EXPECT_EQ(FirstNames({"a", "b"}, 1), "a and 1 more");
}

}  // namespace
}  // namespace fixpoint
