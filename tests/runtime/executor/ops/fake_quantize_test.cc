// Ops that quantize and dequantize, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

constexpr const char* kVersions[] = {"1008005", "2006002"};

// A program of one of the releases, which compute the same in other orders.
std::string InRelease(const char* version, absl::string_view ops) {
  return absl::StrCat("program version=", version, "\nblock 0 {\n", ops, "\n}\n");
}

// Each row has a range of its own, and so a step of its own.
TEST(ChannelWiseQuantizeDequantize, GoesByEachChannelsStep) {
  for (const char* version : kVersions) {
    EXPECT_EQ(OpDifferences(InRelease(version, R"(
        fake_channel_wise_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=s) {
          quant_axis=0, bit_length=8}
        fake_quantize_dequantize_at_range(X=x, InScale=r) -> (Out=z) {quant_axis=0, bit_length=8})"),
                            "x f32[2,3] 1 0.5 0.3 10 5 3\nr f32[2] 1 10\n", 1e-6, {"y", "z", "s"}),
              "")
        << version;
  }
}

TEST(ChannelWiseQuantizeDequantize, OfNoChannelsGivesNothing) {
  for (const char* version : kVersions) {
    EXPECT_EQ(OpDifferences(InRelease(version, R"(
        fake_channel_wise_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=s) {
          quant_axis=0, bit_length=8}
        fake_channel_wise_quantize_abs_max(X=x) -> (Out=q, OutScale=t) {
          quant_axis=0, bit_length=8}
        fake_channel_wise_dequantize_max_abs(X=q, Scales=t) -> (Out=z) {
          quant_bits=[8], quant_axis=0})"),
                            "x f32[0,3]\n", 0, {"y", "q", "z", "s"}),
              "")
        << version;
  }
}

// The reference has ranges along the first two axes alone.
TEST(ChannelWiseQuantize, RefusesAnotherAxisThanTheFirstTwo) {
  for (const char* type :
       {"fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max"}) {
    EXPECT_THAT(OpDifferences(InRelease("2006002", absl::StrCat(type, R"((X=x) -> (
        Out=y, OutScale=s) {quant_axis=2, bit_length=8})")),
                              "x f32[1,1,2] 1 2\n"),
                testing::HasSubstr(absl::StrCat("executor: block 0, op 0 (", type,
                                                "): quant_axis is 2 and X is [1, 1, 2]; want 0 or "
                                                "1, an axis of X")))
        << type;
  }
}

// The floats are computed where they are read, from the codes and the scale as they were at the op:
// both variables take other values in between.
TEST(Dequantize, OfWhatIsOverwrittenBeforeItIsRead) {
  EXPECT_EQ(OpDifferences(InRelease("2006002", R"(
        var w i8[3] persistable
        var s f32[1] persistable
        dequantize_linear(X=w, Scale=s, ZeroPoint=z) -> (Y=a) {quant_axis=-1, bit_length=8}
        cast(X=w) -> (Out=c) {in_dtype=21, out_dtype=5}
        dequantize_linear(X=c, Scale=s, ZeroPoint=z) -> (Y=b) {quant_axis=-1, bit_length=8}
        increment(X=s) -> (Out=s) {step=100.0}
        increment(X=w) -> (Out=w) {step=1.0}
        scale(X=a) -> (Out=d) {scale=2.0}
        scale(X=b) -> (Out=e) {scale=2.0})"),
                          "w i8[3] 1 -100 126\ns f32[1] 1\nz f32[1] 0\n", 1e-6, {"d", "e"}),
            "");
}

// The state is what an op finds in the variable of its output, whoever wrote it, and what other
// variables took from it before stays.
TEST(Quantize, FollowsAStateThatOthersReadAndWrite) {
  const char* const ops[] = {
      R"(fake_quantize_range_abs_max(X=x, InScale=r, Iter=i) -> (Out=y, OutScale=r, OutScales=w) {
           window_size=2, bit_length=8})",
      R"(fake_quantize_window_mean_abs_max(X=x, InScale=r, Iter=i) -> (
           Out=y, OutScale=r, OutScales=w) {window_size=2, bit_length=8})",
      R"(fake_channel_wise_quantize_abs_max(X=x) -> (Out=y, OutScale=w) {
           bit_length=8, quant_axis=0, is_test=true})",
      R"(fake_quantize_range_abs_max(X=x, InScale=r) -> (Out=y, OutScale=r, OutScales=w) {
           window_size=2, bit_length=8, is_test=true})",
  };
  // The second reads the state before the quantizer, the third writes it.
  const char* const befores[] = {"", R"(assign(X=w) -> (Out=old)
        reshape2(X=w) -> (Out=view, XShape=shape) {shape=[2, 1]})",
                                 "scale(X=w) -> (Out=w) {scale=3.0}\nscale(X=w) -> (Out=old)"};
  for (const char* const op : ops) {
    for (const char* const before : befores) {
      const std::string program = InRelease("2006002", absl::StrCat(R"(
        var w f32[2] persistable
        var r f32[1] persistable
        var old f32[2] persistable
        var view f32[2,1] persistable
        )",
                                                                    before, "\n", op, R"(
        scale(X=old) -> (Out=a)
        scale(X=view) -> (Out=b)
        scale(X=w) -> (Out=c))"));
      EXPECT_EQ(OpDifferences(program,
                              "x f32[2,2] 1 -0.5 0.25 3\nw f32[2] 2 4\nr f32[1] 4\ni i64[1] 1\n"
                              "old f32[2] 5 6\nview f32[2,1] 7 8\n",
                              0, {"y", "a", "b", "c"}),
                "")
          << program;
    }
  }
}

