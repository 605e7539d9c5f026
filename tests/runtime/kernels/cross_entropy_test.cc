// Cross entropies of probabilities and of single logits, and the gradients of the first.

#include "runtime/kernels/cross_entropy.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

const std::vector<float> kProbabilities = {0.5f, 0.25f, 0.25f, 0.125f, 0.125f, 0.75f};
const float kLog2 = static_cast<float>(std::log(2.0));

TEST(CrossEntropy, OfClasses) {
  const Lines lines = {2, 3, 1};
  const std::vector<int64_t> classes = {1, 0};
  const Labels labels = {classes, -100, {}};
  std::vector<float> loss(2);
  CrossEntropy(lines, kProbabilities, labels, absl::MakeSpan(loss));
  EXPECT_FLOAT_EQ(loss[0], 2 * kLog2);
  EXPECT_FLOAT_EQ(loss[1], 3 * kLog2);
  std::vector<float> dx(6);
  CrossEntropyBackward(lines, kProbabilities, labels, {1, 2}, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{0, -4, 0, -16, 0, 0}));
}

TEST(CrossEntropy, KeepsWhatItMatched) {
  const Lines lines = {2, 3, 1};
  const std::vector<int64_t> classes = {1, 255};
  const Labels labels = {classes, 255, {}};
  std::vector<float> matched(2);
  MatchedProbabilities(lines, kProbabilities, labels, absl::MakeSpan(matched));
  EXPECT_EQ(matched, (std::vector<float>{0.25f, 0}));
  std::vector<float> dx(6);
  MatchedCrossEntropyBackward(lines, matched, labels, {1, 2}, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{0, -4, 0, 0, 0, 0}));
  std::vector<float> loss(2);
  CrossEntropy(lines, kProbabilities, labels, absl::MakeSpan(loss));
  EXPECT_EQ(loss[1], 0);
}

// Seen as [1, 3, 2]: lines of 0.5, 0.25, 0.125 and of 0.25, 0.125, 0.75.
TEST(CrossEntropy, OfDistributionsAlongAnAxisInside) {
  const Lines lines = {1, 3, 2};
  const std::vector<float> soft = {0.5f, 0, 0.5f, 0.25f, 0, 0};
  std::vector<float> loss(2);
  CrossEntropy(lines, kProbabilities, {{}, -100, soft}, absl::MakeSpan(loss));
  EXPECT_FLOAT_EQ(loss[0], 1.5f * kLog2);
  EXPECT_FLOAT_EQ(loss[1], 0.75f * kLog2);
  std::vector<float> dx(6);
  CrossEntropyBackward(lines, kProbabilities, {{}, -100, soft}, {1, 2}, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{-1, 0, -2, -4, 0, 0}));
}

TEST(CrossEntropy, OfAProbabilityOfZeroIsLarge) {
  const std::vector<int64_t> classes = {0};
  std::vector<float> loss(1);
  CrossEntropy({1, 2, 1}, {0, 1}, {classes, -100, {}}, absl::MakeSpan(loss));
  EXPECT_EQ(loss[0], 1e20f);
}

TEST(SigmoidCrossEntropy, EqualsTheFormula) {
  std::vector<float> x;
  std::vector<float> labels;
  for (int i = -300; i <= 300; ++i) {
    x.push_back(static_cast<float>(i) * 0.37f);
    labels.push_back(i % 3 == 0 ? 1.0f : i % 3 == 1 ? 0.0f : 0.3f);
  }
  std::vector<float> loss(x.size());
  SigmoidCrossEntropy(x, labels, -100, absl::MakeSpan(loss));
  for (size_t i = 0; i < x.size(); ++i) {
    const double value =
        std::fmax(x[i], 0) - double{x[i]} * labels[i] + std::log1p(std::exp(-std::fabs(x[i])));
    // x * label is rounded once before it is subtracted.
    EXPECT_NEAR(loss[i], value, 4 * FLT_EPSILON * std::fmax(value, std::fabs(x[i] * 0.3))) << x[i];
  }
}

TEST(SigmoidCrossEntropy, IgnoresALabel) {
  std::vector<float> loss(2);
  SigmoidCrossEntropy({3, 0}, {-1, 1}, -1, absl::MakeSpan(loss));
  EXPECT_EQ(loss[0], 0);
  EXPECT_FLOAT_EQ(loss[1], kLog2);
}

}  // namespace
}  // namespace fixpoint::kernels
