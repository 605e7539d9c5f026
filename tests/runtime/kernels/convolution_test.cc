// Convolutions of floats, and their gradients, against plain loops in double.

#include "runtime/kernels/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/threads.h"
#include "tests/runtime/kernels/bfloat16_values.h"
#include "tests/runtime/kernels/convolution_cases.h"

namespace fixpoint::kernels {
namespace {

std::vector<float> Waves(int64_t size, float phase) {
  std::vector<float> values(size);
  for (int64_t i = 0; i < size; ++i) values[i] = std::sin(0.7f * static_cast<float>(i) + phase);
  return values;
}

// A sum in double, and of the magnitudes of what was added: a bound of what floats can be off by.
struct Sum {
  double value = 0;
  double magnitude = 0;

  void Add(double term) {
    value += term;
    magnitude += std::fabs(term);
  }
};

void ExpectNear(const std::vector<float>& actual, const std::vector<Sum>& expected) {
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i].value, 1e-6 * expected[i].magnitude) << i;
  }
}

template <typename T>
std::vector<float> GradientOfFilters(ConvolutionBackwardFilters<T>& backward,
                                     const std::vector<T>& x, const std::vector<T>& dy,
                                     int64_t filter_size) {
  std::vector<uint8_t> work(backward.work_bytes());
  std::vector<float> dfilters(filter_size);
  backward.Run(x, dy, absl::MakeSpan(work), absl::MakeSpan(dfilters));
  return dfilters;
}

class FloatConvolution : public testing::TestWithParam<ConvolutionCase> {
 protected:
  void ExpectGradientOfFilters(ConvolutionBackwardFilters<float>& backward) const {
    const std::vector<float> dfilters = GradientOfFilters(backward, x_, dy_, shape_.filter_size());
    std::vector<Sum> expected(dfilters.size());
    ForEachTap(shape_, [&](int64_t out, int64_t x, int64_t tap) {
      expected[tap].Add(double{x_[x]} * dy_[out]);
    });
    ExpectNear(dfilters, expected);
  }

  const ConvolutionShape shape_ = GetParam().shape;
  const std::vector<float> x_ = Waves(shape_.input_size(), 0.1f);
  const std::vector<float> filters_ = Waves(shape_.filter_size(), 0.5f);
  const std::vector<float> dy_ = Waves(shape_.output_size(), 0.9f);
};

TEST_P(FloatConvolution, RunsForward) {
  const auto forward = ConvolutionForward::Plan(shape_);
  ASSERT_TRUE(forward.ok()) << forward.status();
  EXPECT_FALSE(IsSlow((*forward)->implementation())) << (*forward)->implementation();
  std::vector<float> y(shape_.output_size());
  (*forward)->Run(x_, Packed(**forward, filters_), {}, absl::MakeSpan(y));
  std::vector<Sum> expected(y.size());
  ForEachTap(shape_, [&](int64_t out, int64_t x, int64_t tap) {
    expected[out].Add(double{x_[x]} * filters_[tap]);
  });
  ExpectNear(y, expected);
}

TEST_P(FloatConvolution, GivesTheGradientOfImages) {
  const auto backward = ConvolutionBackwardImages<float>::Plan(shape_);
  ASSERT_TRUE(backward.ok()) << backward.status();
  EXPECT_FALSE(IsSlow((*backward)->implementation())) << (*backward)->implementation();
  std::vector<float> dx(shape_.input_size());
  (*backward)->Run(dy_, Packed(**backward, filters_), absl::MakeSpan(dx));
  std::vector<Sum> expected(dx.size());
  ForEachTap(shape_, [&](int64_t out, int64_t x, int64_t tap) {
    expected[x].Add(double{dy_[out]} * filters_[tap]);
  });
  ExpectNear(dx, expected);
}

TEST_P(FloatConvolution, GivesTheGradientOfFilters) {
  const auto backward = ConvolutionBackwardFilters<float>::Plan(shape_);
  ASSERT_TRUE(backward.ok()) << backward.status();
  EXPECT_FALSE(IsSlow((*backward)->implementation())) << (*backward)->implementation();
  ExpectGradientOfFilters(**backward);
}

class Bfloat16Convolution : public FloatConvolution {
 protected:
  void SetUp() override {
    if (!HasBfloat16Products()) GTEST_SKIP() << "for processors with AVX512_BF16";
  }

  const std::vector<Bfloat16> rounded_x_ = InBfloat16(x_);
  const std::vector<Bfloat16> rounded_filters_ = InBfloat16(filters_);
  const std::vector<Bfloat16> rounded_dy_ = InBfloat16(dy_);
};

TEST_P(Bfloat16Convolution, GivesTheGradientOfImages) {
  const auto backward = ConvolutionBackwardImages<Bfloat16>::Plan(shape_);
  ASSERT_TRUE(backward.ok()) << backward.status();
  EXPECT_FALSE(IsSlow((*backward)->implementation())) << (*backward)->implementation();
  std::vector<float> dx(shape_.input_size());
  (*backward)->Run(rounded_dy_, Packed(**backward, filters_), absl::MakeSpan(dx));
  std::vector<Sum> expected(dx.size());
  ForEachTap(shape_, [&](int64_t out, int64_t x, int64_t tap) {
    expected[x].Add(double{ValueOf(rounded_dy_[out])} * ValueOf(rounded_filters_[tap]));
  });
  ExpectNear(dx, expected);
}

