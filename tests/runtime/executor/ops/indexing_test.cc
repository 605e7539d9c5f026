// Ops that pick and place elements, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Indexing, PicksAndPlacesElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        gather(X=x, Index=index) -> (Out=rows)
        gather(X=x, Index=columns) -> (Out=inner) {axis=1}
        gather(X=i, Index=columns) -> (Out=numbers) {axis=-1}
        less_than(X=x, Y=other) -> (Out=is_less)
        where(Condition=is_less, X=x, Y=other) -> (Out=smaller)
        one_hot(X=columns, depth_tensor=[]) -> (Out=hot) {depth=4}
        one_hot_v2(X=index, depth_tensor=[]) -> (Out=some) {
          depth=2, dtype=3, allow_out_of_range=true}
        argsort(X=x) -> (Out=sorted, Indices=places) {axis=1}
        argsort(X=x) -> (Out=falling, Indices=from) {axis=-1, descending=true}
        is_empty(X=x) -> (Out=has_none)
      })",
                          Drawn("x", {3, 4, 2}) + Drawn("other", {3, 4, 2}) +
                              "i i64[2,4] 5 6 7 8 9 10 11 12\nindex i64[3] 2 0 2\n"
                              "columns i64[2,1] 3 1\n"),
            "");
}

// A table that is held as codes: only rows that are looked up are dequantized.
TEST(Indexing, LooksUpRowsOfCodes) {
  const std::string ids = "ids i64[4,1] 2 0 1 2\nzero i32[1] 0\n";
  const std::string table = "w i8[3,5] 127 -127 5 0 64 -1 100 3 7 -8 9 10 -11 12 13\n";
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        dequantize_linear(X=w, Scale=s, ZeroPoint=zero) -> (Y=rows) {quant_axis=0, bit_length=8}
        lookup_table(W=rows, Ids=ids) -> (Out=a) {padding_idx=1L}
        lookup_table_v2(W=rows, Ids=ids) -> (Out=b)
        dequantize_linear(X=w, Scale=one, ZeroPoint=zero) -> (Y=table) {quant_axis=-1, bit_length=8}
        lookup_table(W=table, Ids=ids) -> (Out=c)
        fake_channel_wise_quantize_abs_max(X=v) -> (Out=vq, OutScale=vs) {quant_axis=0}
        fake_channel_wise_dequantize_max_abs(X=vq, Scales=vs) -> (Out=vd) {quant_axis=0}
        lookup_table(W=vd, Ids=ids) -> (Out=d)
        lookup_table_grad(W=vd, Ids=ids, Out@GRAD=d) -> (W@GRAD=dv)
        dequantize_linear(X=w, Scale=columns, ZeroPoint=zero) -> (Y=u) {quant_axis=1, bit_length=8}
        lookup_table(W=u, Ids=ids) -> (Out=e)
        lookup_table(W=vq, Ids=ids) -> (Out=f)
        fake_quantize_moving_average_min_max(X=v, InScale=as, InZeroPoint=az) -> (
          Out=aq, OutScale=as, OutZeroPoint=az) {is_test=true}
        fake_dequantize_affine(X=aq, Scale=as, ZeroPoint=az) -> (Out=ad)
        lookup_table(W=ad, Ids=ids) -> (Out=g)
      })",
                          ids + table + Drawn("v", {3, 4}) +
                              "s f32[3] 0.5 2 0.1\none f32[1] 0.7\ncolumns f32[5] 1 2 3 4 5\n"
                              "as f32[1] 0.01\naz f32[1] -30\n",
                          0, {"a", "b", "c", "d", "dv", "e", "f", "g"}),
            "");
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        integer_lookup_table(W=w, Ids=ids, Scales=s) -> (Out=a) {padding_idx=1L, largest_code=127}
        integer_lookup_table_v2(W=w, Ids=ids, Scales=s, Offsets=o) -> (Out=b) {largest_code=1}
        integer_lookup_table(W=w, Ids=ids, Scales=one) -> (Out=c) {largest_code=7}
      })",
                          ids + table + "s f32[3] 0.5 2 0.1\none f32[1] 0.7\no i32[3] -128 3 90\n",
                          0, {"a", "b", "c"}),
            "");
}

