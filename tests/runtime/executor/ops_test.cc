// Ops on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/program.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/plan.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// Numbers in [-1, 1), a line of a parameter text.
std::string Drawn(const std::string& name, const std::vector<int64_t>& dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  const RandomStream random(7, static_cast<uint32_t>(name.size()), 0);
  std::string text = absl::StrCat(name, " f32[", absl::StrJoin(dims, ","), "]");
  for (int64_t i = 0; i < size; ++i) {
    absl::StrAppend(&text, " ", static_cast<float>(2 * random.Uniform(i) - 1));
  }
  return text + "\n";
}

TEST(Convolution, AndItsGradients) {
  EXPECT_EQ(OpDifferences(
                R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=[2, 1], paddings=[1, 0], groups=2}
        conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
          strides=[2, 1], paddings=[1, 0], groups=2}
      })",
                Drawn("x", {2, 4, 7, 6}) + Drawn("w", {6, 2, 3, 2}) + Drawn("dy", {2, 6, 4, 5})),
            "");
}

TEST(Views, KeepTheElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        reshape2(X=x) -> (Out=a, XShape=a_shape) {shape=[0, -1]}
        reshape2_grad(XShape=a_shape, Out@GRAD=a) -> (X@GRAD=b)
        flatten_contiguous_range(X=b) -> (Out=c, XShape=c_shape) {start_axis=1, stop_axis=2}
        unsqueeze2(X=c) -> (Out=d, XShape=d_shape) {axes=[1]}
        squeeze2(X=d) -> (Out=e, XShape=e_shape) {axes=[1]}
        assign(X=e) -> (Out=f)
      })",
                          Drawn("x", {2, 3, 4}), 0, {"a", "b", "c", "d", "e", "f"}),
            "");
}

// A plan holds no copy of them, so that their dimensions are not those of any memory.
TEST(Views, OfWhatIsFedHaveTheirOwnDimensions) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        reshape2(X=x) -> (Out=y, XShape=x_shape) {shape=[4, -1]}
      })",
                          Drawn("x", {2, 3, 4}), 0, {"y"}),
            "");
}

// Of the reference: its gradient at 0 is that of positive numbers.
TEST(LeakyRelu, PassesGradientsOfZeros) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        leaky_relu_grad(X=x, Out@GRAD=dy) -> (X@GRAD=dx) {alpha=0.5}
      })",
                          "x f32[3] 0 -0 -1\ndy f32[3] 1 1 1\n", 0),
            "");
}

TEST(LogSoftmax, CountsNoLogitAsLessThan64BelowTheLargest) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        log_softmax(X=x) -> (Out=y)
      })",
                          "x f32[2,2] 0 -100 1000 0\n"),
            "");
}

TEST(Lamb, AdaptsWhereItDecaysOrAlways) {
  for (const char* rule :
       {"weight_decay=0.5, always_adapt=false", "weight_decay=0.0",
        "weight_decay=0.0, always_adapt=false", "weight_decay=0.0, always_adapt=true"}) {
    SCOPED_TRACE(rule);
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
        block 0 {
          lamb(Param=p, Grad=g, LearningRate=lr, Moment1=m1, Moment2=m2, Beta1Pow=b1,
            Beta2Pow=b2) -> (ParamOut=q, Moment1Out=n1, Moment2Out=n2, Beta1PowOut=c1, Beta2PowOut=c2) {)",
                                         rule, "}\n}"),
                            Drawn("p", {5}) + Drawn("g", {5}) +
                                "lr f32[1] 0.5\nm1 f32[5] 1 2 3 4 5\nm2 f32[5] 5 4 3 2 1\n"
                                "b1 f32[1] 0.5\nb2 f32[1] 0.75\n"),
              "");
  }
}

// In test mode a quantizer names its state and leaves it as it is, for the ops behind it too.
TEST(Quantizers, LeaveTheirStateInTestMode) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        fake_quantize_moving_average_abs_max(X=x, InScale=scale, InState=state,
          InAccum=accum) -> (Out=y, OutScale=scale, OutState=state, OutAccum=accum) {is_test=true}
        scale(X=state) -> (Out=twice) {scale=2.0}
      })",
                          Drawn("x", {2, 3}) + "scale f32[1] 0.5\nstate f32[1] 3\naccum f32[1] 2\n",
                          0, {"y", "scale", "state", "accum", "twice"}),
            "");
}

