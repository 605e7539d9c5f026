// Constants, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Constants, AreFilledAndCounted) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fill_constant() -> (Out=start) {shape=[1L], dtype=3, value=2.0}
        fill_constant() -> (Out=end) {shape=[1L], dtype=3, value=9.0}
        fill_constant() -> (Out=step) {shape=[1L], dtype=3, value=3.0}
        range(Start=start, End=end, Step=step) -> (Out=counted)
        fill_any_like(X=x) -> (Out=ones) {value=1.0, dtype=2}
        fill_zeros_like(X=x) -> (Out=zeros)
        fill_constant_batch_size_like(Input=x) -> (Out=rows) {
          shape=[-1, 4], value=0.5, output_dim_idx=0}
        assign_value() -> (Out=given) {shape=[2, 2], dtype=5, fp32_values=[1.0, -2.0, 3.5, 4.0]}
        shape(Input=x) -> (Out=dims)
        cast(X=counted) -> (Out=numbers) {in_dtype=3, out_dtype=5}
      })",
                          Drawn("x", {3, 2}), 0),
            "");
}

// What decides how long a tensor is, is what the constant holds.
TEST(Constants, AreOfTheirType) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fill_constant() -> (Out=start) {shape=[1L], dtype=3, value=0.0}
        fill_constant() -> (Out=end) {shape=[1L], dtype=3, value=2.7}
        fill_constant() -> (Out=step) {shape=[1L], dtype=3, value=1.2}
        fill_constant() -> (Out=large) {shape=[2L], dtype=2, value=1e20}
        range(Start=start, End=end, Step=step) -> (Out=counted)
      })",
                          "", 0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
