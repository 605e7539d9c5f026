// Which kernel adds up which sums of codes.

#include "runtime/kernels/sums_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/integer_transposed_convolution.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

const Epilogue kToCodes = {{Kind::kRelu}, {Kind::kMultiply, 0.3f}};

ConvolutionShape Convolution(int64_t channels, int64_t filters, int64_t groups, int64_t size,
                             int64_t kernel, int64_t stride = 1) {
  ConvolutionShape shape;
  shape.channels = channels;
  shape.filters = filters;
  shape.groups = groups;
  shape.height = shape.width = size;
  const WindowAxis axis = {kernel, stride, 1, kernel / 2, kernel / 2};
  shape.window = {axis, axis};
  EXPECT_TRUE(CompleteShape(&shape).ok());
  return shape;
}

// Whether a kernel is for VNNI alone.
bool WantsVnni(const SumsKernel& kernel) {
  return !absl::StartsWith(kernel.name, "tiles ") && kernel.name != absl::string_view("floats");
}

// "tiles, oneDNN, oneDNN in two passes", the fastest first: the kernels for VNNI, or those for all
// sets.
std::string KernelsOf(const SumsProblem& problem, bool with_vnni = true) {
  std::vector<absl::string_view> names;
  for (const SumsKernel* const kernel : KernelsFor(problem)) {
    if (WantsVnni(*kernel) == with_vnni) names.push_back(kernel->name);
  }
  return absl::StrJoin(names, ", ");
}

SumsProblem ToCodes(const ConvolutionShape& shape, const SumCoding& coding = CodeType::kUint8) {
  return {shape, coding, kToCodes, OutputType::kUint8};
}
SumsProblem ToFloats(const ConvolutionShape& shape, const SumCoding& coding = CodeType::kUint8) {
  return {shape, coding, {}, OutputType::kFloat};
}

// The exact kernels that take any shape.
constexpr char kOnednn[] = "oneDNN, oneDNN in two passes";
constexpr char kFloatBias[] = "oneDNN, float bias, oneDNN in two passes";
constexpr char kTwoPasses[] = "oneDNN in two passes";

std::string Before(const char* name) { return std::string(name) + ", " + kOnednn; }

class SumsKernels512 : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasAvx512Vnni() || HasAmx()) GTEST_SKIP() << "no AVX-512 VNNI, or AMX";
  }
};

TEST_F(SumsKernels512, HaveTilesForManyProductsThatEndInCodes) {
  const struct {
    ConvolutionShape shape;
    bool has_tiles;
  } kCases[] = {
      {Convolution(64, 64, 1, 56, 3), true},
      {Convolution(16, 16, 1, 32, 3), true},     // one vector of filters
      {Convolution(16, 24, 1, 56, 1), true},     // filters that do not fill vectors
      {Convolution(64, 64, 1, 13, 3), true},     // pixels that do not fill tiles
      {Convolution(3, 64, 1, 224, 7, 2), true},  // the first layer
      {Convolution(64, 64, 4, 56, 3), true},     // groups
      {Convolution(8, 32, 1, 32, 1), false},     // few taps
      {Convolution(512, 512, 1, 1, 1), false},   // too few pixels
      {Convolution(32, 16, 16, 14, 3), false},   // groups of two channels
      {Convolution(32, 64, 32, 14, 3), false},
  };
  for (const auto& test : kCases) {
    const std::string kernels = KernelsOf(ToCodes(test.shape));
    EXPECT_EQ(kernels, test.has_tiles ? Before("tiles") : kOnednn) << test.shape.filters;
    EXPECT_EQ(KernelsOf(ToFloats(test.shape)), kOnednn);
    SumsProblem other_epilogue = ToCodes(test.shape);
    other_epilogue.epilogue = {{Kind::kLeakyRelu, 0.1f}};
    EXPECT_EQ(KernelsOf(other_epilogue), kOnednn);
  }
}