// What a convolution writes lies channels last: it is joined, cut, summed and turned as it lies.
TEST(Images, AreJoinedAndCutAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        concat(X=[y, x, y]) -> (Out=joined) {axis=1}
        concat_grad(X=[y, x, y], Out@GRAD=joined) -> (X@GRAD=[da, db, dc]) {axis=-3}
        concat(X=[y, y]) -> (Out=higher) {axis=2}
        split(X=y) -> (Out=[s0, s1]) {axis=1, sections=[2, -1]}
        split(X=y) -> (Out=[h0, h1]) {axis=3, num=2}
        slice(Input=y) -> (Out=cut) {axes=[1, 3], starts=[-4, 1], ends=[100, 3]}
        slice_grad(Input=y, Out@GRAD=cut) -> (Input@GRAD=dy) {
          axes=[1, 3], starts=[-4, 1], ends=[100, 3]}
        stack(X=[y, y]) -> (Y=stacked) {axis=-1}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {5, 3, 1, 1})),
            "");
}

TEST(Images, AreReducedAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        reduce_mean(X=y) -> (Out=pooled) {dim=[2, 3]}
        reduce_mean_grad(X=y, Out@GRAD=pooled) -> (X@GRAD=d_pooled) {dim=[2, 3]}
        reduce_sum(X=y) -> (Out=channels) {dim=[1]}
        reduce_max(X=y) -> (Out=columns) {dim=[2], keep_dim=true}
        reduce_min(X=y) -> (Out=rows) {dim=[-1]}
        reduce_sum(X=y) -> (Out=kept) {dim=[0, 2], keep_dim=true}
        reduce_sum_grad(X=y, Out@GRAD=kept) -> (X@GRAD=d_kept) {dim=[0, 2], keep_dim=true}
        reduce_sum(X=y) -> (Out=all) {reduce_all=true}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1})),
            "");
}

TEST(Images, AreTransposedAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        transpose2(X=y) -> (Out=last, XShape=s1) {axis=[0, 2, 3, 1]}
        transpose2_grad(XShape=s1, Out@GRAD=last) -> (X@GRAD=first) {axis=[0, 2, 3, 1]}
        transpose2(X=y) -> (Out=turned, XShape=s2) {axis=[3, 1, 0, 2]}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}), 1e-5,
                          {"y", "last", "first", "turned"}),
            "");
}

// Numbers are drawn in row-major order, whatever order the elements lie in.
TEST(Dropout, OfAnImageDropsTheSameElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        dropout(X=y) -> (Out=z, Mask=m) {dropout_prob=0.4, dropout_implementation="upscale_in_train"}
        dropout_grad(Mask=m, Out@GRAD=y) -> (X@GRAD=dy) {
          dropout_prob=0.4, dropout_implementation="upscale_in_train"}
        dropout(X=y) -> (Out=tested, Mask=n) {dropout_prob=0.4, is_test=true}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}), 1e-5,
                          {"y", "z", "m", "dy", "tested"}),
            "");
}

TEST(SigmoidCrossEntropy, HasALabelForEachLogit) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        sigmoid_cross_entropy_with_logits(X=x, Label=label) -> (Out=loss) {ignore_index=-1}
      })",
                          Drawn("x", {2, 3}) + "label f32[2,3] 0 1 0.25 -1 1 0\n"),
            "");
}

TEST(Repetition, IsThatOfTheAttributes) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        expand(X=x) -> (Out=a) {expand_times=[3, 1, 2]}
        tile(X=x) -> (Out=b) {repeat_times=[2, 1, 1, 3]}
        expand_v2(X=x) -> (Out=c) {shape=[4, -1, 3, 2]}
        expand_as_v2(X=x) -> (Out=d) {target_shape=[2, 3, 2]}
        unstack(X=x) -> (Y=[e, f, g]) {axis=1, num=3}
      })",
                          Drawn("x", {1, 3, 2}), 0),
            "");
}

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

