// Products of vectors, and of matrices that are added to, on the executor and on the reference
// interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Dot, AndItsGradients) {
  for (const char* version : {"program version=1008005", "program version=2006002"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat(version, R"(
      block 0 {
        dot(X=x, Y=y) -> (Out=a)
        dot_grad(X=x, Y=y, Out@GRAD=a) -> (X@GRAD=dx, Y@GRAD=dy)
        dot(X=v, Y=v) -> (Out=b)
      })"),
                            Drawn("x", {3, 70}) + Drawn("y", {3, 70}) + Drawn("v", {5})),
              "");
  }
}

TEST(Dot, RefusesOtherDimensions) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        dot(X=x, Y=y) -> (Out=a)
      })",
                            Drawn("x", {2, 6}) + Drawn("y", {2, 3})),
              ::testing::HasSubstr("Y is [2, 3]"));
}

TEST(Addmm, AndItsGradients) {
  for (const char* input : {"full", "row", "column", "vector", "one"}) {
    EXPECT_EQ(OpDifferences(absl::Substitute(R"(program version=2006002
      block 0 {
        addmm(Input=$0, X=x, Y=y) -> (Out=a) {Alpha=0.5, Beta=2.0}
        addmm_grad(Input=$0, X=x, Y=y, Out@GRAD=a) -> (Input@GRAD=di, X@GRAD=dx, Y@GRAD=dy) {
          Alpha=0.5, Beta=2.0}
      })",
                                             input),
                            Drawn("x", {4, 9}) + Drawn("y", {9, 5}) + Drawn("full", {4, 5}) +
                                Drawn("row", {1, 5}) + Drawn("column", {4, 1}) +
                                Drawn("vector", {5}) + Drawn("one", {1})),
              "")
        << input;
  }
}

TEST(Addmm, RefusesAnInputThatDoesNotFit) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        addmm(Input=x, X=x, Y=y) -> (Out=a)
      })",
                            Drawn("x", {4, 9}) + Drawn("y", {9, 5})),
              ::testing::HasSubstr("Input is [4, 9]; want what broadcasts to [4, 5]"));
}

}  // namespace
}  // namespace fixpoint::executor
