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

namespace fixpoint::kernels {
namespace {

struct Case {
  std::string name;
  BatchNormShape shape;
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
      of.y.push_back(shape_.relu ? std::max(0.0, y) : y);
      dy[i] = shape_.relu && y <= 0 ? 0 : double{dy_[i * shape_.channels + c]};
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
  const std::vector<float> x_ = Waves(shape_.size(), 0.7f);
  const std::vector<float> dy_ = Waves(shape_.size(), 0.3f);
  const std::vector<float> scale_ = Waves(shape_.channels, 2.1f);
  const std::vector<float> bias_ = Waves(shape_.channels, 1.3f);
};

TEST_P(BatchNorms, EqualPlainLoops) {
  const auto planned = BatchNorm::Plan(shape_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  BatchNorm& norm = **planned;
  SCOPED_TRACE(norm.implementation());
  EXPECT_EQ(norm.implementation().find("ref"), std::string::npos);
  EXPECT_EQ(norm.mask_size() > 0, shape_.relu);
  std::vector<float> y(x_.size());
  std::vector<float> mean(shape_.channels);
  std::vector<float> variance(shape_.channels);
  std::vector<uint8_t> mask(norm.mask_size());
  norm.Forward(x_, scale_, bias_, absl::MakeSpan(y), absl::MakeSpan(mean), absl::MakeSpan(variance),
               absl::MakeSpan(mask));
  std::vector<float> dx = dy_;
  std::vector<float> dscale(shape_.channels);
  std::vector<float> dbias(shape_.channels);
  norm.Backward(x_, dx, scale_, mean, variance, mask, absl::MakeSpan(dx), absl::MakeSpan(dscale),
                absl::MakeSpan(dbias));
  const double sums = 1e-6 * static_cast<double>(shape_.size() / shape_.channels);
  for (int64_t c = 0; c < shape_.channels; ++c) {
    SCOPED_TRACE(c);
    const Channel expected = Expected(c);
    EXPECT_NEAR(mean[c], expected.mean, 1e-5);
    EXPECT_NEAR(variance[c], expected.variance, 1e-5);
    EXPECT_NEAR(dscale[c], expected.dscale, sums + 1e-4);
    EXPECT_NEAR(dbias[c], expected.dbias, sums + 1e-4);
    for (size_t i = 0; i < expected.y.size(); ++i) {
      ASSERT_NEAR(y[i * shape_.channels + c], expected.y[i], 1e-4) << i;
      ASSERT_NEAR(dx[i * shape_.channels + c], expected.dx[i], 1e-4) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNorms,
                         testing::Values(Case{"Plain", {4, 16, 7, 7, 1e-5f, false}},
                                         Case{"Relu", {4, 16, 7, 7, 1e-5f, true}},
                                         Case{"OddChannels", {3, 5, 4, 6, 1e-3f, true}},
                                         Case{"OneElementAnImage", {8, 12, 1, 1, 1e-5f, false}}),
                         [](const auto& info) { return info.param.name; });

TEST(BatchNorm, RefusesWhatIsEmpty) {
  EXPECT_EQ(BatchNorm::Plan({0, 3, 2, 2}).status(),
            absl::InvalidArgumentError("images [0, 3, 2, 2]; want extents of 1 to 2^31 - 1"));
}

}  // namespace
}  // namespace fixpoint::kernels
