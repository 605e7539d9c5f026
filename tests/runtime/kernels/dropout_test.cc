#include "runtime/kernels/dropout.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "runtime/random.h"

namespace fixpoint::kernels {
namespace {

// Blocks of random numbers, whole and partial, compared with the definition, which draws them one
// by one.
TEST(Dropout, KeepsWhatTheStreamSays) {
  const RandomStream random(/*seed=*/90, /*op=*/7, /*step=*/3);
  for (const size_t size : {1, 3, 4, 255, 256, 257, 1000}) {
    for (const double p : {0.0, 0.1, 0.5, 0.9999, 1.0}) {
      std::vector<float> x(size);
      for (size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i) + 0.5f;
      std::vector<float> y = x;
      std::vector<uint8_t> mask(size);
      Dropout(random, p, 2.5f, y, absl::MakeSpan(y), absl::MakeSpan(mask));
      std::vector<float> dx(size, 3);
      DropoutBackward(2.5f, mask, dx, absl::MakeSpan(dx));
      for (size_t i = 0; i < size; ++i) {
        const bool is_kept = random.Uniform(i) >= p;
        EXPECT_EQ(mask[i], is_kept ? 1 : 0);
        EXPECT_EQ(y[i], is_kept ? x[i] * 2.5f : 0);
        EXPECT_EQ(dx[i], is_kept ? 7.5f : 0);
      }
    }
  }
}

TEST(Dropout, DropsANumberThatIsBelow) {
  const RandomStream random(1, 0, 0);
  const std::vector<float> x(9, std::numeric_limits<float>::quiet_NaN());
  const double exactly = random.Uniform(8);
  for (const double p : {exactly, exactly + 0x1p-30}) {
    std::vector<float> y(9);
    std::vector<uint8_t> mask(9);
    Dropout(random, p, 1, x, absl::MakeSpan(y), absl::MakeSpan(mask));
    EXPECT_EQ(mask[8], p == exactly ? 1 : 0);
  }
}

}  // namespace
}  // namespace fixpoint::kernels
