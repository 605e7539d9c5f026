// Kernels that are planned for many shapes give the bits that those for one shape give.

#include "runtime/kernels/many_shapes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/deferred_primitives.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/threads.h"
#include "runtime/random.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

std::vector<float> Drawn(int64_t size, uint32_t number) {
  const RandomStream random(1, number, 0);
  std::vector<float> drawn(size);
  for (int64_t i = 0; i < size; ++i) drawn[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  return drawn;
}

// One of each kind of operand; nothing; and what batch norms and activations leave.
std::vector<Epilogue> Epilogues() {
  return {{},
          {{Kind::kAddChannel}, {Kind::kRelu}},
          {{Kind::kMultiplyChannel}, {Kind::kAddChannel}, {Kind::kHardSwish, 1 / 6.f, 0.5f}},
          {{Kind::kAddElement}, {Kind::kLeakyRelu, 0.1f}},
          {{Kind::kMultiply, 0.3f}, {Kind::kAdd, -0.1f}, {Kind::kClip, -1, 1}}};
}

// Operands of an epilogue for an output of that size.
struct Operands {
  Operands(const Epilogue& epilogue, int64_t channels, int64_t size) {
    for (const EpilogueStage& stage : epilogue) {
      const int64_t count = stage.is_of_channels() ? channels : stage.has_operand() ? size : 0;
      values.push_back(Drawn(count, 3 + values.size()));
    }
    spans.assign(values.begin(), values.end());
  }
  std::vector<std::vector<float>> values;
  std::vector<absl::Span<const float>> spans;
};

using Bits = std::vector<uint32_t>;

Bits BitsOf(const std::vector<float>& numbers) {
  Bits bits(numbers.size());
  std::memcpy(bits.data(), numbers.data(), numbers.size() * sizeof(float));
  return bits;
}

Bits RunProduct(const ProductShape& shape, const Epilogue& epilogue, bool is_for_many) {
  const ManyShapes many_shapes(is_for_many);
  const auto product = Product::Plan(shape, epilogue);
  EXPECT_TRUE(product.ok()) << product.status();
  const std::vector<uint8_t> packed = Packed<float>(**product, Drawn(shape.y_size(), 2));
  const Operands operands(epilogue, shape.columns, shape.out_size());
  const std::vector<float> x = Drawn(shape.x_size(), 1);
  std::vector<float> out(shape.out_size());
  (*product)->Run(x, packed, operands.spans, absl::MakeSpan(out));
  return BitsOf(out);
}

TEST(ManyShapes, OfProductsGiveTheSameBits) {
  for (const int threads : {1, 2}) {
    UseThreads(threads);
    for (const int64_t rows : {1, 2, 7, 16, 17, 31, 64, 65, 100, 333}) {
      for (const auto& [inner, columns] : std::vector<std::pair<int64_t, int64_t>>{
               {3, 5}, {16, 16}, {48, 30}, {64, 120}, {256, 96}, {1100, 40}}) {
        for (const bool transposed : {false, true}) {
          const ProductShape shape{1, rows, inner, columns, false, transposed};
          for (size_t e = 0; e < Epilogues().size(); ++e) {
            const Epilogue epilogue = Epilogues()[e];
            ASSERT_EQ(RunProduct(shape, epilogue, true), RunProduct(shape, epilogue, false))
                << rows << "x" << inner << "x" << columns << ", epilogue " << e << ", " << threads
                << " threads";
          }
        }
      }
    }
  }
  UseThreads(1);
}

// A product with its operands, and what it gives alone.
struct PlannedProduct {
  PlannedProduct(const ProductShape& shape, const Epilogue& epilogue, uint32_t number)
      : product(*Product::Plan(shape, epilogue)),
        packed(Packed<float>(*product, Drawn(shape.y_size(), number))),
        operands(epilogue, shape.columns, shape.out_size()),
        x(Drawn(shape.x_size(), number + 1)),
        out(shape.out_size()),
        alone(Run()) {}

  Bits Run() {
    product->Run(x, packed, operands.spans, absl::MakeSpan(out));
    return BitsOf(out);
  }

  std::unique_ptr<Product> product;
  std::vector<uint8_t> packed;
  Operands operands;
  std::vector<float> x;
  std::vector<float> out;
  Bits alone;
};

TEST(ManyShapes, ProductsOfOnePlanDoNotMixTheirOperands) {
  const ManyShapes many_shapes(true);
  const ProductShape shape{1, 100, 48, 30};
  for (const Epilogue& epilogue : Epilogues()) {
    PlannedProduct one(shape, epilogue, 1);
    PlannedProduct other(shape, epilogue, 10);
    EXPECT_NE(one.alone, other.alone);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(one.Run(), one.alone);
      EXPECT_EQ(other.Run(), other.alone);
    }
  }
}

