// Ops that move elements, pick them, or reduce them.

#include <gtest/gtest.h>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

TEST(ShapeOps, ReshapeKeepsTheElements) {
  EXPECT_EQ(RunOps(R"(
    reshape2(X=x) -> (Out=a, XShape=s) {shape=[0, -1]}
    flatten2(X=x) -> (Out=b) {axis=2}
    flatten_contiguous_range(X=x) -> (Out=c) {start_axis=0, stop_axis=-1}
    squeeze2(X=x) -> (Out=d) {axes=[1]}
    unsqueeze2(X=x) -> (Out=e) {axes=[0, -1]}
  )",
                   "x f32[2,1,2] 1 2 3 4\n"),
            "a f32[2,2] 1 2 3 4\nb f32[2,2] 1 2 3 4\nc f32[4] 1 2 3 4\nd f32[2,2] 1 2 3 4\n"
            "e f32[1,2,1,2,1] 1 2 3 4\ns f32[0,2,1,2] \n");
}

TEST(ShapeOps, ReshapeRefusesWhatDoesNotFill) {
  EXPECT_EQ(RunOps("reshape2(X=x) -> (Out=y) {shape=[3, -1]}", "x f32[4] 1 2 3 4\n"),
            "block 0, op 0 (reshape2): X [4] has 4 elements, which do not fill [3, 1]");
}

TEST(ShapeOps, AShapeMayComeFromTensors) {
  EXPECT_EQ(
      RunOps("reshape2(X=x, Shape=s) -> (Out=y) {shape=[4]}", "x f32[4] 1 2 3 4\ns i32[2] 2 2\n"),
      "y f32[2,2] 1 2 3 4\n");
  EXPECT_EQ(RunOps("reshape2(X=x, ShapeTensor=[a, b]) -> (Out=y) {shape=[4]}",
                   "x f32[4] 1 2 3 4\na i32[1] 1\nb i32[1] 4\n"),
            "y f32[1,4] 1 2 3 4\n");
  EXPECT_EQ(RunOps("fill_constant(ShapeTensor=s) -> (Out=y) {value=2.0}", "s i64[2] 1 2\n"),
            "y f32[1,2] 2 2\n");
}

TEST(ShapeOps, TransposeReordersTheAxes) {
  EXPECT_EQ(RunOps("transpose2(X=x) -> (Out=y) {axis=[2, 0, 1]}", "x f32[2,1,3] 1 2 3 4 5 6\n"),
            "y f32[3,2,1] 1 4 2 5 3 6\n");
}

TEST(ShapeOps, ChannelsAreShuffled) {
  EXPECT_EQ(RunOps("shuffle_channel(X=x) -> (Out=y) {group=2}", "x f32[1,4,1,1] 1 2 3 4\n"),
            "y f32[1,4,1,1] 1 3 2 4\n");
  EXPECT_EQ(RunOps("pixel_shuffle(X=x) -> (Out=y) {upscale_factor=2}",
                   "x f32[1,4,1,2] 1 2 3 4 5 6 7 8\n"),
            "y f32[1,1,2,4] 1 3 2 4 5 7 6 8\n");
}

TEST(JoiningOps, ConcatAndSplitAreInverse) {
  EXPECT_EQ(RunOps(R"(
    concat(X=[x, y]) -> (Out=joined) {axis=1}
    split(X=joined) -> (Out=[a, b]) {axis=1, sections=[2, -1]}
    stack(X=[x, x]) -> (Y=stacked) {axis=2}
  )",
                   "x f32[2,2] 1 2 3 4\ny f32[2,1] 5 6\n"),
            "a f32[2,2] 1 2 3 4\nb f32[2,1] 5 6\njoined f32[2,3] 1 2 5 3 4 6\n"
            "stacked f32[2,2,2] 1 1 2 2 3 3 4 4\n");
}

TEST(JoiningOps, SliceWrapsAndClamps) {
  EXPECT_EQ(RunOps(R"(
    slice(Input=x) -> (Out=a) {axes=[1], starts=[-2], ends=[100]}
    slice(Input=x) -> (Out=b) {axes=[0], starts=[1], ends=[2], decrease_axis=[0]}
    slice(Input=x) -> (Out=none) {axes=[1], starts=[2], ends=[1]}
  )",
                   "x f32[2,3] 1 2 3 4 5 6\n"),
            "a f32[2,2] 2 3 5 6\nb f32[3] 4 5 6\nnone f32[2,0] \n");
}

TEST(JoiningOps, Repeat) {
  EXPECT_EQ(RunOps(R"(
    expand(X=x) -> (Out=a) {expand_times=[2, 2]}
    expand_v2(X=x) -> (Out=b) {shape=[2, 3, -1]}
    tile(X=x) -> (Out=c) {repeat_times=[2]}
  )",
                   "x f32[1,2] 1 2\n"),
            "a f32[2,4] 1 2 1 2 1 2 1 2\nb f32[2,3,2] 1 2 1 2 1 2 1 2 1 2 1 2\n"
            "c f32[1,4] 1 2 1 2\n");
}

TEST(IndexingOps, LookUpRows) {
  EXPECT_EQ(RunOps(R"(
    lookup_table(W=w, Ids=ids) -> (Out=v1)
    lookup_table_v2(W=w, Ids=ids) -> (Out=v2) {padding_idx=2L}
  )",
                   "w f32[3,2] 1 2 3 4 5 6\nids i64[2,1] 2 0\n"),
            "v1 f32[2,2] 5 6 1 2\nv2 f32[2,1,2] 0 0 1 2\n");
}