TEST_F(SumsKernels512, HaveLoopsForDepthwiseConvolutionsThatWaitForMemory) {
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(32, 32, 32, 14, 3))), Before("depthwise"));
  EXPECT_EQ(KernelsOf(ToCodes(Convolution(24, 24, 24, 12, 5))), Before("depthwise"));
  // In the caches oneDNN is faster with short rows, and with a stride.
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(32, 32, 32, 7, 3))), kOnednn);
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(32, 32, 32, 28, 3, 2))), kOnednn);
  // Beyond them it is not, with the windows that the loops are for.
  const int64_t channels = ThisMachine().second_cache / 49;
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(channels, channels, channels, 7, 3))),
            Before("depthwise"));
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(channels, channels, channels, 7, 5))), kOnednn);
  // More filters than channels.
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(32, 64, 32, 14, 3))), kOnednn);
}

TEST_F(SumsKernels512, HaveLoopsForOneChannelBeforeAllOthers) {
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(1, 6, 1, 28, 5))), Before("one channel"));
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(1, 6, 1, 28, 3))), Before("one channel"));
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(1, 32, 1, 28, 3))), kOnednn);
  EXPECT_EQ(KernelsOf(ToCodes(Convolution(1, 6, 1, 28, 5))), Before("one channel, tiles"));
  EXPECT_EQ(KernelsOf(ToCodes(Convolution(1, 32, 1, 28, 5))), Before("tiles"));
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(1, 32, 1, 28, 5))), Before("one channel"));
  EXPECT_EQ(KernelsOf(ToFloats(Convolution(1, 1, 1, 28, 5))), Before("one channel, depthwise"));
}

TEST_F(SumsKernels512, HaveTilesThatAddABias) {
  const ConvolutionShape shape = Convolution(16, 24, 1, 56, 1);
  const SumCoding biased = SumCoding(CodeType::kUint8).WithBias();
  EXPECT_EQ(KernelsOf(ToCodes(shape, biased)), std::string("tiles, ") + kFloatBias);
  EXPECT_EQ(KernelsOf(ToFloats(shape, biased)), kFloatBias);
}

TEST(SumsKernels, HaveTilesWithAvxVnniToo) {
  if (BestProductSet() != ProductSet::kAvxVnni) GTEST_SKIP() << "no AVX-VNNI";
  const auto planned = *PlanSums("sums", ToCodes(Convolution(64, 64, 1, 13, 3)));
  EXPECT_EQ(planned->implementation(), MimicsAvxVnni() ? "loops:avx512vl_vnni" : "loops:avx_vnni");
  EXPECT_GT(planned->beside_floats(), 3);
}

TEST_F(SumsKernels512, HaveLoopsForSmallProductsBeforeAllOthers) {
  const struct {
    ProductShape shape;
    bool is_small;
  } kCases[] = {
      {{1, 32, 128, 16}, true},
      {{1, 32, 129, 16}, false},  // many products
      {{1, 1, 256, 256}, true},
      {{1, 1, 256, 257}, false},  // lanes that are left over
      {{1, 8, 64, 10}, true},
      {{1, 8, 63, 10}, false},        // few of them in a sum
      {{1, 7, 64, 10}, false},        // few rows
      {{1, 33, 64, 10}, false},       // many rows
      {{2, 8, 64, 10}, false},        // several matrices
      {{1, 8, 64, 10, true}, false},  // rows that lie apart
      {{1, 8, 64, 10, false, true}, true},
  };
  for (const auto& test : kCases) {
    const SumCoding plain(CodeType::kUint8);
    const auto kernels = [&](const SumCoding& coding) {
      return KernelsOf({test.shape, coding, {}, OutputType::kFloat});
    };
    const std::string first = test.is_small ? "small product, " : "";
    EXPECT_EQ(kernels(plain), first + kOnednn) << test.shape.rows << " " << test.shape.columns;
    EXPECT_EQ(kernels(plain.WithBias()), first + kFloatBias);
  }
}