// Whichever thread has planned them.
TEST(ManyShapes, ProductsOfTwoPlansRunAtOnce) {
  UseThreads(1);
  for (const bool is_for_many : {true, false}) {
    for (const int64_t inner : {48, 1001}) {
      const auto planned = [&](uint32_t number) {
        const ManyShapes many_shapes(is_for_many);
        const ProductShape shape{1, 100, inner, 30, false, true};
        return std::make_unique<PlannedProduct>(shape, Epilogues()[1], number);
      };
      const auto run = [](PlannedProduct* product) {
        UseThreads(1);
        for (int i = 0; i < 100; ++i) ASSERT_EQ(product->Run(), product->alone);
      };
      const std::unique_ptr<PlannedProduct> one = planned(1);
      const std::unique_ptr<PlannedProduct> other = planned(10);
      std::thread thread(run, one.get());
      run(other.get());
      thread.join();
    }
  }
}

Bits RunConvolution(const ConvolutionShape& wanted, const Epilogue& epilogue, bool adds_to_output,
                    bool is_for_many) {
  ConvolutionShape shape = wanted;
  EXPECT_TRUE(CompleteShape(&shape).ok());
  const ManyShapes many_shapes(is_for_many);
  const auto convolution = ConvolutionForward::Plan(shape, epilogue, adds_to_output);
  // Not every kernel adds to its output.
  if (adds_to_output && absl::IsUnimplemented(convolution.status())) return {};
  EXPECT_TRUE(convolution.ok()) << convolution.status();
  const std::vector<uint8_t> packed = Packed<float>(**convolution, Drawn(shape.filter_size(), 2));
  Operands operands(epilogue, shape.filters, shape.output_size());
  const std::vector<float> x = Drawn(shape.input_size(), 1);
  std::vector<float> y(shape.output_size());
  for (size_t i = 0; adds_to_output && i < epilogue.size(); ++i) {
    if (epilogue[i].kind == Kind::kAddElement) y = operands.values[i];
  }
  (*convolution)->Run(x, packed, operands.spans, absl::MakeSpan(y));
  return BitsOf(y);
}

ConvolutionShape Images(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.channels = shape.filters = channels;
  shape.height = height;
  shape.width = width;
  return shape;
}

std::string TextOf(const ConvolutionShape& shape) {
  return absl::StrCat(shape.batch, "x", shape.channels, "x", shape.height, "x", shape.width, " to ",
                      shape.filters, ", ", shape.window[0].kernel, "x", shape.window[1].kernel);
}

void ExpectSameBits(const ConvolutionShape& shape) {
  for (const int threads : {1, 2}) {
    UseThreads(threads);
    for (size_t e = 0; e < Epilogues().size(); ++e) {
      const Epilogue epilogue = Epilogues()[e];
      ASSERT_EQ(RunConvolution(shape, epilogue, false, true),
                RunConvolution(shape, epilogue, false, false))
          << TextOf(shape) << ", epilogue " << e << ", " << threads << " threads";
      if (epilogue.empty() || epilogue[0].kind != Kind::kAddElement) continue;
      const Bits in_place = RunConvolution(shape, epilogue, true, true);
      if (in_place.empty()) continue;
      Bits of_one_shape = RunConvolution(shape, epilogue, true, false);
      if (of_one_shape.empty()) of_one_shape = RunConvolution(shape, epilogue, false, false);
      ASSERT_EQ(in_place, of_one_shape) << TextOf(shape) << ", in place, " << threads << " threads";
    }
  }
  UseThreads(1);
}

