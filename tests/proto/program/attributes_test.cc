#include "proto/program/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

OpDesc OpWith(const OpDesc::Attr& attr) {
  OpDesc op;
  *op.add_attrs() = attr;
  return op;
}

OpDesc::Attr Of(AttrType type) {
  OpDesc::Attr attr;
  attr.set_name("a");
  attr.set_type(type);
  return attr;
}

TEST(Attributes, AreFoundByName) {
  OpDesc op;
  *op.add_attrs() = MakeIntAttr("groups", 2);
  *op.add_attrs() = MakeStringAttr("data_format", "NHWC");
  EXPECT_EQ(FindAttr(op, "data_format"), &op.attrs(1));
  EXPECT_EQ(FindAttr(op, "strides"), nullptr);
  EXPECT_EQ(IntAttr(op, "strides"), std::nullopt);
}

TEST(Attributes, ReadWhatWasMade) {
  EXPECT_THAT(IntAttr(OpWith(MakeIntAttr("a", -7)), "a"), Optional(-7));
  EXPECT_THAT(IntAttr(OpWith(MakeLongAttr("a", 1LL << 40)), "a"), Optional(1LL << 40));
  EXPECT_THAT(FloatAttr(OpWith(MakeFloatAttr("a", 0.9f)), "a"), Optional(double{0.9f}));
  EXPECT_THAT(BoolAttr(OpWith(MakeBoolAttr("a", true)), "a"), Optional(true));
  EXPECT_THAT(StringAttr(OpWith(MakeStringAttr("a", "SAME")), "a"), Optional(Eq("SAME")));
  EXPECT_THAT(IntsAttr(OpWith(MakeIntsAttr("a", {1, 2})), "a"), Optional(ElementsAre(1, 2)));
  EXPECT_THAT(IntsAttr(OpWith(MakeLongsAttr("a", {-1, 3})), "a"), Optional(ElementsAre(-1, 3)));
  EXPECT_THAT(FloatsAttr(OpWith(MakeFloatsAttr("a", {.5f})), "a"), Optional(ElementsAre(.5)));
  EXPECT_THAT(StringsAttr(OpWith(MakeStringsAttr("a", {"w", "w@GRAD"})), "a"),
              Optional(ElementsAre("w", "w@GRAD")));
}

TEST(Attributes, AnEmptyListIsAList) {
  EXPECT_THAT(IntsAttr(OpWith(MakeIntsAttr("a", {})), "a"), Optional(IsEmpty()));
  EXPECT_EQ(StringsAttr(OpWith(MakeIntsAttr("a", {})), "a"), std::nullopt);
}

TEST(Attributes, IntegersWidenToFloat) {
  EXPECT_THAT(FloatAttr(OpWith(MakeIntAttr("max_range", 127)), "max_range"), Optional(127.0));
  EXPECT_THAT(FloatAttr(OpWith(MakeLongAttr("a", 1LL << 53)), "a"), Optional(9007199254740992.0));
  EXPECT_THAT(FloatsAttr(OpWith(MakeIntsAttr("a", {3})), "a"), Optional(ElementsAre(3.0)));
  EXPECT_THAT(FloatsAttr(OpWith(MakeLongsAttr("a", {4})), "a"), Optional(ElementsAre(4.0)));
}

TEST(Attributes, AnIntReadsAsBool) {
  EXPECT_THAT(BoolAttr(OpWith(MakeIntAttr("is_test", 1)), "is_test"), Optional(true));
  EXPECT_THAT(BoolAttr(OpWith(MakeIntAttr("is_test", 0)), "is_test"), Optional(false));
}

TEST(Attributes, DoublesRead) {
  OpDesc::Attr one = Of(FLOAT64);
  one.set_float64(0.1);
  EXPECT_THAT(FloatAttr(OpWith(one), "a"), Optional(0.1));
  OpDesc::Attr list = Of(FLOAT64S);
  list.add_float64s(0.2);
  EXPECT_THAT(FloatsAttr(OpWith(list), "a"), Optional(ElementsAre(0.2)));
}

TEST(Attributes, NothingNarrowsOrCrossesKinds) {
  EXPECT_EQ(IntAttr(OpWith(MakeFloatAttr("a", 1)), "a"), std::nullopt);
  EXPECT_EQ(IntAttr(OpWith(MakeBoolAttr("a", true)), "a"), std::nullopt);
  EXPECT_EQ(FloatAttr(OpWith(MakeBoolAttr("a", true)), "a"), std::nullopt);
  EXPECT_EQ(BoolAttr(OpWith(MakeLongAttr("a", 1)), "a"), std::nullopt);
  EXPECT_EQ(IntsAttr(OpWith(MakeIntAttr("a", 1)), "a"), std::nullopt);
  EXPECT_EQ(IntsAttr(OpWith(MakeFloatsAttr("a", {1})), "a"), std::nullopt);
  EXPECT_EQ(StringAttr(OpWith(MakeStringsAttr("a", {"x"})), "a"), std::nullopt);
  EXPECT_EQ(IntAttr(OpWith(Of(VAR)), "a"), std::nullopt);
  EXPECT_EQ(IntsAttr(OpWith(Of(VARS)), "a"), std::nullopt);
  EXPECT_EQ(IntAttr(OpWith(Of(BLOCK)), "a"), std::nullopt);
}

TEST(Attributes, MadeOnesHaveTheWireKindOfTheirName) {
  EXPECT_EQ(MakeIntAttr("a", 1).ShortDebugString(), R"(name: "a" type: INT i: 1)");
  EXPECT_EQ(MakeLongAttr("a", 1).ShortDebugString(), R"(name: "a" type: LONG l: 1)");
  EXPECT_EQ(MakeFloatsAttr("a", {1, 2}).ShortDebugString(),
            R"(name: "a" type: FLOATS floats: 1 floats: 2)");
  EXPECT_EQ(MakeLongsAttr("a", {1}).ShortDebugString(), R"(name: "a" type: LONGS longs: 1)");
}

}  // namespace
}  // namespace fixpoint