// A clip to values below 0 gives negative floats, which no unsigned code stands for.
TEST(Quantize, OfAClipHasCodesForWhatIsBelowZero) {
  for (const char* threshold : {"6.0", "0.0", "-1.0"}) {
    EXPECT_EQ(OpDifferences(InRelease("2006002", absl::StrCat(R"(
        mul(X=x, Y=w) -> (Out=t)
        relu6(X=t) -> (Out=v) {threshold=)",
                                                              threshold, R"(}
        fake_quantize_dequantize_abs_max(X=v) -> (Out=q, OutScale=s) {bit_length=9}
        fake_quantize_dequantize_abs_max(X=w) -> (Out=p, OutScale=r) {bit_length=8}
        mul(X=q, Y=p) -> (Out=y))")),
                            "x f32[2,2] 1 2 -3 4\nw f32[2,2] 1 0.5 -2 1\n", 1e-5, {"q", "y"}),
              "")
        << threshold;
  }
}

// The program need not name a variable for the range.
TEST(Quantize, WithoutAPlaceForItsRange) {
  EXPECT_EQ(OpDifferences(InRelease("2006002", R"(
        fake_quantize_abs_max(X=x) -> (Out=a, OutScale=@EMPTY@) {bit_length=8}
        fake_quantize_dequantize_abs_max(X=x) -> (Out=b, OutScale=@EMPTY@) {bit_length=8}
        fake_channel_wise_quantize_abs_max(X=x) -> (Out=c, OutScale=@EMPTY@) {
          bit_length=8, quant_axis=0}
        fake_quantize_moving_average_abs_max(X=x, InScale=r, InState=n, InAccum=m) -> (
          Out=d, OutScale=@EMPTY@, OutState=@EMPTY@, OutAccum=@EMPTY@) {bit_length=8}
        quantize_linear(X=x, Scale=r, ZeroPoint=z, InState=n, InAccum=m) -> (
          Y=e, OutScale=@EMPTY@) {quant_axis=-1, bit_length=8, is_test=false})"),
                          "x f32[2,2] 1 -0.5 0.25 3\nr f32[1] 1\nn f32[1] 1\nm f32[1] 2\n"
                          "z f32[1] 0\n",
                          1e-6),
            "");
}

struct Held {
  const char* ops;
  const char* error;
};

// What an op reads where it names an output alone is nothing, where nothing was initialised.
TEST(Quantize, ByWhatNoVariableHolds) {
  const Held cases[] = {
      {R"(var s f32[2] persistable
        fake_channel_wise_quantize_abs_max(X=x) -> (Out=y, OutScale=s) {
          bit_length=8, quant_axis=0, is_test=true})",
       "output OutScale holds no 2 numbers; want a persistable variable of that size with a value"},
      {R"(var w f32[4] persistable
        fake_quantize_range_abs_max(X=x, InScale=r, Iter=i) -> (Out=y, OutScale=r, OutScales=w) {
          bit_length=8, window_size=4})",
       "output OutScales holds no 4 numbers; want a persistable variable of that size with a "
       "value"},
  };
  for (const auto& [ops, error] : cases) {
    EXPECT_THAT(OpDifferences(InRelease("2006002", ops),
                              "x f32[2,2] 1 -0.5 0.25 3\nr f32[1] 1\ni i64[1] 1\n", 0, {"y"}),
                testing::AllOf(testing::HasSubstr(error), testing::HasSubstr("has no value")));
  }
}

// In test mode a quantizer names its state and leaves it as it is, for the ops after it too.
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

}  // namespace
}  // namespace fixpoint::executor
