// Ops that move elements, pick them, or reduce them.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

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

// Element by element as the reference's kernel numbers them, which is not what the name says.
TEST(ShapeOps, SpaceToDepthInterleavesChannels) {
  EXPECT_EQ(RunOps("space_to_depth(X=x) -> (Out=y) {blocksize=2L}",
                   "x f32[1,4,2,2] 0 1 2 3 10 11 12 13 20 21 22 23 30 31 32 33\n"),
            "y f32[1,16,1,1] 0 10 1 11 20 30 21 31 2 12 3 13 22 32 23 33\n");
}

TEST(ShapeOps, WindowsAreColumns) {
  EXPECT_EQ(RunOps("unfold(X=x) -> (Y=y) {kernel_sizes=[1, 2], strides=[1, 1], "
                   "paddings=[0, 1, 0, 0], dilations=[1, 1]}",
                   "x f32[1,1,2,2] 1 2 3 4\n"),
            "y f32[1,2,4] 0 1 0 3 1 2 3 4\n");
}

TEST(ShapeOps, ColumnsAreAddedToImages) {
  EXPECT_EQ(RunOps("fold(X=x) -> (Y=y) {output_sizes=[2, 2], kernel_sizes=[1, 2], strides=[1, 1], "
                   "paddings=[0, 1, 0, 0], dilations=[1, 1]}",
                   "x f32[1,2,4] 9 1 9 2 3 4 5 6\n"),
            "y f32[1,1,2,2] 4 4 7 6\n");
}

TEST(ShapeOps, ElementsArePicked) {
  EXPECT_EQ(RunOps(R"(program version=2006002
block 0 {
  masked_select(X=x, Mask=m) -> (Y=a)
  masked_select_grad(X=x, Mask=m, Y@GRAD=g) -> (X@GRAD=dx)
  unique(X=x) -> (Out=b, Index=c, Indices=d, Counts=e) {is_sorted=true, dtype=2}
}
)",
                   "x f32[4] 3 1 3 2\nm bool[4] 1 0 0 1\ng f32[2] 5 7\n"),
            "a f32[2] 3 2\nb f32[3] 1 2 3\nc i32[4] 2 0 2 1\nd i32[3] 1 3 0\n"
            "dx f32[4] 5 0 0 7\ne i32[3] 1 1 2\n");
}

TEST(ShapeOps, VectorsAreNormedAndMultiplied) {
  EXPECT_EQ(RunOps(R"(program version=2006002
block 0 {
  norm(X=x) -> (Out=a, Norm=b) {axis=1, epsilon=0.0}
  dot(X=x, Y=x) -> (Out=c)
  maxout(X=x) -> (Out=d) {groups=2}
}
)",
                   "x f32[2,2] 3 4 0 2\n"),
            "a f32[2,2] 0.600000024 0.800000012 0 1\nb f32[2,1] 5 2\nc f32[2] 25 4\n"
            "d f32[2,1] 4 2\n");
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

TEST(JoiningOps, SplitGoesByTheNumberOfPartsWhereThereIsOne) {
  EXPECT_EQ(
      RunOps("split(X=x) -> (Out=[a, b]) {axis=0, num=2, sections=[3, 1]}", "x f32[4] 1 2 3 4\n"),
      "a f32[2] 1 2\nb f32[2] 3 4\n");
  EXPECT_EQ(RunOps("split(X=x) -> (Out=[a, b]) {axis=0, num=3}", "x f32[6] 1 2 3 4 5 6\n"),
            "block 0, op 0 (split): num is 3 for 2 outputs of a size of 6; want as many equal "
            "parts");
}

