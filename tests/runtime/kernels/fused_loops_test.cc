// Loops that run block by block, against the kernels that run on whole tensors: the same bits.

#include "runtime/kernels/fused_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/activation.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/reduction.h"
#include "runtime/kernels/softmax.h"
#include "runtime/kernels/threads.h"
#include "runtime/random.h"

namespace fixpoint::kernels {
namespace {

using Floats = std::vector<float>;

Floats Drawn(int64_t size, uint64_t seed) {
  const RandomStream random(seed, 0, 0);
  Floats drawn(size);
  for (int64_t i = 0; i < size; ++i) drawn[i] = static_cast<float>(random.Normal(i));
  return drawn;
}

uint8_t* AddressOf(Floats& floats) { return reinterpret_cast<uint8_t*>(floats.data()); }

struct Case {
  std::string name;
  int64_t outer;  // x [outer, channels, inner]
  int64_t channels;
  int64_t inner;
};

const Case kCases[] = {
    {"OneElement", 1, 1, 1},      {"Tail", 1, 3, 21},           {"ChannelsLast", 50, 37, 1},
    {"ShortRuns", 7, 33, 9},      {"BeyondABlock", 2, 3, 5001}, {"SeveralPieces", 5, 11, 4099},
    {"ManyChannels", 1, 5000, 3},
};

class FusedLoopsOfShapes : public testing::TestWithParam<Case> {
 protected:
  void TearDown() override { UseThreads(1); }
};

// z = |x * c|, of which z, its sum and its maximum over all are held; x * c is not.
TEST_P(FusedLoopsOfShapes, HaveTheBitsOfWholeTensors) {
  const auto& [name, outer, channels, inner] = GetParam();
  const Dims dims = {outer, channels, inner};
  const int64_t size = outer * channels * inner;
  Floats x = Drawn(size, 1);
  Floats c = Drawn(channels, 2);
  const Activation absolute{ActivationFunction::kAbs};
  const std::shared_ptr<Elementwise> product =
      *Elementwise::Plan(Arithmetic::kMul, {dims, {channels, 1}, 1});
  const std::unique_ptr<Reduction> sum = *Reduction::Plan({ReductionType::kSum, dims, {0, 1, 2}});
  const std::unique_ptr<Reduction> most = *Reduction::Plan({ReductionType::kMax, dims, {0, 1, 2}});
  Floats z(size);
  product->Run(x, c, absl::MakeSpan(z));
  Activate(absolute, z, absl::MakeSpan(z));
  Floats sum_of_z(1);
  Floats most_of_z(1);
  sum->Run(z, absl::MakeSpan(sum_of_z));
  most->Run(z, absl::MakeSpan(most_of_z));

  const Repetition itself{size, 1};
  const BlockLoop same = [](const ElementBlock& block) {
    const absl::Span<const float> from = block.In<float>(0);
    std::copy(from.begin(), from.end(), block.Out<float>().begin());
  };
  enum { kX, kC, kProduct, kZ, kSum, kMost, kTensors };
  const std::vector<FusedTensor> tensors = {{4, true}, {4, true}, {4, false},
                                            {4, true}, {4, true}, {4, true}};
  const FusedLoops fused(size, tensors,
                         {{{{kX, itself}, {kC, *product->y_repetition()}},
                           kProduct,
                           std::nullopt,
                           [product](const ElementBlock& block) {
                             product->RunBlock(block.In<float>(0), block.In<float>(1),
                                               block.Out<float>());
                           }},
                          {{{kProduct, itself}},
                           kZ,
                           std::nullopt,
                           [absolute](const ElementBlock& block) {
                             Activate(absolute, block.In<float>(0), block.Out<float>());
                           }},
                          {{{kZ, itself}}, kSum, Folding{Folding::How::kAdd}, same},
                          {{{kZ, itself}}, kMost, Folding{Folding::How::kMax}, same}});
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    Floats made(size);
    Floats sum_made(1);
    Floats most_made(1);
    std::vector<uint8_t*> addresses(kTensors, nullptr);
    addresses[kX] = AddressOf(x);
    addresses[kC] = AddressOf(c);
    addresses[kZ] = AddressOf(made);
    addresses[kSum] = AddressOf(sum_made);
    addresses[kMost] = AddressOf(most_made);
    fused.Run(absl::MakeSpan(addresses));
    EXPECT_EQ(made, z) << threads;
    EXPECT_EQ(sum_made, sum_of_z) << threads;
    EXPECT_EQ(most_made, most_of_z) << threads;
  }
}

// The gradient of a factor for each channel, where each has one run of elements.
TEST_P(FusedLoopsOfShapes, SumTheTermsOfEachRun) {
  const auto& [name, outer, channels, inner] = GetParam();
  const int64_t size = outer * channels * inner;
  const Dims dims = {outer * channels, inner};
  Floats x = Drawn(size, 1);
  Floats c = Drawn(outer * channels, 2);
  Floats dout = Drawn(size, 3);
  const std::shared_ptr<Elementwise> product =
      *Elementwise::Plan(Arithmetic::kMul, {dims, {outer * channels, 1}, 0});
  EXPECT_EQ(product->dy_folding().has_value(), inner > 1);
  if (inner == 1) return;
  Floats dc(c.size());
  product->Backward(x, c, dout, {}, absl::MakeSpan(dc));
  const Repetition itself{size, 1};
  const FusedLoops fused(size, {{4, true}, {4, true}, {4, true}, {4, true}},
                         {{{{0, itself}, {1, *product->y_repetition()}, {2, itself}},
                           3,
                           product->dy_folding(),
                           [product](const ElementBlock& block) {
                             product->TermsOfY(block.In<float>(0), block.In<float>(1),
                                               block.In<float>(2), block.Out<float>());
                           }}});
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    Floats made(c.size());
    std::vector<uint8_t*> addresses = {AddressOf(x), AddressOf(c), AddressOf(dout),
                                       AddressOf(made)};
    fused.Run(absl::MakeSpan(addresses));
    EXPECT_EQ(made, dc) << threads;
  }
}

