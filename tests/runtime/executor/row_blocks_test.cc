// Steps that compute rows from rows become one that runs on blocks of them, where what they hand on
// exceeds the cache, with the bits of the steps one by one: those of a run that checks for finite
// numbers, which makes no blocks.

#include "runtime/executor/row_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/scope.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using Names = std::vector<std::string>;

constexpr char kScores[] =
    "integer_matmul(X=q, Y=k, Scales=s) -> (Out=scores) {trans_y=true, epilogue=[\"multiply\"], "
    "epilogue_a=[0.125], epilogue_b=[0.0]}\n";
constexpr char kToCodes[] =
    "integer_quantize(X=p) -> (Out=c) {multiplier=255.0, smallest_code=0, out_dtype=20, "
    "out_range=1.0, out_largest_code=255}\n";
constexpr char kValues[] = "integer_matmul(X=c, Y=v, Scales=t) -> (Out=out)\n";

std::string Attention() {
  return absl::StrCat(kScores, "softmax(X=scores) -> (Out=p)\n", kToCodes, kValues);
}
// With something between the scores and softmax.
std::string AttentionWith(const std::string& op) {
  return absl::StrCat(kScores, op, "softmax(X=masked) -> (Out=p)\n", kToCodes, kValues);
}

// Attention of `batch` samples with so many heads of width 64.
struct Sizes {
  int64_t batch;
  int64_t heads;
  int64_t positions;
};

// The scores of a few heads stay in the cache, all of them do not.
constexpr Sizes kShort = {48, 16, 64};
// The scores of one head exceed it: a block has two heads or more, so that there are no blocks.
constexpr Sizes kLong = {1, 2, 777};

class Attended {
 public:
  Attended(const Sizes& sizes, const std::string& ops)
      : program_(ParsedProgram(absl::StrCat("program version=2006002\nblock 0 {\n", ops, "}\n"))) {
    const auto [batch, heads, positions] = sizes;
    const std::vector<int64_t> of_all = {batch, heads, positions, 64};
    const std::pair<const char*, std::vector<int64_t>> codes_of[] = {
        {"q", of_all},     {"k", of_all},       {"v", of_all},
        {"up", {64, 256}}, {"down", {256, 64}}, {"square", {64, 64}}};
    for (const auto& [name, dims] : codes_of) {
      Tensor codes = *Tensor::Allocate(VarType::INT8, dims);
      Fill(name, -127, 255, codes.mutable_data<int8_t>());
      scope_.Set(name, std::move(codes));
    }
    const std::pair<const char*, std::vector<int64_t>> numbers[] = {
        {"n", of_all},
        {"s", {positions}},
        {"t", {64}},
        {"e", {256}},
        {"one", {1}},
        {"columns", {positions}},
        {"causal", {positions, positions}},
        {"of_heads", {heads, positions, positions}},
        {"of_head", {heads, 1, 1}},
        {"padding", {batch, 1, 1, positions}},
        {"all", {batch, heads, positions, positions}}};
    for (const auto& [name, dims] : numbers) {
      Tensor tensor = *Tensor::Allocate(VarType::FP32, dims);
      Fill(name, 0.0005f, 0.002f, tensor.mutable_data<float>());
      scope_.Set(name, std::move(tensor));
    }
  }

  // The steps of a run, with n for the number of blocks.
  std::string StepsFor(const Names& fetches) {
    ExecutorOptions options;
    options.threads = 1;
    const auto executor = *Executor::Create(program_, &scope_, options);
    const auto plan = executor->PlanOf({}, fetches);
    if (!plan.ok()) return std::string(plan.status().message());
    const std::string steps = absl::StrJoin(
        (*plan)->steps, "\n",
        [](std::string* text, const Step& step) { absl::StrAppend(text, step.name); });
    return std::regex_replace(steps, std::regex("in [0-9]+ blocks"), "in n blocks");
  }