TEST(SumsKernels, HaveAFloatBiasOnlyWhereFloatsHoldTheSums) {
  if (!HasExactIntegerProducts()) GTEST_SKIP() << "no exact products of 8 bits";
  const SumCoding uint8(CodeType::kUint8);
  const SumCoding int8(CodeType::kInt8);
  const auto kernels = [](int64_t products, const SumCoding& coding) {
    return KernelsOf({ProductShape{1, 64, products, 8}, coding, {}, OutputType::kFloat});
  };
  EXPECT_EQ(kernels(515, uint8), kOnednn);
  EXPECT_EQ(kernels(514, uint8.WithBias()), kFloatBias);
  EXPECT_EQ(kernels(515, uint8.WithBias()), kTwoPasses);
  EXPECT_EQ(kernels(1024, int8.WithBias()), kFloatBias);
  EXPECT_EQ(kernels(1025, int8.WithBias()), kTwoPasses);
}

TEST(SumsKernels, TakeZeroPointsOfWeightsOffInASecondPass) {
  const SumCoding coding = SumCoding(CodeType::kUint8).WithWeightZeroPoints();
  const char* const expected = HasExactIntegerProducts() ? kTwoPasses : "";
  EXPECT_EQ(KernelsOf({ProductShape{1, 4, 64, 8}, coding, kToCodes, OutputType::kUint8}), expected);
  EXPECT_EQ(KernelsOf(ToCodes(Convolution(64, 64, 1, 56, 3), coding)), expected);
  EXPECT_EQ(KernelsOf(ToCodes(Convolution(1, 6, 1, 28, 5), coding)), expected);
  EXPECT_EQ(KernelsOf(ToCodes(Convolution(32, 32, 32, 14, 3), coding)), expected);
}

TEST(SumsKernels, HaveLoopsForMoreStagesThanOnednnTakes) {
  SumsProblem problem = {ProductShape{1, 64, 64, 32}, CodeType::kUint8, {}, OutputType::kInt8};
  problem.epilogue.assign(32, {Kind::kMultiply, 1.5f});
  EXPECT_EQ(KernelsOf(problem), HasExactIntegerProducts() ? kOnednn : "");
  problem.epilogue.push_back({Kind::kRelu});
  EXPECT_EQ(KernelsOf(problem), HasExactIntegerProducts() ? kTwoPasses : "");
}

TEST(SumsKernels, AreTilesOrFloatsOnAnyMachine) {
  const bool has_tiles = BestProductSet() != ProductSet::kNone;
  const auto kernels = [](const SumsProblem& problem) {
    return KernelsOf(problem, /*with_vnni=*/false);
  };
  const std::string in_passes = has_tiles ? "tiles in two passes, floats" : "floats";
  const std::string all = has_tiles ? "tiles through stages, " + in_passes : in_passes;
  for (const ConvolutionShape& shape :
       {Convolution(64, 64, 1, 56, 3), Convolution(3, 8, 1, 13, 5), Convolution(64, 64, 4, 9, 3)}) {
    EXPECT_EQ(kernels(ToCodes(shape)), all);
    EXPECT_EQ(kernels(ToFloats(shape)), all);
    const SumCoding coding = SumCoding(CodeType::kUint8).WithWeightZeroPoints();
    EXPECT_EQ(kernels(ToCodes(shape, coding)), in_passes);
    SumsProblem requantized = ToCodes(shape);
    requantized.epilogue = {{Kind::kRequantize, 1}};
    EXPECT_EQ(kernels(requantized), in_passes);
  }
  const auto product = [](const ProductShape& shape) {
    return SumsProblem{shape, CodeType::kUint8, {}, OutputType::kFloat};
  };
  EXPECT_EQ(kernels(ToCodes(Convolution(32, 32, 32, 14, 3))), all);
  EXPECT_EQ(kernels(product({2, 3, 64, 8})), all);
  // Steps or panels would be mostly empty, or rows lie apart.
  EXPECT_EQ(kernels(ToCodes(Convolution(32, 64, 32, 14, 3))), "floats");
  EXPECT_EQ(kernels(ToCodes(Convolution(32, 16, 16, 14, 3))), "floats");
  EXPECT_EQ(kernels(product({2, 3, 64, 8, true})), "floats");
}

