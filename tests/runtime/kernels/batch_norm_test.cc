// Batch normalization and its gradients against plain loops in double.

#include "runtime/kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/quant_math.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

using Relu = BatchNormShape::Relu;

struct Case {
  std::string name;
  BatchNormShape shape;
};

// One element per channel each.
struct Statistics {
  explicit Statistics(int64_t channels)
      : mean(channels),
        variance(channels),
        inverse_deviation(channels),
        factors(channels),
        addends(channels) {}

  std::vector<float> mean, variance, inverse_deviation, factors, addends;
  const BatchStatistics spans = {absl::MakeSpan(mean), absl::MakeSpan(variance),
                                 absl::MakeSpan(inverse_deviation), absl::MakeSpan(factors),
                                 absl::MakeSpan(addends)};
};

class BatchNorms : public testing::TestWithParam<Case> {
 protected:
  // What plain loops give for one channel of x, whose other elements are `channels` apart.
  struct Channel {
    double mean = 0;
    double variance = 0;
    double dscale = 0;
    double dbias = 0;
    std::vector<double> y;
    std::vector<double> dx;
  };

  Channel Expected(int64_t c) const {
    Channel of;
    const int64_t count = shape_.size() / shape_.channels;
    const double n = static_cast<double>(count);
    const auto x = [&](int64_t i) { return double{x_[i * shape_.channels + c]}; };
    for (int64_t i = 0; i < count; ++i) of.mean += x(i) / n;
    for (int64_t i = 0; i < count; ++i) of.variance += (x(i) - of.mean) * (x(i) - of.mean) / n;
    const double inverse = 1 / std::sqrt(of.variance + shape_.epsilon);
    const auto normal = [&](int64_t i) { return (x(i) - of.mean) * inverse; };
    std::vector<double> dy(count);
    for (int64_t i = 0; i < count; ++i) {
      const double y = normal(i) * scale_[c] + bias_[c];
      of.y.push_back(has_relu_ ? std::max(0.0, y) : y);
      dy[i] = has_relu_ && y <= 0 ? 0 : double{dy_[i * shape_.channels + c]};
      of.dbias += dy[i];
      of.dscale += dy[i] * normal(i);
    }
    for (int64_t i = 0; i < count; ++i) {
      of.dx.push_back(scale_[c] * inverse * (dy[i] - of.dbias / n - normal(i) * of.dscale / n));
    }
    return of;
  }

  std::vector<float> Waves(int64_t size, float step) const {
    std::vector<float> values(size);
    for (int64_t i = 0; i < size; ++i) values[i] = std::sin(step * static_cast<float>(i)) + 0.2f;
    return values;
  }

  const BatchNormShape shape_ = GetParam().shape;
  const bool has_relu_ = shape_.relu != Relu::kNone;
  const std::vector<float> x_ = Waves(shape_.size(), 0.7f);
  const std::vector<float> dy_ = Waves(shape_.size(), 0.3f);
  const std::vector<float> scale_ = Waves(shape_.channels, 2.1f);
  const std::vector<float> bias_ = Waves(shape_.channels, 1.3f);
};