// The softmax of rows of |x|, times factors of their places, of which only the product is held.
TEST_P(FusedLoopsOfShapes, ComputeRowsAsWholes) {
  const auto& [name, outer, channels, inner] = GetParam();
  const int64_t rows = outer * channels;
  const int64_t size = rows * inner;
  if (!FusedLoops::HoldsRows(inner, 3)) return;
  Floats x = Drawn(size, 1);
  Floats w = Drawn(inner, 2);
  const Activation absolute{ActivationFunction::kAbs};
  Floats expected(size);
  Activate(absolute, x, absl::MakeSpan(expected));
  Softmax({rows, inner}, expected, absl::MakeSpan(expected));
  for (int64_t i = 0; i < size; ++i) expected[i] *= w[i % inner];

  const Repetition itself{size, 1};
  enum { kX, kW, kAbsolute, kSoftmax, kOut, kTensors };
  const FusedLoops fused(
      size, {{4, true}, {4, true}, {4, false}, {4, false}, {4, true}},
      {{{{kX, itself}},
        kAbsolute,
        std::nullopt,
        [absolute](const ElementBlock& block) {
          Activate(absolute, block.In<float>(0), block.Out<float>());
        }},
       {{{kAbsolute, itself}},
        kSoftmax,
        std::nullopt,
        [inner = inner](const ElementBlock& block) {
          const absl::Span<float> out = block.Out<float>();
          Softmax({static_cast<int64_t>(out.size()) / inner, inner}, block.In<float>(0), out);
        },
        inner},
       {{{kSoftmax, itself}, {kW, {inner, 1}}},
        kOut,
        std::nullopt,
        [](const ElementBlock& block) {
          const absl::Span<const float> of_row = block.In<float>(1);
          const absl::Span<float> out = block.Out<float>();
          for (size_t i = 0; i < out.size(); ++i) {
            out[i] = block.In<float>(0)[i] * of_row[i % of_row.size()];
          }
        },
        inner}});
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    Floats made(size);
    std::vector<uint8_t*> addresses(kTensors, nullptr);
    addresses[kX] = AddressOf(x);
    addresses[kW] = AddressOf(w);
    addresses[kOut] = AddressOf(made);
    fused.Run(absl::MakeSpan(addresses));
    EXPECT_EQ(made, expected) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedLoopsOfShapes, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::kernels
