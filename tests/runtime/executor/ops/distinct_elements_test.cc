// Ops that pick elements by what they are, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

constexpr char kMasks[] = "m bool[2,3] 1 0 1 0 0 1\nnone bool[2,3] 0 0 0 0 0 0\n";

TEST(MaskedSelect, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        masked_select(X=x, Mask=m) -> (Y=some)
        masked_select(X=x, Mask=none) -> (Y=nothing)
        masked_select(X=codes, Mask=m) -> (Y=integers)
        scale(X=some) -> (Out=d) {scale=2.0}
        masked_select_grad(X=x, Mask=m, Y@GRAD=d) -> (X@GRAD=dx)
      })",
                          kMasks + Drawn("x", {2, 3}) + "codes i64[2,3] 1 2 3 4 5 6\n"),
            "");
}

TEST(MaskedSelect, RefusesAnotherNumberOfGradients) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        masked_select_grad(X=x, Mask=m, Y@GRAD=d) -> (X@GRAD=dx)
      })",
                            kMasks + Drawn("x", {2, 3}) + Drawn("d", {4})),
              HasSubstr("Y@GRAD is [4]; want 3 elements, as Mask selects"));
}

constexpr char kNumbers[] = "x f32[6] 2 -1 2 0.5 -1 2\nn i64[2,2] 7 3 3 9\n";

TEST(Unique, InAscendingOrderOrAsTheyCome) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        unique(X=x) -> (Out=a, Index=ai, Indices=af, Counts=ac) {is_sorted=true,
          return_index=true, return_inverse=true, return_counts=true}
        unique(X=n) -> (Out=b, Index=bi) {dtype=2}
        unique(X=x) -> (Out=c, Index=ci, Indices=cf, Counts=cc)
      })",
                          kNumbers),
            "");
}

TEST(Unique, RefusesAnAxisAndWhatEqualsNothing) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        unique(X=n) -> (Out=b, Index=bi) {axis=[0]}
      })",
                            kNumbers),
              HasSubstr("axis is there; want the elements of X alone"));
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        unique(X=x) -> (Out=b, Index=bi)
      })",
                            "x f32[2] 1 nan\n"),
              HasSubstr("X has a NaN; want numbers"));
}

}  // namespace
}  // namespace fixpoint::executor
