#include "ops/value_flow.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

// Of an op from y to z, both FP32.
bool KeepsAxis(int axis, const std::string& y, const std::string& z, const std::string& op) {
  const Program program =
      ProgramFromText(absl::StrCat("program version=2006002\nblock 0 {\nvar y f32", y,
                                   "\nvar z f32", z, "\nvar i i32[2]\n", op, "\n}"));
  return KeepsChannels(*program.ops().begin(), axis, EraOf(program));
}

TEST(KeepsChannels, HoldsOfMaximaOfImages) {
  const std::string windows = "strides=[1, 1], paddings=[1, 1], ksize=[3, 3]";
  const std::string maxima =
      absl::StrCat(R"(pool2d(X=y) -> (Out=z) {pooling_type="max", )", windows, "}");
  EXPECT_TRUE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,6,6]", maxima));
  EXPECT_FALSE(KeepsAxis(3, "[-1,4,6,6]", "[-1,4,6,6]", maxima));
  const std::string of_last = absl::StrCat(
      R"(pool2d(X=y) -> (Out=z) {pooling_type="max", data_format="NHWC", )", windows, "}");
  EXPECT_TRUE(KeepsAxis(3, "[-1,6,6,4]", "[-1,6,6,4]", of_last));
  EXPECT_FALSE(KeepsAxis(1, "[-1,6,6,4]", "[-1,6,6,4]", of_last));
  EXPECT_FALSE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,6,6]",
                         R"(pool2d(X=y) -> (Out=z) {pooling_type="avg", ksize=[1, 1]})"));
}

TEST(KeepsChannels, HoldsOfPartsAndCopiesAlongOtherAxes) {
  const std::string part =
      "slice(Input=y) -> (Out=z) {axes=[3], starts=[0], ends=[3], infer_flags=[1]}";
  EXPECT_TRUE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,6,3]", part));
  EXPECT_FALSE(KeepsAxis(3, "[-1,4,6,6]", "[-1,4,6,3]", part));
  const std::string wider = "nearest_interp(X=y) -> (Out=z) {out_h=12, out_w=12}";
  EXPECT_TRUE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,12,12]", wider));
}

// A reshape to other dimensions takes what they lack from the batch, or gives it to it.
TEST(KeepsChannels, DoesNotHoldOfReshapesOfABatchThatIsNotKnown) {
  for (const std::string to : {"[-1,4,6,6]", "[-1,4,6,3]", "[-1,4,9,2]", "[-1,4,1,1]"}) {
    const std::string reshape = absl::StrCat("reshape(X=y) -> (Out=z) {shape=", to, "}");
    EXPECT_FALSE(KeepsAxis(1, "[-1,4,6,3]", to, reshape)) << to;
  }
  EXPECT_FALSE(KeepsAxis(1, "[4,4,6,3]", "[2,4,6,6]", "reshape(X=y) -> (Out=z) {shape=[2,4,6,6]}"));
  EXPECT_FALSE(KeepsAxis(1, "[-1,4,6,3]", "[-1,4,6,6]",
                         "reshape2(X=y, Shape=i) -> (Out=z) {shape=[-1,4,6,6]}"));
}

TEST(KeepsChannels, HoldsOfPaddingOfImages) {
  const std::string images = "pad2d(X=y) -> (Out=z) {paddings=[1, 1, 0, 0]";
  EXPECT_TRUE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,8,6]", absl::StrCat(images, "}")));
  EXPECT_FALSE(KeepsAxis(3, "[-1,4,6,6]", "[-1,4,8,6]", absl::StrCat(images, "}")));
  EXPECT_FALSE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,8,6]", absl::StrCat(images, ", pad_value=1.0}")));
  const std::string volumes =
      R"(pad3d(X=y) -> (Out=z) {paddings=[1, 1, 0, 0, 0, 0], data_format="NDHWC"})";
  EXPECT_TRUE(KeepsAxis(4, "[-1,6,6,6,4]", "[-1,6,6,8,4]", volumes));
  EXPECT_FALSE(KeepsAxis(1, "[-1,6,6,6,4]", "[-1,6,6,8,4]", volumes));
}

// It may take from one end of the channels what it adds to the other.
TEST(KeepsChannels, DoesNotHoldOfPaddingOfAnyAxis) {
  EXPECT_FALSE(KeepsAxis(1, "[-1,4,6,6]", "[-1,4,8,6]",
                         "pad(X=y) -> (Out=z) {paddings=[0, 0, 1, -1, 1, 1, 0, 0]}"));
}

TEST(KeepsChannels, DoesNotHoldOfOtherOrders) {
  EXPECT_FALSE(KeepsAxis(1, "[-1,6,6]", "[-1,6,6]", "transpose(X=y) -> (Out=z) {axis=[0, 2, 1]}"));
  EXPECT_FALSE(KeepsAxis(1, "[-1,4,6]", "[-1,4,6]", "shuffle_channel(X=y) -> (Out=z) {group=2}"));
  EXPECT_FALSE(KeepsAxis(1, "[-1,2]", "[-1,2]", "gather(X=y, Index=i) -> (Out=z) {axis=1}"));
}

}  // namespace
}  // namespace fixpoint