// 0.25048828125 has the bytes 0, 64, 128, 62; -0.015 and 7 have others.
TEST(Indexing, LooksUpPackedRows) {
  EXPECT_EQ(OpDifferences("lookup_table_dequant(W=w, Ids=i) -> (Out=y) {padding_idx=2L}",
                          "w f32[3,4] -1 1 0.25048828125 -0.015 0.3 0.7 7 1e-3 0 1 2 3\n"
                          "i i64[4,1] 1 0 2 1\n",
                          0, {"y"}),
            "");
  EXPECT_THAT(OpDifferences("lookup_table_dequant(W=w, Ids=i) -> (Out=y)",
                            "w f32[1,3] 0 1 0\ni i64[1,1] 1\n"),
              testing::HasSubstr("(lookup_table_dequant): an id is 1; want 0 to 0"));
}

// 0 and 60 are the bytes of 1 in FP16.
TEST(Indexing, LooksUpRowsOfBytes) {
  const std::string rows = "w u8[2,8] 16 254 0 60 0 0 0 64 1 2 3 4 5 0 60 0\ni i64[3,1] 1 0 2\n";
  for (const char* const format : {"fused4_fp16", "fused8_fp16", "fused2_fp16"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat("lookup_table_dequant(W=w, Ids=i) -> (Out=y) "
                                         "{padding_idx=2L, row_format=\"",
                                         format, "\"}"),
                            rows, 0, {"y"}),
              "");
  }
  EXPECT_THAT(
      OpDifferences("lookup_table_dequant(W=w, Ids=i) -> (Out=y) {row_format=\"fused8\"}", rows),
      testing::HasSubstr("rows have 8 bytes, of which 8 are their range"));
  EXPECT_THAT(
      OpDifferences("lookup_table_dequant(W=w, Ids=i) -> (Out=y) {row_format=\"fused3\"}", rows),
      testing::HasSubstr("there is no format of rows \"fused3\""));
}

TEST(Indexing, RefusesTablesOfCodesThatDoNotFit) {
  const std::string table = "w i8[2,2] 1 2 3 4\n";
  const char* const kLookup =
      "integer_lookup_table_v2(W=w, Ids=i, Scales=s, Offsets=o) -> (Out=y) {largest_code=1}";
  EXPECT_THAT(OpDifferences(kLookup, table + "i i64[1] 2\ns f32[2] 1 1\no i32[2] 0 0\n"),
              testing::HasSubstr("(integer_lookup_table_v2): an id is 2; want 0 to 1"));
  EXPECT_THAT(
      OpDifferences(kLookup, table + "i i64[1] 1\ns f32[3] 1 1 1\no i32[2] 0 0\n"),
      testing::HasSubstr("(integer_lookup_table_v2): input Scales is [3]; want 2 elements"));
  EXPECT_THAT(
      OpDifferences(kLookup, table + "i i64[1] 1\ns f32[2] 1 1\no i32[4] 0 0 0 0\n"),
      testing::HasSubstr("(integer_lookup_table_v2): input Offsets is [4]; want 2 elements"));
}

TEST(Indexing, RefusesWhatIsNoPlace) {
  EXPECT_THAT(OpDifferences("gather(X=x, Index=i) -> (Out=y)", "x f32[2] 1 2\ni i64[1] 2\n"),
              testing::HasSubstr("executor: block 0, op 0 (gather): Index has 2; want 0 to 1"));
  EXPECT_THAT(
      OpDifferences("one_hot_v2(X=i, depth_tensor=[]) -> (Out=y) {depth=2}", "i i64[1] -1\n"),
      testing::HasSubstr("executor: block 0, op 0 (one_hot_v2): X has -1; want 0 to 1"));
}

}  // namespace
}  // namespace fixpoint::executor
