// The context of sequences against plain loops.

#include "runtime/kernels/sequence_context.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

// Around its row, before it, after it, and beyond every sequence.
class Contexts : public testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kRows = 8;
  static constexpr int64_t kWidth = 19;

  // A tensor whose rows are 1, 2, ..., with all elements of a row equal.
  static std::vector<float> NumberedRows(int64_t rows, int64_t width) {
    std::vector<float> x(rows * width);
    for (int64_t i = 0; i < rows * width; ++i) x[i] = static_cast<float>(i / width + 1);
    return x;
  }

  // The row that place i beside row t holds; -1 beyond its sequence.
  int64_t RowAt(int64_t t, int64_t i) const {
    for (const Sequence& sequence : shape_.sequences) {
      if (t < sequence.begin || t >= sequence.end) continue;
      const int64_t row = t + shape_.start + i;
      return row >= sequence.begin && row < sequence.end ? row : -1;
    }
    return -1;
  }

  const SequenceContext shape_ = {{{0, 5}, {5, 5}, {5, 6}, {6, kRows}}, kWidth, GetParam(), 3};
};

TEST_P(Contexts, HoldTheRowsOfTheirSequence) {
  const std::vector<float> x = NumberedRows(kRows, kWidth);
  std::vector<float> context(kRows * shape_.length * kWidth, -1);
  GatherContext(shape_, x, absl::MakeSpan(context));
  for (int64_t t = 0; t < kRows; ++t) {
    for (int64_t i = 0; i < shape_.length; ++i) {
      const float expected = static_cast<float>(RowAt(t, i) + 1);
      for (int64_t j = 0; j < kWidth; ++j) {
        EXPECT_EQ(context[(t * shape_.length + i) * kWidth + j], expected) << t << ", " << i;
      }
    }
  }
}

TEST_P(Contexts, GiveEachRowTheGradientsOfItsPlaces) {
  const std::vector<float> dcontext = NumberedRows(kRows * shape_.length, kWidth);
  std::vector<float> dx(kRows * kWidth, -1);
  GatherContextBackward(shape_, dcontext, absl::MakeSpan(dx));
  for (int64_t row = 0; row < kRows; ++row) {
    float expected = 0;  // an integer
    for (int64_t t = 0; t < kRows; ++t) {
      for (int64_t i = 0; i < shape_.length; ++i) {
        if (RowAt(t, i) == row) expected += static_cast<float>(t * shape_.length + i + 1);
      }
    }
    for (int64_t j = 0; j < kWidth; ++j) EXPECT_EQ(dx[row * kWidth + j], expected) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Starts, Contexts, testing::Values(-1, -2, 0, 1, -100, 100));

}  // namespace
}  // namespace fixpoint::kernels