TEST(SumsKernels, SayHowFastTheyAreBesideFloats) {
  const auto rate = [](const SumsProblem& problem) {
    const auto planned = PlanSums("sums", problem);
    EXPECT_TRUE(planned.ok()) << planned.status();
    return (*planned)->beside_floats();
  };
  const double depthwise = rate(ToCodes(Convolution(32, 32, 32, 14, 3)));
  const double few = rate(ToCodes(Convolution(3, 64, 1, 13, 3)));
  const double some = rate(ToCodes(Convolution(64, 64, 1, 13, 1)));
  const double many = rate(ToCodes(Convolution(64, 64, 1, 13, 3)));
  const double row = rate({ProductShape{1, 1, 512, 64}, CodeType::kUint8, {}, OutputType::kFloat});
  const double in_floats = rate(ToCodes(Convolution(32, 16, 16, 14, 3)));
  if (HasVnni()) {
    for (const double exact : {depthwise, few, some, many, row}) EXPECT_GE(exact, 1);
    EXPECT_GT(many, few);
  } else if (BestProductSet() != ProductSet::kNone) {
    EXPECT_LT(few, some);
    for (const double in_pairs : {depthwise, some, many, row}) EXPECT_GT(in_pairs, 1);
    EXPECT_LT(in_floats, 1);
  } else {
    for (const double slow : {depthwise, few, some, many, row, in_floats}) EXPECT_LT(slow, 1);
  }
}

TEST(SumsKernels, SayOfPhasesHowFastTheSlowestIs) {
  // Of two rows and columns of the output one is a sum of 2 taps, and one of 1.
  const ConvolutionShape shape = Convolution(16, 40, 1, 14, 3, 2);
  const auto planned = PlanIntegerTransposedConvolution(shape, CodeType::kUint8);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const auto rate = [](int64_t kernel) {
    return (*PlanSums("sums", ToFloats(Convolution(40, 16, 1, 7, kernel))))->beside_floats();
  };
  EXPECT_EQ((*planned)->beside_floats(), std::min(rate(1), rate(3)));
}

// Epilogues that have each stage but those that requantize, after factors and addends of channels
// that make the elements small; codes are added where the output is codes.
std::vector<Epilogue> EpiloguesOfStages(OutputType output) {
  const auto after_factors = [](const Epilogue& stages) {
    Epilogue epilogue = {{Kind::kMultiplyChannel}, {Kind::kAddChannel}};
    epilogue.insert(epilogue.end(), stages.begin(), stages.end());
    return epilogue;
  };
  std::vector<Epilogue> epilogues = {
      after_factors({{Kind::kHardSwish, 1 / 6.0f, 0.5f}, {Kind::kMultiply, 17}}),
      after_factors({{Kind::kLeakyRelu, 0.1f}, {Kind::kMultiply, 9}, {Kind::kRound}}),
      after_factors({{Kind::kAddElement}, {Kind::kRelu}, {Kind::kMultiply, 3}, {Kind::kAdd, 2}}),
      after_factors({{Kind::kClip, -3, 6}, {Kind::kMultiply, 21}, {Kind::kAddElement}}),
      {{Kind::kRelu}, {Kind::kAddChannel}, {Kind::kMultiplyChannel}, {Kind::kRound}}};
  if (output == OutputType::kFloat) return epilogues;
  for (const bool is_unsigned : {false, true}) {
    epilogues.push_back(after_factors({{Kind::kHardSwish, 1 / 6.0f, 0.5f},
                                       EpilogueStage::AddCodes(is_unsigned, 0.05f, 3),
                                       {Kind::kMultiply, 17}}));
  }
  return epilogues;
}