TEST_P(BatchNorms, EqualPlainLoops) {
  const auto planned = BatchNorm::Plan(shape_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  BatchNorm& norm = **planned;
  Statistics statistics(shape_.channels);
  float range = 0;
  norm.FindStatistics(x_, scale_, bias_, statistics.spans, &range);
  std::vector<float> y(x_.size());
  norm.Normalize(x_, statistics.spans, absl::MakeSpan(y));
  EXPECT_EQ(range, AbsMax(y));
  std::vector<float> dx = dy_;
  std::vector<float> dscale(shape_.channels);
  std::vector<float> dbias(shape_.channels);
  std::vector<float> means(shape_.channels);
  std::vector<float> slopes(shape_.channels);
  const GradientStatistics of_gradient = {absl::MakeSpan(means), absl::MakeSpan(slopes)};
  norm.FindGradientStatistics(x_, dx, statistics.spans, of_gradient, absl::MakeSpan(dscale),
                              absl::MakeSpan(dbias));
  norm.Backward(x_, dx, statistics.spans, of_gradient, absl::MakeSpan(dx));
  const double sums = 1e-6 * static_cast<double>(shape_.size() / shape_.channels);
  for (int64_t c = 0; c < shape_.channels; ++c) {
    SCOPED_TRACE(c);
    const Channel expected = Expected(c);
    EXPECT_NEAR(statistics.mean[c], expected.mean, 1e-6);
    EXPECT_NEAR(statistics.variance[c], expected.variance, 1e-6);
    EXPECT_NEAR(dscale[c], expected.dscale, sums + 1e-4);
    EXPECT_NEAR(dbias[c], expected.dbias, sums + 1e-4);
    for (size_t i = 0; i < expected.y.size(); ++i) {
      ASSERT_NEAR(y[i * shape_.channels + c], expected.y[i], 1e-4) << i;
      ASSERT_NEAR(dx[i * shape_.channels + c], expected.dx[i], 1e-4) << i;
    }
  }
}

TEST_P(BatchNorms, GiveTheSameBitsOnAnyNumberOfThreads) {
  const auto planned = BatchNorm::Plan(shape_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<std::vector<float>> on_one;
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    const auto of_channels = [&] { return std::vector<float>(shape_.channels); };
    Statistics statistics(shape_.channels);
    float range = 0;
    (*planned)->FindStatistics(x_, scale_, bias_, statistics.spans, &range);
    std::vector<float> means = of_channels(), slopes = of_channels(), dscale = of_channels(),
                       dbias = of_channels(), dx(x_.size());
    const GradientStatistics of_gradient = {absl::MakeSpan(means), absl::MakeSpan(slopes)};
    (*planned)->FindGradientStatistics(x_, dy_, statistics.spans, of_gradient,
                                       absl::MakeSpan(dscale), absl::MakeSpan(dbias));
    (*planned)->Backward(x_, dy_, statistics.spans, of_gradient, absl::MakeSpan(dx));
    const std::vector<std::vector<float>> all = {
        statistics.mean, statistics.variance, {range}, dscale, dbias, dx};
    if (threads == 1) on_one = all;
    EXPECT_EQ(all, on_one) << threads;
  }
}

TEST_P(BatchNorms, RoundTheirGradientsToBfloat16) {
  auto norm = BatchNorm::Plan(shape_);
  ASSERT_TRUE(norm.ok()) << norm.status();
  const int64_t channels = shape_.channels;
  const Statistics statistics(channels);
  float range;
  (*norm)->FindStatistics(x_, scale_, bias_, statistics.spans, &range);
  std::vector<float> means(channels), slopes(channels), dscale(channels), dbias(channels);
  const GradientStatistics of_gradient = {absl::MakeSpan(means), absl::MakeSpan(slopes)};
  (*norm)->FindGradientStatistics(x_, dy_, statistics.spans, of_gradient, absl::MakeSpan(dscale),
                                  absl::MakeSpan(dbias));
  std::vector<float> dx(x_.size());
  (*norm)->Backward(x_, dy_, statistics.spans, of_gradient, absl::MakeSpan(dx));
  std::vector<Bfloat16> expected(dx.size());
  std::vector<Bfloat16> rounded(dx.size());
  (*norm)->Backward(x_, dy_, statistics.spans, of_gradient, {}, absl::MakeSpan(rounded));
  RoundToBfloat16(dx, absl::MakeSpan(expected));
  EXPECT_EQ(rounded, expected);
  std::vector<float> multipliers(channels);
  for (int64_t c = 0; c < channels; ++c) multipliers[c] = 1 + static_cast<float>(c % 7) / 7;
  (*norm)->Backward(x_, dy_, statistics.spans, of_gradient, multipliers, absl::MakeSpan(rounded));
  RoundToBfloat16(dx, multipliers, absl::MakeSpan(expected));
  EXPECT_EQ(rounded, expected);
}

struct NearlyConstant {
  std::string name;
  int64_t channels = 0;
  int64_t images = 0;
  std::vector<int64_t> places;
};

class BatchNormStatistics : public testing::TestWithParam<NearlyConstant> {};

// One element unlike all others: the first, the first of a piece, or any other.
TEST_P(BatchNormStatistics, AreThoseOfAChannelThatIsNearlyConstant) {
  BatchNormShape shape;
  shape.batch = GetParam().images;
  shape.channels = GetParam().channels;
  shape.height = shape.width = 32;
  const double rows = static_cast<double>(shape.rows());
  const int64_t last = shape.channels - 1;
  const auto norm = BatchNorm::Plan(shape);
  ASSERT_TRUE(norm.ok()) << norm.status();
  const std::vector<float> scale(shape.channels, 1.0f);
  const std::vector<float> bias(shape.channels, 0.0f);
  for (const int64_t place : GetParam().places) {
    SCOPED_TRACE(place);
    std::vector<float> x(shape.size(), 0.0f);
    x[place * shape.channels] = 3.3f;
    for (int64_t row = 0; row < shape.rows(); row += 1024) x[row * shape.channels + last] = 0.5f;
    Statistics statistics(shape.channels);
    float range = 0;
    (*norm)->FindStatistics(x, scale, bias, statistics.spans, &range);
    const double mean = double{3.3f} / rows;
    const double variance = double{3.3f} * double{3.3f} / rows - mean * mean;
    EXPECT_NEAR(statistics.variance[0], variance, 1e-3 * variance);
    const double share = 1.0 / 1024;
    const double spread = 0.25 * share * (1 - share);
    EXPECT_NEAR(statistics.variance[last], spread, 1e-3 * spread);
  }
}

// A wide row is one of many of the tensor's, one, or one that is added up in parts.
INSTANTIATE_TEST_SUITE_P(
    Rows, BatchNormStatistics,
    testing::Values(NearlyConstant{"OfManyRows", 2, 128, {0, 1, 127, 128, 16384, 70000}},
                    NearlyConstant{"OfOneRow", 256, 32, {0, 1, 127, 128, 16384, 30000}},
                    NearlyConstant{"OfPartsOfARow", 1100, 8, {0, 1, 127, 128, 7000}}),
    [](const auto& info) { return info.param.name; });

// The squares of such values exceed the range of floats.
TEST(BatchNorm, NormalizesNumbersOfAnySize) {
  BatchNormShape shape;
  shape.batch = 4;
  shape.channels = 2;
  const auto norm = BatchNorm::Plan(shape);
  ASSERT_TRUE(norm.ok()) << norm.status();
  const std::vector<float> x = {1e20f, 3, -1e20f, 3, 1e20f, 5, -1e20f, 5};
  Statistics statistics(2);
  float range = 0;
  (*norm)->FindStatistics(x, {2, 2}, {0.5f, 0.5f}, statistics.spans, &range);
  std::vector<float> y(x.size());
  (*norm)->Normalize(x, statistics.spans, absl::MakeSpan(y));
  const std::vector<float> expected = {2.5f, -1.5f, -1.5f, -1.5f, 2.5f, 2.5f, -1.5f, 2.5f};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-4) << i;
  EXPECT_NEAR(range, 2.5f, 1e-4);
  EXPECT_NEAR(statistics.inverse_deviation[0] * 1e20f, 1, 1e-6);

  const std::vector<float> dy = {1e10f, 1, 0, 1, 0, 1, 0, 1};
  std::vector<float> means(2), slopes(2), dscale(2), dbias(2), dx(x.size());
  const GradientStatistics of_gradient = {absl::MakeSpan(means), absl::MakeSpan(slopes)};
  (*norm)->FindGradientStatistics(x, dy, statistics.spans, of_gradient, absl::MakeSpan(dscale),
                                  absl::MakeSpan(dbias));
  (*norm)->Backward(x, dy, statistics.spans, of_gradient, absl::MakeSpan(dx));
  // With n = 1, -1, 1, -1: dy less its mean and n times that of dy * n, times 2 / deviation.
  EXPECT_NEAR(dscale[0], 1e10f, 1e4);
  EXPECT_NEAR(dx[0] * 1e10, 1, 1e-5);
  EXPECT_NEAR(dx[2] * 1e10, 0, 1e-5);
  EXPECT_NEAR(dx[4] * 1e10, -1, 1e-5);
  EXPECT_NEAR(dx[6] * 1e10, 0, 1e-5);
}