TEST(IndexingOps, RefuseAnIndexThatIsNone) {
  EXPECT_EQ(RunOps("lookup_table(W=w, Ids=ids) -> (Out=y)", "w f32[2,1] 1 2\nids i64[1,1] 2\n"),
            "block 0, op 0 (lookup_table): Ids has 2; want 0 to 1");
  // -1 is how padding_idx says that no row is padding.
  EXPECT_EQ(RunOps("lookup_table_v2(W=w, Ids=ids) -> (Out=y)", "w f32[2,1] 1 2\nids i64[1] -1\n"),
            "block 0, op 0 (lookup_table_v2): Ids has -1; want 0 to 1");
}

TEST(IndexingOps, FindAndPick) {
  EXPECT_EQ(RunOps(R"(
    arg_max(X=x) -> (Out=a) {axis=1L}
    top_k_v2(X=x) -> (Out=b, Indices=bi) {k=1, axis=0, largest=false}
    argsort(X=x) -> (Out=c, Indices=ci) {descending=true}
    gather(X=x, Index=a) -> (Out=d) {axis=0}
    one_hot_v2(X=a) -> (Out=e) {depth=3}
  )",
                   "x f32[2,2] 1 2 4 3\n"),
            "a i64[2] 1 0\nb f32[1,2] 1 2\nbi i64[1,2] 0 0\nc f32[2,2] 2 1 4 3\n"
            "ci i64[2,2] 1 0 0 1\nd f32[2,2] 4 3 1 2\ne f32[2,3] 0 1 0 1 0 0\n");
}

TEST(Reductions, GoOverAxes) {
  EXPECT_EQ(RunOps(R"(
    reduce_sum(X=x) -> (Out=a) {dim=[1]}
    reduce_mean(X=x) -> (Out=b) {dim=[0], keep_dim=true}
    reduce_max(X=x) -> (Out=c) {reduce_all=true}
    reduce_prod(X=x) -> (Out=d) {dim=[-1]}
    cumsum(X=x) -> (Out=e) {exclusive=true, reverse=true}
  )",
                   "x f32[2,3] 1 2 3 4 5 6\n"),
            "a f32[2] 6 15\nb f32[1,3] 2.5 3.5 4.5\nc f32[1] 6\nd f32[2] 6 120\n"
            "e f32[2,3] 5 3 0 11 6 0\n");
}

TEST(Reductions, OfNothing) {
  EXPECT_EQ(RunOps(R"(
    reduce_sum(X=x) -> (Out=a) {reduce_all=true}
    reduce_max(X=x) -> (Out=b) {reduce_all=true}
    mean(X=x) -> (Out=c)
    not_equal(X=c, Y=c) -> (Out=c)
  )",
                   "x f32[0]\n"),
            "a f32[1] 0\nb f32[1] -inf\nc bool[1] 1\n");
}

TEST(Filling, MakesConstants) {
  EXPECT_EQ(RunOps(R"(
    fill_constant() -> (Out=a) {shape=[2L], value=1.0, str_value="2.5"}
    fill_constant() -> (Out=b) {shape=[1L], dtype=3, value=7.0}
    fill_any_like(X=a) -> (Out=c) {value=3.0}
    fill_zeros_like(X=b) -> (Out=d)
    assign_value() -> (Out=e) {shape=[2], dtype=2, int32_values=[4, 5]}
    range(Start=b, End=d, Step=step) -> (Out=f)
    shape(Input=c) -> (Out=g)
    cast(X=a) -> (Out=h) {in_dtype=5, out_dtype=2}
  )",
                   "step i64[1] -3\n"),
            "a f32[2] 2.5 2.5\nb i64[1] 7\nc f32[2] 3 3\nd i64[1] 0\ne i32[2] 4 5\n"
            "f i64[3] 7 4 1\ng i32[1] 2\nh i32[2] 2 2\n");
}

TEST(Dropout, KeepsWhatItsNumbersSay) {
  // The words of block 0 of seed 3 are below 0.5, or not, as the mask shows.
  EXPECT_EQ(RunOps(R"(
    dropout(X=x) -> (Out=a, Mask=m) {fix_seed=true, seed=3}
    dropout(X=x) -> (Out=b, Mask=m) {fix_seed=true, seed=3,
      dropout_implementation="upscale_in_train"}
    elementwise_mul(X=x, Y=two) -> (Out=doubled)
    cast(X=m) -> (Out=mask) {in_dtype=20, out_dtype=5}
    elementwise_mul(X=x, Y=mask) -> (Out=expected_a)
    elementwise_mul(X=doubled, Y=mask) -> (Out=expected_b)
    dropout(X=x) -> (Out=c) {is_test=true, dropout_prob=0.25}
    dropout(X=x) -> (Out=d) {is_test=true, dropout_implementation="upscale_in_train"}
    elementwise_sub(X=a, Y=expected_a) -> (Out=a)
    elementwise_sub(X=b, Y=expected_b) -> (Out=b)
    reduce_sum(X=mask) -> (Out=kept) {reduce_all=true}
  )",
                   "x f32[4] 1 2 3 4\ntwo f32[1] 2\n")
                .find("a f32[4] 0 0 0 0\nb f32[4] 0 0 0 0\nc f32[4] 0.75 1.5 2.25 3\n"
                      "d f32[4] 1 2 3 4\n"),
            0);
}

}  // namespace
}  // namespace fixpoint::reference