TEST(JoiningOps, UnstackAndUnbindTakeAnAxisApart) {
  EXPECT_EQ(RunOps(R"(
    unstack(X=x) -> (Y=[a, b]) {axis=1, num=2}
    unbind(X=x) -> (Out=[c, d]) {axis=0}
  )",
                   "x f32[2,2] 1 2 3 4\n"),
            "a f32[2] 1 3\nb f32[2] 2 4\nc f32[2] 1 2\nd f32[2] 3 4\n");
  EXPECT_EQ(RunOps("unbind(X=x) -> (Out=[a, b, c])", "x f32[2,2] 1 2 3 4\n"),
            "block 0, op 0 (unbind): X [2, 2] has 2 parts on axis 0 and there are 3 outputs");
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

// 0.25048828125 has the bytes 0, 64, 128, 62: codes of a row from -1 to 1, whose steps are 1/128.
TEST(IndexingOps, LookUpPackedRows) {
  EXPECT_EQ(RunOps("lookup_table_dequant(W=w, Ids=ids) -> (Out=y) {padding_idx=0L}",
                   "w f32[2,3] 0 1 0 -1 1 0.25048828125\nids i64[2,1] 1 0\n"),
            "y f32[2,4] -1 -0.5 0 -0.515625 0 0 0 0\n");
  EXPECT_EQ(
      RunOps("lookup_table_dequant(W=w, Ids=ids) -> (Out=y)", "w f32[1,3] 0 1 0\nids i64[1,1] 1\n"),
      "block 0, op 0 (lookup_table_dequant): Ids has 1; want 0 to 0");
}

// Codes 0, 1, 14 and 15 of 4 bits, a scale of 1 and a minimum of 0 in FP16; a scale of 2.
TEST(IndexingOps, LookUpRowsOfBytes) {
  EXPECT_EQ(RunOps("lookup_table_dequant(W=w, Ids=ids) -> (Out=y) {row_format=\"fused4_fp16\"}",
                   "w u8[2,6] 16 254 0 60 0 0 16 254 0 64 0 0\nids i64[2,1] 1 0\n"),
            "y f32[2,4] 0 2 28 30 0 1 14 15\n");
  EXPECT_EQ(RunOps("lookup_table_dequant(W=w, Ids=ids) -> (Out=y) {row_format=\"fused4_fp16\"}",
                   "w f32[1,6] 0 1 0 0 0 0\nids i64[1,1] 0\n"),
            "block 0, op 0 (lookup_table_dequant): W is f32; rows of fused4_fp16 are u8");
}

TEST(IndexingOps, RefuseAnIndexThatIsNone) {
  EXPECT_EQ(RunOps("lookup_table(W=w, Ids=ids) -> (Out=y)", "w f32[2,1] 1 2\nids i64[1,1] 2\n"),
            "block 0, op 0 (lookup_table): Ids has 2; want 0 to 1");
  // -1 is how padding_idx says that no row is padding.
  EXPECT_EQ(RunOps("lookup_table_v2(W=w, Ids=ids) -> (Out=y)", "w f32[2,1] 1 2\nids i64[1] -1\n"),
            "block 0, op 0 (lookup_table_v2): Ids has -1; want 0 to 1");
}

TEST(IndexingOps, RefuseAnIndexOfMoreThanPlaces) {
  EXPECT_EQ(RunOps("gather(X=x, Index=i) -> (Out=y)", "x f32[2] 1 2\ni i64[2,1] 1 0\n"),
            "y f32[2] 2 1\n");
  EXPECT_EQ(RunOps("gather(X=x, Index=i) -> (Out=y)", "x f32[2] 1 2\ni i64[1,2] 1 0\n"),
            "block 0, op 0 (gather): Index is [1, 2]; want [n] or [n, 1]");
}