TEST(Comparisons, AreThoseOfTheInterpreter) {
  EXPECT_EQ(OpDifferences(
                R"(program version=2006002
      block 0 {
        less_than(X=x, Y=y) -> (Out=a)
        greater_equal(X=x, Y=y) -> (Out=b) {axis=0}
        equal(X=i, Y=j) -> (Out=c)
        not_equal(X=i, Y=j) -> (Out=d)
        logical_and(X=c, Y=d) -> (Out=e)
        logical_or(X=c, Y=d) -> (Out=f)
        logical_xor(X=a, Y=b) -> (Out=g)
        logical_not(X=g) -> (Out=h)
        arg_max(X=x) -> (Out=k) {axis=1L}
        arg_max(X=x) -> (Out=l) {axis=0L, keepdims=true}
      })",
                Drawn("x", {3, 3}) + Drawn("y", {3}) + "i i64[4] 1 2 3 4\nj i64[4] 1 0 3 5\n", 0),
            "");
}

// Weights of 8 bits pass through a cast to the op that says their ranges, and stay integers.
TEST(FrozenConvolution, IsOneOfIntegers) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        cast(X=w) -> (Out=wf) {in_dtype=21, out_dtype=5}
        dequantize_linear(X=wf, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=0, bit_length=8}
        quantize_linear(X=x, Scale=xs, ZeroPoint=zero) -> (Y=xq) {quant_axis=-1, bit_length=8}
        dequantize_linear(X=xq, Scale=xs, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1, bit_length=8}
        conv2d(Input=xd, Filter=wd) -> (Output=y)
      })";
  const std::string inputs = Drawn("x", {2, 2, 3, 3}) +
                             "w i8[2,2,1,2] 127 -127 5 0 64 -1 100 3\n"
                             "ws f32[2] 0.5 2\nxs f32[1] 0.8\nzero f32[1] 0\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y"}), "");

  const Program program = ParsedProgram(kProgram);
  Scope scope = *ParseParameters(inputs, "inputs");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto plan = (*executor)->PlanOf({}, {"y"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(**plan), testing::HasSubstr("conv2d on integers"));
}

TEST(QuantizeLinear, FollowsTheMovingAverageOrTheChannels) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        quantize_linear(X=x, Scale=scale, ZeroPoint=zero, InState=state, InAccum=accum) -> (
          Y=xq, OutScale=scale, OutState=state, OutAccum=accum) {quant_axis=-1, is_test=false}
        dequantize_linear(X=xq, Scale=scale, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1}
        quantize_linear(X=w, Scale=before, ZeroPoint=zero) -> (Y=wq, OutScale=ws) {
          quant_axis=1, is_test=false}
        dequantize_linear(X=wq, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=1}
        mul(X=xd, Y=wd) -> (Out=y)
      })",
                          Drawn("x", {3, 4}) + Drawn("w", {4, 2}) + Drawn("before", {2}) +
                              "scale f32[1] 0.5\nstate f32[1] 1\naccum f32[1] 0.5\n"
                              "zero f32[1] 0\n",
                          1e-5, {"xq", "wq", "ws", "y"}),
            "");
}

TEST(AffineQuantizer, FollowsBothEndsOfTheRange) {
  for (const char* attributes :
       {"bit_length=8, unsigned_codes=true", "bit_length=4, round_type=1"}) {
    EXPECT_EQ(
        OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var s f32[1] persistable
        var z f32[1] persistable
        var n f32[1] persistable
        var low f32[1] persistable
        var high f32[1] persistable
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=low, InAccumMax=high) -> (
          Out=q, OutScale=s, OutZeroPoint=z, OutState=n, OutAccumMin=low, OutAccumMax=high) {)",
                                   attributes, R"(}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=d)
      })"),
                      Drawn("x", {3, 10}) +
                          "s f32[1] 1\nz f32[1] 0\nn f32[1] 1\nlow f32[1] -2\nhigh f32[1] 0\n"),
        "");
  }
}

// The range is more than a float holds.
TEST(AffineQuantizer, HasAStepForTheLargestNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=z, InAccumMax=z) -> (
          Out=q, OutScale=step, OutZeroPoint=zero, OutState=count, OutAccumMin=low, OutAccumMax=high) {bit_length=8}
        fake_dequantize_affine(X=q, Scale=step, ZeroPoint=zero) -> (Out=d)
      })",
                          "x f32[3] -3e38 1e38 3e38\ns f32[1] 1\nz f32[1] 0\nn f32[1] 0\n", 0),
            "");
}