// Elements of sums, or the codes that they become.
template <typename T>
void ExpectStagesOneByOne(const SumsProblem& problem, const std::vector<float>& elements,
                          const SumOperands& all, const std::vector<int8_t>& weights) {
  std::vector<T> begin(elements.size());
  for (size_t i = 0; i < begin.size(); ++i) begin[i] = static_cast<T>(i % 113);
  std::vector<float> applied = elements;
  std::vector<T> expected = begin;
  Store(problem.epilogue, all.epilogue, absl::MakeSpan(applied), absl::MakeSpan(expected));
  for (const SumsKernel* const kernel : KernelsFor(problem)) {
    // What oneDNN lacks is found when it plans.
    if (absl::StartsWith(kernel->name, "oneDNN")) continue;
    const std::unique_ptr<IntegerSums> sums = kernel->plan(problem);
    SumOperands operands = all;
    const std::vector<uint8_t> packed = Packed(*sums, weights);
    operands.weights = packed;
    std::vector<T> out = begin;
    sums->Run(operands, absl::MakeSpan(out));
    for (size_t i = 0; i < out.size(); ++i) {
      const bool are_nan = out[i] != out[i] && expected[i] != expected[i];
      ASSERT_TRUE(are_nan || out[i] == expected[i])
          << kernel->name << ", element " << i << ": " << +out[i] << " instead of " << +expected[i];
    }
  }
}

TEST(SumsKernels, ApplyTheStagesOneByOne) {
  for (const ConvolutionShape& shape :
       {Convolution(5, 21, 1, 7, 3), Convolution(21, 21, 21, 7, 3), Convolution(64, 48, 1, 8, 1)}) {
    auto draw = [state = 1u](int range) mutable {
      state = state * 1664525u + 1013904223u;
      return static_cast<int>((state >> 16) % (2 * range + 1)) - range;
    };
    std::vector<uint8_t> inputs(shape.input_size());
    for (uint8_t& code : inputs) code = static_cast<uint8_t>(127 + draw(127));
    std::vector<int8_t> weights(shape.filter_size());
    for (int8_t& code : weights) code = static_cast<int8_t>(draw(127));
    std::vector<float> scales(shape.filters);
    std::vector<float> factors(shape.filters);
    for (int64_t c = 0; c < shape.filters; ++c) {
      scales[c] = 1e-4f * static_cast<float>(c + 1);
      factors[c] = 0.1f * static_cast<float>(draw(9));
    }
    factors[3] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> addends(shape.output_size());
    for (float& addend : addends) addend = 0.1f * static_cast<float>(draw(20));
    SumOperands operands = {inputs, {}, scales};

    std::vector<float> elements(shape.output_size());
    const auto plain = PlanSums("sums", ToFloats(shape));
    ASSERT_TRUE(plain.ok()) << plain.status();
    const std::vector<uint8_t> packed = Packed(**plain, weights);
    operands.weights = packed;
    (*plain)->Run(operands, absl::MakeSpan(elements));
    for (const OutputType output : {OutputType::kFloat, OutputType::kUint8, OutputType::kInt8}) {
      for (const Epilogue& epilogue : EpiloguesOfStages(output)) {
        std::vector<absl::Span<const float>> spans;
        for (const EpilogueStage& stage : epilogue) {
          spans.push_back(stage.is_of_channels()            ? absl::MakeSpan(factors)
                          : stage.kind == Kind::kAddElement ? absl::MakeSpan(addends)
                                                            : absl::Span<float>());
        }
        operands.epilogue = spans;
        const SumsProblem problem = {shape, CodeType::kUint8, epilogue, output};
        switch (output) {
          case OutputType::kFloat:
            ExpectStagesOneByOne<float>(problem, elements, operands, weights);
            break;
          case OutputType::kUint8:
            ExpectStagesOneByOne<uint8_t>(problem, elements, operands, weights);
            break;
          case OutputType::kInt8:
            ExpectStagesOneByOne<int8_t>(problem, elements, operands, weights);
            break;
        }
      }
    }
  }
}

TEST(SumsKernels, PlanTheFirstThatThereIs) {
  for (const SumsProblem& problem :
       {ToCodes(Convolution(64, 64, 1, 14, 3)), ToFloats(Convolution(1, 6, 1, 28, 5)),
        ToFloats(Convolution(3, 8, 1, 9, 3)),
        SumsProblem{ProductShape{1, 4, 64, 8}, CodeType::kInt8, kToCodes, OutputType::kInt8}}) {
    const auto planned = PlanSums("a product", problem);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const SumsKernel& first = *KernelsFor(problem).front();
    EXPECT_EQ((*planned)->implementation(), first.plan(problem)->implementation()) << first.name;
  }
}

}  // namespace
}  // namespace fixpoint::kernels
