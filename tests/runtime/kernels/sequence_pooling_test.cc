// Pooling of sequences and its gradients against plain loops in double.

#include "runtime/kernels/sequence_pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kPadding = -7;

struct Kind {
  std::string name;
  SequencePooling pooling;
};

const Kind kKinds[] = {
    {"Sum", SequencePooling::kSum},     {"Average", SequencePooling::kAverage},
    {"Sqrt", SequencePooling::kSqrt},   {"Max", SequencePooling::kMax},
    {"First", SequencePooling::kFirst}, {"Last", SequencePooling::kLast},
};

// The width around a block of columns; of the sequences one is of one row, and one is empty.
class SequencePoolings : public testing::TestWithParam<std::tuple<Kind, int64_t>> {
 protected:
  static constexpr int64_t kRows = 9;

  SequencePoolings() {
    shape_.sequences = {{0, 4}, {4, 4}, {4, 5}, {5, kRows}};
    shape_.width = std::get<1>(GetParam());
  }

  static std::vector<float> Waves(int64_t size, double step) {
    std::vector<float> values(size);
    for (int64_t i = 0; i < size; ++i) {
      values[i] = static_cast<float>(std::sin(step * static_cast<double>(i * i)));
    }
    return values;
  }

  // The weight of a row's element in the pooled row of its sequence.
  double Share(const std::vector<float>& x, const Sequence& sequence, int64_t row,
               int64_t column) const {
    switch (std::get<0>(GetParam()).pooling) {
      case SequencePooling::kSum:
        return 1;
      case SequencePooling::kAverage:
        return 1.0 / static_cast<double>(sequence.length());
      case SequencePooling::kSqrt:
        return 1 / std::sqrt(static_cast<double>(sequence.length()));
      case SequencePooling::kMax:
        return row == LargestRow(x, sequence, column);
      case SequencePooling::kFirst:
        return row == sequence.begin;
      case SequencePooling::kLast:
        return row == sequence.end - 1;
    }
    return 0;
  }

  int64_t LargestRow(const std::vector<float>& x, const Sequence& sequence, int64_t column) const {
    int64_t largest = sequence.begin;
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      if (x[row * shape_.width + column] > x[largest * shape_.width + column]) largest = row;
    }
    return largest;
  }

  // At most 4 values up to 1 are summed, in double.
  static constexpr double kTolerance = 4 * std::numeric_limits<float>::epsilon();
  SequencePoolingShape shape_;
};

TEST_P(SequencePoolings, AreAsInDouble) {
  const int64_t width = shape_.width;
  const std::vector<float> x = Waves(kRows * width, 0.37);
  std::vector<float> out(shape_.sequences.size() * width);
  std::vector<int32_t> rows(out.size());
  PoolSequences(std::get<0>(GetParam()).pooling, shape_, x, kPadding, absl::MakeSpan(out));
  FindLargestRows(shape_, x, absl::MakeSpan(rows));
  for (size_t s = 0; s < shape_.sequences.size(); ++s) {
    const Sequence& sequence = shape_.sequences[s];
    for (int64_t column = 0; column < width; ++column) {
      double expected = sequence.length() == 0 ? kPadding : 0;
      for (int64_t row = sequence.begin; row < sequence.end; ++row) {
        expected += Share(x, sequence, row, column) * x[row * width + column];
      }
      EXPECT_NEAR(out[s * width + column], expected, kTolerance) << s << ", " << column;
      EXPECT_EQ(rows[s * width + column],
                sequence.length() == 0 ? -1 : LargestRow(x, sequence, column));
    }
  }
}

TEST_P(SequencePoolings, HaveTheGradientOfTheirShares) {
  const int64_t width = shape_.width;
  const std::vector<float> x = Waves(kRows * width, 0.37);
  const std::vector<float> dout = Waves(shape_.sequences.size() * width, 0.21);
  std::vector<float> dx(x.size(), kNan);
  PoolSequencesBackward(std::get<0>(GetParam()).pooling, shape_, x, dout, absl::MakeSpan(dx));
  for (size_t s = 0; s < shape_.sequences.size(); ++s) {
    const Sequence& sequence = shape_.sequences[s];
    for (int64_t row = sequence.begin; row < sequence.end; ++row) {
      for (int64_t column = 0; column < width; ++column) {
        EXPECT_NEAR(dx[row * width + column],
                    Share(x, sequence, row, column) * dout[s * width + column], kTolerance)
            << row << ", " << column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SequencePoolings,
                         testing::Combine(testing::ValuesIn(kKinds), testing::Values(1, 16, 37)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "Of" +
                                  std::to_string(std::get<1>(info.param));
                         });

// As on the interpreter: nothing is larger than a NaN, and a NaN than nothing.
TEST(LargestRows, ANanCountsInTheFirstRowAlone) {
  const SequencePoolingShape shape = {{{0, 2}, {2, 4}}, 1};
  const std::vector<float> x = {kNan, 1, 1, kNan};
  std::vector<float> out(2);
  std::vector<int32_t> rows(2);
  PoolSequences(SequencePooling::kMax, shape, x, 0, absl::MakeSpan(out));
  FindLargestRows(shape, x, absl::MakeSpan(rows));
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(rows, (std::vector<int32_t>{0, 2}));
}

}  // namespace
}  // namespace fixpoint::kernels