// Row major, and channels last as a convolution leaves its output.
TEST(InstanceNorm, AndItsGradients) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        instance_norm(X=y, Scale=scale, Bias=bias) -> (
          Y=z, SavedMean=mean, SavedVariance=deviation) {epsilon=0.01}
        instance_norm_grad(X=y, Scale=scale, SavedMean=mean, SavedVariance=deviation,
          Y@GRAD=dz) -> (X@GRAD=dy, Scale@GRAD=dscale, Bias@GRAD=dbias) {epsilon=0.01}
        instance_norm(X=x) -> (Y=bare, SavedMean=m, SavedVariance=v)
        instance_norm_grad(X=x, Scale=other, SavedMean=m, SavedVariance=v, Y@GRAD=x) -> (
          X@GRAD=dx, Scale@GRAD=d_other, Bias@GRAD=d_none)
      })",
                    Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) + Drawn("scale", {6}) +
                        Drawn("bias", {6}) + Drawn("other", {3}) + Drawn("dz", {2, 6, 4, 4})),
      "");
}

TEST(GroupNorm, NormalizesGroupsOfChannels) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        group_norm(X=x, Scale=scale, Bias=bias) -> (Y=a, Mean=am, Variance=av) {groups=3}
        conv2d(Input=x, Filter=w) -> (Output=y)
        group_norm(X=y) -> (Y=b, Mean=bm, Variance=bv) {groups=2, epsilon=0.1}
      })",
                          Drawn("x", {2, 6, 5, 4}) + Drawn("w", {4, 6, 2, 1}) +
                              Drawn("scale", {6}) + Drawn("bias", {6})),
            "");
}

TEST(Prelu, HasOneSlopeOrThoseOfChannelsOrElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        prelu(X=y, Alpha=one) -> (Out=a) {mode="all"}
        prelu(X=y, Alpha=channels) -> (Out=b) {mode="channel"}
        prelu(X=x, Alpha=others) -> (Out=c) {mode="channel"}
        prelu(X=y, Alpha=elements) -> (Out=d) {mode="element"}
        prelu(X=x, Alpha=columns) -> (Out=e) {mode="channel", data_format="NHWC"}
        prelu_grad(X=y, Alpha=one, Out@GRAD=y) -> (X@GRAD=da, Alpha@GRAD=d_one) {mode="all"}
        prelu_grad(X=y, Alpha=channels, Out@GRAD=y) -> (X@GRAD=db, Alpha@GRAD=d_channels) {
          mode="channel"}
        prelu_grad(X=x, Alpha=others, Out@GRAD=x) -> (X@GRAD=dc, Alpha@GRAD=d_others) {
          mode="channel"}
        prelu_grad(X=y, Alpha=elements, Out@GRAD=y) -> (X@GRAD=dd, Alpha@GRAD=d_elements) {
          mode="element"}
        prelu_grad(X=x, Alpha=columns, Out@GRAD=x) -> (X@GRAD=de, Alpha@GRAD=d_columns) {
          mode="channel", data_format="NHWC"}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) + Drawn("one", {1}) +
                              Drawn("channels", {1, 6, 1, 1}) + Drawn("others", {3}) +
                              Drawn("elements", {6, 4, 4}) + Drawn("columns", {4})),
            "");
}

TEST(Images, AreShuffledAsTheyLie) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        shuffle_channel(X=y) -> (Out=a) {group=2}
        pixel_shuffle(X=y) -> (Out=b) {upscale_factor=2}
        shuffle_channel(X=x) -> (Out=c) {group=4}
        pixel_shuffle(X=x) -> (Out=d) {upscale_factor=2}
      })",
                          Drawn("x", {2, 8, 5, 4}) + Drawn("w", {12, 8, 2, 1})),
            "");
}

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

TEST(Indexing, RefusesWhatIsNoPlace) {
  EXPECT_THAT(OpDifferences("gather(X=x, Index=i) -> (Out=y)", "x f32[2] 1 2\ni i64[1] 2\n"),
              testing::HasSubstr("executor: block 0, op 0 (gather): Index has 2; want 0 to 1"));
  EXPECT_THAT(
      OpDifferences("one_hot_v2(X=i, depth_tensor=[]) -> (Out=y) {depth=2}", "i i64[1] -1\n"),
      testing::HasSubstr("executor: block 0, op 0 (one_hot_v2): X has -1; want 0 to 1"));
}