TEST_P(Bfloat16Convolution, GivesTheGradientOfFilters) {
  const auto backward = ConvolutionBackwardFilters<Bfloat16>::Plan(shape_);
  ASSERT_TRUE(backward.ok()) << backward.status();
  EXPECT_FALSE(IsSlow((*backward)->implementation())) << (*backward)->implementation();
  const std::vector<float> dfilters =
      GradientOfFilters(**backward, rounded_x_, rounded_dy_, shape_.filter_size());
  std::vector<Sum> expected(dfilters.size());
  ForEachTap(shape_, [&](int64_t out, int64_t x, int64_t tap) {
    expected[tap].Add(double{ValueOf(rounded_x_[x])} * ValueOf(rounded_dy_[out]));
  });
  ExpectNear(dfilters, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Bfloat16Convolution, testing::ValuesIn(ConvolutionCases()),
                         [](const auto& info) { return info.param.name; });

// A kernel runs in any thread, while another one that the same thread planned runs.
TEST_P(FloatConvolution, RunsInThreadsThatDidNotPlanIt) {
  UseThreads(1);
  const auto one = ConvolutionBackwardFilters<float>::Plan(shape_);
  const auto other = ConvolutionBackwardFilters<float>::Plan(shape_);
  ASSERT_TRUE(one.ok()) << one.status();
  const std::vector<float> alone = GradientOfFilters(**one, x_, dy_, shape_.filter_size());
  const auto run = [&](ConvolutionBackwardFilters<float>* kernel) {
    UseThreads(1);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(GradientOfFilters(*kernel, x_, dy_, shape_.filter_size()), alone);
    }
  };
  std::thread first(run, one->get());
  std::thread second(run, other->get());
  first.join();
  second.join();
}

INSTANTIATE_TEST_SUITE_P(Shapes, FloatConvolution, testing::ValuesIn(ConvolutionCases()),
                         [](const auto& info) { return info.param.name; });

// Gradients that are computed in parts.
class ConvolutionInParts : public Bfloat16Convolution {
 protected:
  void SetUp() override {}

  template <typename T>
  std::vector<float> GradientOn(int threads, const std::vector<T>& x,
                                const std::vector<T>& dy) const {
    const ThreadsInUse in_use(threads);
    const auto backward = ConvolutionBackwardFilters<T>::Plan(shape_);
    EXPECT_TRUE(backward.ok()) << backward.status();
    return GradientOfFilters(**backward, x, dy, shape_.filter_size());
  }
};

TEST_P(ConvolutionInParts, GivesTheGradientOfFilters) {
  const auto backward = ConvolutionBackwardFilters<float>::Plan(shape_);
  ASSERT_TRUE(backward.ok()) << backward.status();
  ExpectGradientOfFilters(**backward);
}

TEST_P(ConvolutionInParts, GivesTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<float> on_one = GradientOn(1, x_, dy_);
  for (const int threads : {2, 3, 4, 7}) EXPECT_EQ(GradientOn(threads, x_, dy_), on_one) << threads;
}

TEST_P(ConvolutionInParts, GivesTheSameBitsInBfloat16) {
  if (!HasBfloat16Products()) GTEST_SKIP() << "for processors with AVX512_BF16";
  const std::vector<float> on_one = GradientOn(1, rounded_x_, rounded_dy_);
  for (const int threads : {2, 3, 4, 7}) {
    EXPECT_EQ(GradientOn(threads, rounded_x_, rounded_dy_), on_one) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionInParts, testing::ValuesIn(ConvolutionsInParts()),
                         [](const auto& info) { return info.param.name; });

// oneDNN has slow kernels for some.
class ColumnInPadding : public FloatConvolution {};

TEST_P(ColumnInPadding, LeavesTheGradientOfFiltersToFloats) {
  EXPECT_FALSE(GradientsForBfloat16(shape_).filters);
  if (HasBfloat16Products()) {
    EXPECT_EQ(ConvolutionBackwardFilters<Bfloat16>::Plan(shape_).status(),
              absl::UnimplementedError("a column of the filters meets nothing but padding, which "
                                       "bf16 is not for; want f32"));
  }
  const auto backward = ConvolutionBackwardFilters<float>::Plan(shape_);
  ASSERT_TRUE(backward.ok()) << backward.status();
  ExpectGradientOfFilters(**backward);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ColumnInPadding,
                         testing::ValuesIn(ColumnInPaddingConvolutionCases()),
                         [](const auto& info) { return info.param.name; });

TEST(GradientsForBfloat16, AreThoseOfFiltersInOtherShapes) {
  for (const ConvolutionCase& test : ConvolutionCases()) {
    EXPECT_TRUE(GradientsForBfloat16(test.shape).filters) << test.name;
  }
}

struct WrongShape {
  const char* message;
  ConvolutionShape shape;
};

TEST(ConvolutionShapes, AreRefusedWhereOneDnnCannotCountThem) {
  const auto shape = [](auto change) {
    ConvolutionShape shape;
    shape.height = shape.width = 5;
    change(shape);
    return shape;
  };
  const WrongShape cases[] = {
      {"filters and groups [1099511627776, 1]; want extents of 1 to 2^31 - 1",
       shape([](auto& s) { s.filters = int64_t{1} << 40; })},
      {"images [0, 1, 5, 5]; want extents of 1 to 2^31 - 1", shape([](auto& s) { s.batch = 0; })},
      {"kernel, stride and dilation [1, 0, 1]; want extents of 1 to 2^31 - 1",
       shape([](auto& s) { s.window[0].stride = 0; })},
      {"kernel, stride and dilation [0, 1, 1]; want extents of 1 to 2^31 - 1",
       shape([](auto& s) { s.window[1].kernel = 0; })},
      {"a padding is -1; want 0 to 2^31 - 1", shape([](auto& s) { s.window[1].pad_after = -1; })},
  };
  for (const auto& [message, wrong] : cases) {
    EXPECT_EQ(ConvolutionForward::Plan(wrong).status(), absl::InvalidArgumentError(message));
  }
}

}  // namespace
}  // namespace fixpoint::kernels
