// Loops over codes give the same bits on one, two and three threads.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "ops/code_range.h"
#include "runtime/kernels/code_conversion.h"
#include "runtime/kernels/code_pooling.h"
#include "runtime/kernels/code_table.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_pooling.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/pooling_shape.h"
#include "runtime/kernels/threads.h"
#include "tests/runtime/kernels/drawn_codes.h"

namespace fixpoint::kernels {
namespace {

// Enough for three threads, and a whole number of neither cache lines nor vectors.
constexpr int64_t kSize = (int64_t{2} << 20) + 37;

template <typename T>
void ExpectSameOnAnyNumber(const std::function<std::vector<T>()>& run) {
  std::vector<T> on_one;
  for (const int count : {1, 2, 3}) {
    const ThreadsInUse threads(count);
    std::vector<T> result = run();
    if (count == 1)
      on_one = std::move(result);
    else
      EXPECT_TRUE(result == on_one) << "on " << count;
  }
}

// One image, of which a row's channels fill no vector: threads meet within it.
PoolingShape LargeImage(PoolingType type) {
  PoolingShape shape;
  shape.type = type;
  shape.channels = 19;
  shape.height = 301;
  shape.width = 299;
  for (WindowAxis& axis : shape.window) axis = {/*kernel=*/3, /*stride=*/2, 1, 1, 1};
  return shape;
}

TEST(CodeThreads, Conversions) {
  std::vector<float> x(kSize);
  for (int64_t i = 0; i < kSize; ++i) x[i] = std::sin(static_cast<float>(i));
  ExpectSameOnAnyNumber<uint8_t>([&] {
    std::vector<uint8_t> codes(kSize);
    Convert(x, {200, 0, 255, 77}, absl::MakeSpan(codes));
    return codes;
  });
  const std::vector<uint8_t> codes = DrawnCodes(kSize);
  ExpectSameOnAnyNumber<float>([&] {
    std::vector<float> numbers(kSize);
    Revert(codes, CodeType::kInt8, 0.0213f, 3, absl::MakeSpan(numbers));
    return numbers;
  });
}

TEST(CodeThreads, Tables) {
  const std::vector<uint8_t> codes = DrawnCodes(kSize);
  std::vector<uint8_t> table(kCodesInByte);
  std::vector<float> numbers(kCodesInByte);
  for (int i = 0; i < kCodesInByte; ++i) {
    table[i] = static_cast<uint8_t>(i * 101);
    numbers[i] = std::sin(static_cast<float>(i));
  }
  ExpectSameOnAnyNumber<uint8_t>([&] {
    std::vector<uint8_t> out = codes;
    LookUp(out, CodeType::kInt8, table.data(), absl::MakeSpan(out));
    return out;
  });
  ExpectSameOnAnyNumber<float>([&] {
    std::vector<float> out(kSize);
    LookUp(codes, CodeType::kUint8, numbers.data(), absl::MakeSpan(out));
    return out;
  });
}

TEST(CodeThreads, Maxima) {
  PoolingShape shape = LargeImage(PoolingType::kMax);
  ASSERT_TRUE(CompleteShape(&shape).ok());
  const std::vector<uint8_t> x = DrawnCodes(shape.input_size());
  ExpectSameOnAnyNumber<uint8_t>([&] {
    std::vector<uint8_t> y(shape.output_size());
    (*CodePooling::Plan(shape))->Run(x, absl::MakeSpan(y));
    return y;
  });
}

TEST(CodeThreads, Averages) {
  PoolingShape shape = LargeImage(PoolingType::kAverage);
  ASSERT_TRUE(CompleteShape(&shape).ok());
  const std::vector<uint8_t> x = DrawnCodes(shape.input_size());
  std::vector<float> residual(shape.output_size());
  for (size_t i = 0; i < residual.size(); ++i) residual[i] = std::sin(static_cast<float>(i));
  const Epilogue epilogue = {{EpilogueStage::Kind::kAddElement},
                             {EpilogueStage::Kind::kMultiply, 60}};
  ExpectSameOnAnyNumber<int8_t>([&] {
    std::vector<int8_t> y(shape.output_size());
    const absl::Span<const float> operands[] = {residual, {}};
    const auto pooling = IntegerPooling::Plan(shape, CodeType::kUint8, epilogue, OutputType::kInt8);
    (*pooling)->Run(x, /*zero_point=*/3, 2.0f / 255, operands, absl::MakeSpan(y));
    return y;
  });
}

}  // namespace
}  // namespace fixpoint::kernels