TEST(Reductions, OfLogicAndProductsAndRunningSums) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        reduce_prod(X=x) -> (Out=product) {dim=[1]}
        reduce_prod(X=x) -> (Out=all) {reduce_all=true}
        less_than(X=x, Y=zero) -> (Out=negative)
        reduce_all(X=negative) -> (Out=rows_all) {dim=[2]}
        reduce_any(X=negative) -> (Out=rows_any) {dim=[0, 2], keep_dim=true}
        reduce_any(X=negative) -> (Out=any) {reduce_all=true}
        cumsum(X=x) -> (Out=a)
        cumsum(X=x) -> (Out=b) {axis=1, exclusive=true}
        cumsum(X=x) -> (Out=c) {axis=0, reverse=true}
        cumsum(X=x) -> (Out=d) {flatten=true, exclusive=true, reverse=true}
      })",
                          Drawn("x", {3, 4, 2}) + "zero f32[1] 0\n"),
            "");
}

// As the reference freezes a convolution and a product: of codes, whose ranges come behind them.
TEST(DequantizedProduct, IsByBothRanges) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        fake_channel_wise_dequantize_max_abs(X=y, Scales=[ranges, range]) -> (Out=a) {
          quant_bits=[8, 4], x_num_col_dims=1}
        fake_channel_wise_dequantize_max_abs(X=m, Scales=[ranges, range]) -> (Out=b) {
          quant_bits=[8, 8], x_num_col_dims=1}
        dequantize_log(X=codes, Dict=numbers) -> (Out=c)
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) +
                              Drawn("ranges", {6}) + Drawn("m", {5, 6}) + Drawn("numbers", {128}) +
                              "range f32[1] 0.75\ncodes i8[4] -128 -1 0 127\n"),
            "");
}

TEST(AffineQuantizer, GoesByTheStepThatItHasInTestMode) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var s f32[1] persistable
        var z f32[1] persistable
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (
          Out=q, OutScale=s, OutZeroPoint=z) {bit_length=8, is_test=true}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=d)
      })",
                          Drawn("x", {3, 10}) + "s f32[1] 0.5\nz f32[1] 3\n"),
            "");
}

// Weights per channel and activations in 8 bits: the sums are exact, their scale is rounded.
TEST(QuantizedConvolution, IsAsIfOnNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        fake_quantize_moving_average_abs_max(X=x, InScale=scale, InState=state, InAccum=accum) -> (
          Out=xq, OutScale=scale, OutState=state, OutAccum=accum) {bit_length=8}
        fake_dequantize_max_abs(X=xq, Scale=scale) -> (Out=xd) {max_range=127.0}
        fake_channel_wise_quantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8, quant_axis=0}
        fake_channel_wise_dequantize_max_abs(X=wq, Scales=ws) -> (Out=wd) {quant_bits=[8], quant_axis=0}
        conv2d(Input=xd, Filter=wd) -> (Output=y)
        conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw)
      })",
                          Drawn("x", {2, 4, 5, 5}) + Drawn("w", {6, 4, 3, 3}) +
                              Drawn("dy", {2, 6, 3, 3}) +
                              "scale f32[1] 0.5\nstate f32[1] 1\naccum f32[1] 0.5\n",
                          1e-5, {"y", "dx", "dw"}),
            "");
}

TEST(QuantizedProduct, IsAsIfOnNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
        fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
          bit_length=4, quant_axis=1}
        mul(X=xd, Y=wd) -> (Out=y)
        mul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dx, Y@GRAD=dw)
      })",
                          Drawn("x", {3, 10}) + Drawn("w", {10, 4}) + Drawn("dy", {3, 4}), 1e-5,
                          {"y", "dx", "dw", "xs", "ws"}),
            "");
}