  void ExpectBitsOfStepsOneByOne(const Names& fetches) {
    ExecutorOptions one_by_one;
    one_by_one.check_finite = true;
    const auto expected = (*Executor::Create(program_, &scope_, one_by_one))->Run({}, fetches, 0);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (const int threads : {1, 2}) {
      ExecutorOptions options;
      options.threads = threads;
      const auto executor = *Executor::Create(program_, &scope_, options);
      for (int run = 0; run < 2; ++run) {
        const auto got = executor->Run({}, fetches, 0);
        ASSERT_TRUE(got.ok()) << got.status();
        for (size_t i = 0; i < fetches.size(); ++i) {
          EXPECT_TRUE((*got)[i].bytes() == (*expected)[i].bytes())
              << fetches[i] << " on " << threads << " threads";
        }
      }
    }
  }

 private:
  // Numbers from `least` on that seem random.
  template <typename T>
  static void Fill(const char* name, float least, float span, absl::Span<T> values) {
    uint32_t state = static_cast<uint32_t>(*name);
    for (T& value : values) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<T>(least + span * static_cast<float>(state >> 8) * 0x1p-24f);
    }
  }

  const Program program_;
  Scope scope_;
};

// Kernels that pack several matrices have no rows.
#define SKIP_IF_PACKED() \
  if (!kernels::HasExactIntegerProducts()) GTEST_SKIP() << "keys and values are packed"

TEST(RowBlocks, MakeOneStepOfAttention) {
  SKIP_IF_PACKED();
  EXPECT_EQ(Attended(kShort, Attention()).StepsFor({"out"}),
            "integer_matmul + multiply, softmax + integer_quantize, integer_matmul in n blocks");
}

TEST(RowBlocks, AreNotForWhatTheCacheHolds) {
  SKIP_IF_PACKED();
  EXPECT_EQ(Attended({1, 2, 16}, Attention()).StepsFor({"out"}),
            "integer_matmul + multiply\nsoftmax + integer_quantize\ninteger_matmul");
}

TEST(RowBlocks, AreNotForLessThanTwoHeads) {
  SKIP_IF_PACKED();
  EXPECT_EQ(Attended(kLong, Attention()).StepsFor({"out"}),
            "integer_matmul + multiply\nsoftmax + integer_quantize\ninteger_matmul");
}

TEST(RowBlocks, LeaveWhatOthersRead) {
  SKIP_IF_PACKED();
  Attended attended(kShort, Attention());
  EXPECT_EQ(attended.StepsFor({"out", "scores"}),
            "integer_matmul + multiply\nsoftmax + integer_quantize, integer_matmul in n blocks");
  EXPECT_EQ(attended.StepsFor({"out", "c"}),
            "integer_matmul + multiply, softmax + integer_quantize in n blocks\ninteger_matmul");
}

TEST(RowBlocks, TakeMasksThatRepeatForRows) {
  SKIP_IF_PACKED();
  for (const char* mask : {"one", "columns", "causal", "of_heads", "of_head", "all"}) {
    Attended attended(kShort, AttentionWith(absl::Substitute(
                                  "elementwise_add(X=scores, Y=$0) -> (Out=masked)\n", mask)));
    EXPECT_EQ(attended.StepsFor({"out"}),
              "integer_matmul + multiply, elementwise_add + softmax + integer_quantize, "
              "integer_matmul in n blocks")
        << mask;
  }
  // One that differs between samples is added by a step of its own kind.
  EXPECT_EQ(
      Attended(kShort, AttentionWith("elementwise_add(X=scores, Y=padding) -> (Out=masked)\n"))
          .StepsFor({"out"}),
      "integer_matmul + multiply, elementwise_add, softmax + integer_quantize, "
      "integer_matmul in n blocks");
}

TEST(RowBlocks, ComeAfterWhatTheyReadAndBeforeWhatReadsThem) {
  SKIP_IF_PACKED();
  Attended attended(kShort, absl::StrCat(kScores, "scale(X=one) -> (Out=half) {scale=0.5}\n",
                                         "softmax(X=scores) -> (Out=p)\n", kToCodes,
                                         "elementwise_mul(X=t, Y=half) -> (Out=u)\n",
                                         "integer_matmul(X=c, Y=v, Scales=u) -> (Out=out)\n"));
  EXPECT_EQ(attended.StepsFor({"out"}),
            "scale\nelementwise_mul\n"
            "integer_matmul + multiply, softmax + integer_quantize, integer_matmul in n blocks");
}