TEST(IndexingOps, OneHotOfVersion1DropsTheLastDimension) {
  EXPECT_EQ(RunOps("one_hot(X=x) -> (Out=y) {depth=3}", "x i64[2,1] 2 0\n"),
            "y f32[2,3] 0 0 1 1 0 0\n");
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

TEST(Reductions, FindTheSmallestAndWhetherAllOrAnyHold) {
  EXPECT_EQ(RunOps(R"(
    reduce_min(X=x) -> (Out=a) {dim=[1]}
    less_than(X=x, Y=four) -> (Out=b)
    reduce_all(X=b) -> (Out=c) {dim=[1]}
    reduce_any(X=b) -> (Out=d) {dim=[1]}
  )",
                   "x f32[2,3] 3 1 2 4 6 5\nfour f32[1] 4\n"),
            "a f32[2] 1 4\nb bool[2,3] 1 1 1 0 0 0\nc bool[2] 1 0\nd bool[2] 1 0\n");
}

TEST(Filling, IsAsLongAsABatchOrAsThereAreSequences) {
  const std::string op =
      "fill_constant_batch_size_like(Input=x) -> (Out=y) {shape=[-1L, 2L], value=3.0}";
  EXPECT_EQ(RunOps(op, "x f32[3,1] 1 2 3\n"), "y f32[3,2] 3 3 3 3 3 3\n");
  EXPECT_EQ(RunOps(op, "x f32[3,1] lod={0,2,3} 1 2 3\n"), "y f32[2,2] 3 3 3 3\n");
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

// b is 1 + 2 * a; c takes every other number of the same stream, and a later attempt where that is
// not within 2.
TEST(RandomOps, ScaleAndMoveTheNumbersOfTheirSeed) {
  EXPECT_EQ(RunOps(R"(
    gaussian_random() -> (Out=a) {shape=[3L], seed=5}
    gaussian_random() -> (Out=b) {shape=[3L], seed=5, mean=1.0, std=2.0}
    truncated_gaussian_random() -> (Out=c) {shape=[3], seed=5, mean=1.0, std=2.0}
    uniform_random() -> (Out=d) {shape=[3L], seed=5, min=2.0, max=4.0}
  )",
                   ""),
            "a f32[3] 0.6612764 0.176908106 0.808732152\n"
            "b f32[3] 2.32255292 1.35381615 2.6174643\n"
            "c f32[3] 2.32255292 2.6174643 0.796011567\n"
            "d f32[3] 3.5319643 2.13941383 3.96747351\n");
}

// Among the first four numbers of seed 3 only the second is below 0.5.
TEST(Dropout, KeepsWhatItsNumbersSay) {
  EXPECT_EQ(RunOps(R"(
    dropout(X=x) -> (Out=a, Mask=mask) {fix_seed=true, seed=3}
    dropout(X=x) -> (Out=b, Mask=mask) {fix_seed=true, seed=3,
      dropout_implementation="upscale_in_train"}
  )",
                   "x f32[4] 1 2 3 4\n"),
            "a f32[4] 1 0 3 4\nb f32[4] 2 0 6 8\nmask u8[4] 1 0 1 1\n");
}

TEST(Dropout, DropsNothingInInference) {
  EXPECT_EQ(RunOps(R"(
    dropout(X=x) -> (Out=a) {is_test=true, dropout_prob=0.25}
    dropout(X=x) -> (Out=b) {is_test=true, dropout_implementation="upscale_in_train"}
  )",
                   "x f32[4] 1 2 3 4\n"),
            "a f32[4] 0.75 1.5 2.25 3\nb f32[4] 1 2 3 4\n");
}

// The numbers of seed 3, of which the second is below a half, less a half.
TEST(Dither, AddsNumbersAroundZero) {
  const std::string dithered = RunOps("dither(X=x) -> (Out=y) {seed=3}", "x f32[4] 1 2 3 4\n");
  std::istringstream read(dithered);
  std::string name, type;
  read >> name >> type;
  for (const double x : {1.0, 2.0, 3.0, 4.0}) {
    double y = 0;
    ASSERT_TRUE(read >> y) << dithered;
    EXPECT_EQ(y < x, x == 2) << dithered;
    EXPECT_NEAR(y, x, 0.5);
  }
}

}  // namespace
}  // namespace fixpoint::reference