// The first step finds the ranges, the next ones go by them, and an optimizer has moved them by the
// time that the gradients of the product read what the codes stood for.
TEST(LearnedRange, IsFoundAndMovesAfterItsCodes) {
  for (const char* round_type : {"0", "1"}) {
    EXPECT_EQ(
        OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var xr f32[1] persistable
        var xi f32[1] persistable
        var wr f32[4] persistable
        var wi f32[4] persistable
        fake_quantize_dequantize_lsq(X=x, InScale=xr, InInitialized=xi) -> (
          Out=xd, OutScale=xr, OutInitialized=xi) {bit_length=4, round_type=)",
                                   round_type, R"(}
        fake_channel_wise_quantize_dequantize_lsq(X=w, InScale=wr, InInitialized=wi) -> (
          Out=wd, OutScale=wr, OutInitialized=wi) {bit_length=3, quant_axis=1, round_type=)",
                                   round_type, R"(}
        mul(X=xd, Y=wd) -> (Out=y)
        scale(X=xr) -> (Out=xr) {scale=0.5}
        mul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dxd, Y@GRAD=dwd)
        fake_quantize_dequantize_lsq_grad(X=x, OutScale=xr, Out@GRAD=dxd) -> (
          X@GRAD=dx, InScale@GRAD=dxr) {bit_length=4, per_sample=true, round_type=)",
                                   round_type, R"(}
        fake_channel_wise_quantize_dequantize_lsq_grad(X=w, OutScale=wr, Out@GRAD=dwd) -> (
          X@GRAD=dw, InScale@GRAD=dwr) {bit_length=3, quant_axis=1, round_type=)",
                                   round_type, R"(}
      })"),
                      Drawn("x", {3, 10}) + Drawn("w", {10, 4}) + Drawn("dy", {3, 4}) +
                          "xr f32[1] 0\nxi f32[1] 0\nwr f32[4] 0 1 0 0.5\nwi f32[4] 0 1 0 1\n",
                      1e-5, {"y", "dx", "dw", "dxr", "dwr"}),
        "");
  }
}

TEST(BatchNorm, ByGivenStatisticsHasAGradientToo) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (
          Y=y, MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v) {is_test=true}
        batch_norm_grad(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance, MeanOut=mean,
          VarianceOut=variance, SavedMean=m, SavedVariance=v, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=dscale, Bias@GRAD=dbias) {is_test=true}
      })",
                          Drawn("x", {4, 5, 3, 3}) + Drawn("scale", {5}) + Drawn("bias", {5}) +
                              Drawn("mean", {5}) + "variance f32[5] 1 2 3 4 0.5\n" +
                              Drawn("dy", {4, 5, 3, 3}),
                          1e-5, {"y", "dx", "dscale", "dbias"}),
            "");
}

// At step 2 the value is another, and the observer follows no more.
TEST(Schedule, BeginsAtItsStep) {
  for (const char* steps_before : {"0", "1", "5"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var steps i64[1] persistable
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        increment(X=steps) -> (Out=steps) {step=1.0}
        fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=scale, InState=state,
          InAccum=accum, Step=steps) -> (Out=q, OutScale=scale, OutState=state, OutAccum=accum) {
          bit_length=4, test_from_step=2L}
        select_from_step(X=q, Before=x, Step=steps) -> (Out=y) {from_step=2L}
        select_from_step_grad(Step=steps, Out@GRAD=dy) -> (X@GRAD=dq, Before@GRAD=dx) {
          from_step=2L}
      })",
                            absl::StrCat(Drawn("x", {3, 4}), Drawn("dy", {3, 4}),
                                         "scale f32[1] 0.5\nstate f32[1] 1\naccum f32[1] 0.5\n",
                                         "steps i64[1] ", steps_before, "\n"),
                            1e-5, {"y", "dq", "dx"}),
              "")
        << steps_before;
  }
}

TEST(BatchNorm, WithItsReluIsOneStep) {
  const std::string inputs = Drawn("x", {4, 5, 3, 3}) + Drawn("scale", {5}) + Drawn("bias", {5}) +
                             Drawn("mean", {5}) + "variance f32[5] 1 2 3 4 0.5\n" +
                             Drawn("dz", {4, 5, 3, 3});
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var mean f32[5] persistable
        var variance f32[5] persistable
        batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (
          Y=y, MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v)
        relu(X=y) -> (Out=z)
        relu_grad(Out=z, Out@GRAD=dz) -> (X@GRAD=dy)
        batch_norm_grad(X=x, Scale=scale, Bias=bias, MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=dscale, Bias@GRAD=dbias)
      })",
                          inputs, 1e-5, {"z", "dx", "dscale", "dbias"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