// What lies between the products of an encoder's second half, for each sample's positions.
std::string Inner() {
  return "integer_mul(X=q, Y=up, Scales=e) -> (Out=inner) {x_num_col_dims=3}\n"
         "gelu(X=inner) -> (Out=g)\n"
         "integer_quantize(X=g) -> (Out=c) {multiplier=50.0, smallest_code=-128, out_dtype=21, "
         "out_range=2.5, out_largest_code=127}\n"
         "integer_mul(X=c, Y=down, Scales=t, Operands=[v]) -> (Out=sum) {x_num_col_dims=3, "
         "epilogue=[\"add_int8\"], epilogue_a=[0.05], epilogue_b=[0.0]}\n"
         "layer_norm(X=sum) -> (Y=out, Mean=m, Variance=w) {begin_norm_axis=3}\n";
}

TEST(RowBlocks, MakeOneStepOfProductsWithWeights) {
  if (!kernels::HasExactIntegerProducts()) GTEST_SKIP() << "the kernels of blocks are others";
  EXPECT_EQ(Attended(kShort, Inner()).StepsFor({"out"}),
            "pack weights\npack weights\n"
            "integer_mul, gelu + integer_quantize, integer_mul + add_int8, layer_norm in n blocks");
}

TEST(RowBlocks, OfProductsWithWeightsHaveTheBitsOfStepsOneByOne) {
  Attended inner(kShort, Inner());
  inner.ExpectBitsOfStepsOneByOne({"out"});
  inner.ExpectBitsOfStepsOneByOne({"out", "c"});
  inner.ExpectBitsOfStepsOneByOne({"out", "inner"});
}

TEST(RowBlocks, LeaveWhatIsReadInOtherRows) {
  // Each block of b reads four times as many rows of h, which the first step writes.
  Attended(kShort,
           "scale(X=n) -> (Out=h) {scale=2.0}\n"
           "integer_quantize(X=h) -> (Out=c) {multiplier=25000.0, smallest_code=-128, "
           "out_dtype=21, out_range=0.005, out_largest_code=127}\n"
           "integer_mul(X=c, Y=up, Scales=e) -> (Out=a) {x_num_col_dims=3}\n"
           "reshape2(X=a) -> (Out=b, XShape=unused) {shape=[4, 48, 16, 64, 64]}\n"
           "elementwise_add(X=b, Y=h) -> (Out=out)\n")
      .ExpectBitsOfStepsOneByOne({"out"});
}

TEST(RowBlocks, LeaveLoopsOfMoreOperandsThanCanBeFused) {
  Attended(kShort,
           "integer_mul(X=q, Y=square, Scales=t) -> (Out=a) {x_num_col_dims=3}\n"
           "sum(X=[a, n, n, n, n, n, n, n, n]) -> (Out=out)\n")
      .ExpectBitsOfStepsOneByOne({"out"});
}

class BlocksOf : public testing::TestWithParam<Sizes> {};

TEST_P(BlocksOf, HaveTheBitsOfStepsOneByOne) {
  Attended(GetParam(), Attention()).ExpectBitsOfStepsOneByOne({"out"});
  Attended(GetParam(), Attention()).ExpectBitsOfStepsOneByOne({"out", "c"});
  for (const char* mask : {"one", "columns", "causal", "of_heads", "of_head", "padding", "all"}) {
    Attended(GetParam(), AttentionWith(absl::Substitute(
                             "elementwise_add(X=scores, Y=$0) -> (Out=masked)\n", mask)))
        .ExpectBitsOfStepsOneByOne({"out"});
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BlocksOf,
                         testing::Values(kShort, kLong, Sizes{7, 30, 65}, Sizes{4, 8, 130}));

}  // namespace
}  // namespace fixpoint::executor