// Codes are those of y, whatever is not stored.
TEST_P(BatchNorms, QuantizeWhatTheyDoNotStore) {
  const auto planned = BatchNorm::Plan(shape_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  BatchNorm& norm = **planned;
  Statistics statistics(shape_.channels);
  float range = 0;
  norm.FindStatistics(x_, scale_, bias_, statistics.spans, &range);
  std::vector<float> y(x_.size());
  norm.Normalize(x_, statistics.spans, absl::MakeSpan(y));
  const Channels all = {1, 1, shape_.size()};
  for (const auto rounding : {QuantSpec::HALF_TO_EVEN, QuantSpec::HALF_AWAY_FROM_ZERO}) {
    const CodeRange rule = SymmetricCodes(8, rounding);
    std::vector<int8_t> expected(y.size());
    std::vector<int8_t> codes(y.size());
    Quantize(y, {range}, all, rule, absl::MakeSpan(expected));
    norm.Normalize(x_, statistics.spans, range, rule, absl::MakeSpan(codes));
    EXPECT_EQ(codes, expected);
    if (!has_relu_) continue;
    const CodeRange of_unsigned = SymmetricCodes(9, rounding);
    std::vector<uint8_t> expected_unsigned(y.size());
    std::vector<uint8_t> unsigned_codes(y.size());
    Quantize(y, {range}, all, of_unsigned, absl::MakeSpan(expected_unsigned));
    norm.Normalize(x_, statistics.spans, range, of_unsigned, absl::MakeSpan(unsigned_codes));
    EXPECT_EQ(unsigned_codes, expected_unsigned);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BatchNorms,
    testing::Values(Case{"Plain", {4, 16, 7, 7, 1e-5f}},
                    Case{"Relu", {4, 16, 7, 7, 1e-5f, Relu::kOfNumbers}},
                    Case{"OddChannels", {3, 23, 4, 6, 1e-3f, Relu::kKeepingNan}},
                    Case{"SeveralPieces", {9, 6, 91, 93, 1e-5f, Relu::kOfNumbers}},
                    Case{"WiderThanSums", {3, 1100, 7, 7, 1e-5f, Relu::kOfNumbers}},
                    Case{"OneElementAnImage", {8, 12, 1, 1, 1e-5f}}),
    [](const auto& info) { return info.param.name; });

TEST(BatchNorm, MakesANanZeroOrKeepsIt) {
  const float nan = std::nanf("");
  for (const Relu relu : {Relu::kOfNumbers, Relu::kKeepingNan}) {
    const auto norm = BatchNorm::Plan({2, 1, 1, 1, 1e-5f, relu});
    ASSERT_TRUE(norm.ok()) << norm.status();
    Statistics statistics(1);
    float range = 1;
    (*norm)->FindStatistics({nan, 1}, {1.0f}, {0.0f}, statistics.spans, &range);
    EXPECT_EQ(range, 0);
    std::vector<float> y(2);
    (*norm)->Normalize({nan, 1}, statistics.spans, absl::MakeSpan(y));
    EXPECT_EQ(std::isnan(y[1]), relu == Relu::kKeepingNan);
  }
}

TEST(BatchNorm, RefusesWhatIsEmpty) {
  EXPECT_EQ(BatchNorm::Plan({0, 3, 2, 2}).status(),
            absl::InvalidArgumentError("images [0, 3, 2, 2]; want extents of 1 to 2^31 - 1"));
}

}  // namespace
}  // namespace fixpoint::kernels
