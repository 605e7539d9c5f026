// Values whose extents a run decides, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

constexpr char kCondition[] = "c bool[2,3] 1 0 1 0 0 1\n";

TEST(RunShapes, AreWhatIsTrue) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=all)
        where_index(Condition=none) -> (Out=empty)
        where_index(Condition=x) -> (Out=not_zero)
      })",
                    "c bool[2,3] 1 0 1 0 0 1\nnone i32[4] 0 0 0 0\nx f32[2,1,2] 0 nan -1 0\n"),
      "");
}

// Elements after the rows that there are count nowhere.
TEST(RunShapes, PassThroughOpsThatTakeThem) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        assign(X=places) -> (Out=assigned)
        scale(X=places) -> (Out=scaled) {scale=2.0, bias=1.0}
        cast(X=places) -> (Out=numbers) {in_dtype=3, out_dtype=5}
        scale(X=numbers) -> (Out=halved) {scale=0.5}
        relu(X=halved) -> (Out=positive)
        reciprocal(X=positive) -> (Out=inverse)
        slice(Input=places) -> (Out=column) {axes=[1], starts=[1], ends=[2]}
        slice(Input=places) -> (Out=row) {axes=[1], starts=[0], ends=[1], decrease_axis=[1]}
        shape(Input=places) -> (Out=extents)
        gather(X=table, Index=row) -> (Out=rows)
        gather(X=places, Index=first) -> (Out=some)
        gather(X=places, Index=row) -> (Out=picked)
      })",
                          std::string(kCondition) + "table f32[2,2] 1 2 3 4\nfirst i32[2] 1 0\n"),
            "");
}

TEST(RunShapes, MayHaveNoRows) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        cast(X=places) -> (Out=numbers) {in_dtype=3, out_dtype=5}
        exp(X=numbers) -> (Out=grown)
        slice(Input=places) -> (Out=row) {axes=[1], starts=[0], ends=[1], decrease_axis=[1]}
        gather(X=table, Index=row) -> (Out=rows)
      })",
                          "c i64[2,2] 0 0 0 0\ntable f32[2,2] 1 2 3 4\n"),
            "");
}

TEST(RunShapes, AreRefusedByOpsThatDoNotTakeThem) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        cast(X=places) -> (Out=numbers) {in_dtype=3, out_dtype=5}
        transpose2(X=numbers) -> (Out=y, XShape=s) {axis=[1, 0]}
      })",
                            kCondition),
              HasSubstr("block 0, op 2 (transpose2): \"numbers\" has extents that block 0, op 0 "
                        "(where_index) decides in a run; want ones that are known before"));
}

TEST(RunShapes, AreNotKept) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        var places i64[-1,2] persistable
        where_index(Condition=c) -> (Out=places)
      })",
                            kCondition),
              HasSubstr("variable \"places\" is kept and block 0, op 0 (where_index) decides its "
                        "extents in a run; want a variable that is fetched"));
}

TEST(RunShapes, AnIndexMayNotGoBeyondTheRowsThatThereAre) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        where_index(Condition=c) -> (Out=places)
        gather(X=places, Index=place) -> (Out=row)
      })",
                            std::string(kCondition) + "place i32[1] 3\n"),
              HasSubstr("Index has 3; want 0 to 2"));
}

}  // namespace
}  // namespace fixpoint::executor
