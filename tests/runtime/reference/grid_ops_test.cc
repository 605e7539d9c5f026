// Ops that make grids and matrices, divide integers, find norms, scale channels, and ask whether
// numbers are finite, worked by hand or observed in the reference.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

std::string RunOf(int version, const std::string& op, const std::string& inputs) {
  return RunOps(absl::StrCat("program version=", version, "\nblock 0 {\n", op, "\n}"), inputs);
}
constexpr int k2x = 2006002;
constexpr int k1x = 1008005;

TEST(Grids, AreMadeFromSizes) {
  EXPECT_EQ(RunOf(k2x, "eye() -> (Out=y) {num_rows=2L, num_columns=3L, dtype=2}", ""),
            "y i32[2,3] 1 0 0 0 1 0\n");
  EXPECT_EQ(RunOf(k2x, "linspace(Start=a, Stop=b, Num=n) -> (Out=y) {dtype=5}",
                  "a f32[1] 5\nb f32[1] -3\nn i32[1] 5\n"),
            "y f32[5] 5 3 1 -1 -3\n");
  EXPECT_EQ(RunOf(k2x, "linspace(Start=a, Stop=b, Num=n) -> (Out=y) {dtype=2}",
                  "a f32[1] 0\nb f32[1] 10\nn i32[1] 7\n"),
            "y i32[7] 0 1 3 5 6 8 10\n");
  EXPECT_EQ(RunOf(k2x, "linspace(Start=a, Stop=b, Num=n) -> (Out=y) {dtype=5}",
                  "a f32[1] 5\nb f32[1] -3\nn i32[1] 0\n"),
            "block 0, op 0 (linspace): Num is 0; want 1 or more");
  EXPECT_EQ(RunOf(k2x, "meshgrid(X=[a, b]) -> (Out=[c, d])", "a f32[2] 1 2\nb f32[3] 3 4 5\n"),
            "c f32[2,3] 1 1 1 2 2 2\nd f32[2,3] 3 4 5 3 4 5\n");
}

TEST(Grids, HaveTriangles) {
  const auto triangle = [](const std::string& attrs) {
    return RunOf(k2x, absl::StrCat("tril_triu(X=x) -> (Out=y) {", attrs, "}"),
                 "x f32[2,3] 1 2 3 4 5 6\n");
  };
  EXPECT_EQ(triangle("lower=true"), "y f32[2,3] 1 0 0 4 5 0\n");
  EXPECT_EQ(triangle("lower=true, diagonal=1"), "y f32[2,3] 1 2 0 4 5 6\n");
  EXPECT_EQ(triangle("lower=false"), "y f32[2,3] 1 2 3 0 5 6\n");
  EXPECT_EQ(triangle("lower=false, diagonal=-2147483647"), "y f32[2,3] 1 2 3 4 5 6\n");
}

TEST(Division, RoundsDown) {
  constexpr char kInputs[] = "x i64[4] 7 -7 7 -7\ny i64[4] 3 3 -3 -3\nz i64[1] 0\n";
  EXPECT_EQ(RunOf(k2x, "elementwise_mod(X=x, Y=y) -> (Out=o)", kInputs), "o i64[4] 1 2 -2 -1\n");
  EXPECT_EQ(RunOf(k2x, "elementwise_floordiv(X=x, Y=y) -> (Out=o)", kInputs),
            "o i64[4] 2 -3 -3 2\n");
  EXPECT_EQ(RunOf(k1x, "elementwise_floordiv(X=x, Y=y) -> (Out=o)", kInputs),
            "o i64[4] 2 -2 -2 2\n");
  EXPECT_EQ(RunOf(k2x, "elementwise_mod(X=x, Y=z) -> (Out=o)", kInputs),
            "block 0, op 0 (elementwise_mod): Y has 0; want another integer");
}

TEST(Finite, AsksEachOrAll) {
  EXPECT_EQ(RunOf(k2x, R"(
    isfinite_v2(X=x) -> (Out=a)
    isinf_v2(X=x) -> (Out=b)
    isnan_v2(X=x) -> (Out=c)
    isfinite(X=x) -> (Out=d)
    isinf(X=x) -> (Out=e)
    isnan(X=x) -> (Out=f))",
                  "x f32[3] 1 inf nan\n"),
            "a bool[3] 1 0 0\nb bool[3] 0 1 0\nc bool[3] 0 0 1\nd bool[1] 0\ne bool[1] 1\n"
            "f bool[1] 1\n");
}

TEST(Norms, AreOfAnyOrder) {
  const auto norm = [](const std::string& attrs) {
    return RunOf(k2x, absl::StrCat("p_norm(X=x) -> (Out=y) {", attrs, "}"),
                 "x f32[2,2] 3 -4 0 2\n");
  };
  EXPECT_EQ(norm("porder=2.0"), "y f32[2] 5 2\n");
  EXPECT_EQ(norm("porder=1.0, axis=0, keepdim=true"), "y f32[1,2] 3 6\n");
  EXPECT_EQ(norm("porder=0.0"), "y f32[2] 2 1\n");
  EXPECT_EQ(norm("porder=inf"), "y f32[2] 4 2\n");
  EXPECT_EQ(norm("porder=-inf"), "y f32[2] 3 0\n");
}

TEST(ChannelAffine, TakesTheChannelsOfTheLayout) {
  constexpr char kInputs[] = "x f32[1,2,2] 1 2 3 4\ns f32[2] 10 100\nb f32[2] 0 5\n";
  EXPECT_EQ(
      RunOf(k2x, "affine_channel(X=x, Scale=s, Bias=b) -> (Out=y) {data_layout=\"NCHW\"}", kInputs),
      "y f32[1,2,2] 10 20 305 405\n");
  EXPECT_EQ(RunOf(k2x, "affine_channel(X=x, Scale=s, Bias=b) -> (Out=y)", kInputs),
            "y f32[1,2,2] 10 205 30 405\n");
}

TEST(Search, FindsTheFirstOfTheSmallest) {
  EXPECT_EQ(RunOf(k2x, "arg_min(X=x) -> (Out=y) {axis=1L}", "x f32[2,3] 2 1 1 -1 0 5\n"),
            "y i64[2] 1 0\n");
}

}  // namespace
}  // namespace fixpoint::reference