TEST(ManyShapes, OfWindowsOfOnePixelGiveTheSameBits) {
  for (const int64_t width : {3, 17, 40, 67}) {
    for (const auto& [channels, filters] : std::vector<std::pair<int64_t, int64_t>>{
             {3, 8}, {16, 32}, {17, 48}, {96, 24}, {256, 64}, {512, 16}, {513, 16}, {1024, 24}}) {
      ConvolutionShape shape = Images(2, channels, 7, width);
      shape.filters = filters;
      ExpectSameBits(shape);
    }
  }
}

// What is left where images were averaged.
TEST(ManyShapes, OfImagesOfOnePixelGiveTheSameBits) {
  for (const int64_t batch : {1, 2, 8}) {
    for (const auto& [channels, filters] : std::vector<std::pair<int64_t, int64_t>>{
             {3, 8}, {16, 8}, {40, 10}, {96, 24}, {120, 480}, {512, 64}, {513, 64}, {960, 24}}) {
      ConvolutionShape shape = Images(batch, channels, 1, 1);
      shape.filters = filters;
      ExpectSameBits(shape);
    }
  }
}

TEST(ManyShapes, OfDepthwiseWindowsGiveTheSameBits) {
  for (const int64_t width : {1, 2, 5, 13, 40}) {
    for (const int64_t channels : {2, 16, 24, 40, 96}) {
      for (const int64_t kernel : {3, 5}) {
        for (const auto& [row_stride, column_stride] :
             std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 1}, {2, 2}}) {
          ConvolutionShape shape = Images(2, channels, 6, width);
          shape.groups = channels;
          shape.window[0] = {kernel, row_stride, 1, kernel / 2, kernel / 2};
          shape.window[1] = {kernel, column_stride, 1, kernel / 2, kernel / 2};
          ExpectSameBits(shape);
        }
      }
    }
  }
}

TEST(ManyShapes, OfDilatedDepthwiseWindowsGiveTheSameBits) {
  ConvolutionShape shape = Images(1, 32, 9, 20);
  shape.groups = 32;
  shape.window[0] = {3, 1, 2, 2, 2};
  shape.window[1] = {3, 1, 3, 4, 1};
  ExpectSameBits(shape);
}

// What a new number of rows compiles once the sizes of tiles are there.
TEST(ManyShapes, OfProductsCompileNothingForANewShape) {
  if (BestInstructionSet() != InstructionSet::kAvx512) GTEST_SKIP() << "there are no tiles";
  const ManyShapes many_shapes(true);
  const auto plan = [](int64_t rows) {
    const auto product = Product::Plan({1, rows, 40, 56});
    EXPECT_TRUE(product.ok()) << product.status();
    return PackedFormOf(**product);
  };
  const std::string form = plan(64);
  for (int64_t rows = 65; rows < 129; ++rows) plan(rows);
  const int64_t before = PrimitivesMade();
  for (int64_t rows = 129; rows < 500; rows += 7) EXPECT_EQ(plan(rows), form) << rows;
  EXPECT_EQ(PrimitivesMade(), before);
}

TEST(ManyShapes, OfProductsOfFewRowsCompileNothingForAnotherPlan) {
  if (BestInstructionSet() != InstructionSet::kAvx512) GTEST_SKIP() << "there are no tiles";
  const auto plan = [](int64_t rows) {
    const ManyShapes many_shapes(true);
    const auto product = Product::Plan({1, rows, 44, 52});
    EXPECT_TRUE(product.ok()) << product.status();
  };
  for (int64_t rows = 1; rows <= 16; ++rows) plan(rows);
  const int64_t before = PrimitivesMade();
  for (int64_t rows = 1; rows <= 16; ++rows) plan(rows);
  EXPECT_EQ(PrimitivesMade(), before);
}

}  // namespace
}  // namespace fixpoint::kernels
