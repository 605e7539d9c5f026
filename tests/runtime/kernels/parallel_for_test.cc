// How loops are split among threads.

#include "runtime/kernels/parallel_for.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

using Parts = std::vector<std::pair<int64_t, int64_t>>;

// The parts of a loop over `size` elements on `threads` threads, from the first to the last.
Parts PartsOf(int threads, int64_t size, int64_t bytes_of_each) {
  UseThreads(threads);
  std::mutex mutex;
  Parts parts;
  ParallelFor(size, bytes_of_each, [&](int64_t begin, int64_t end) {
    const std::lock_guard<std::mutex> lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST(ParallelFor, TakesAThreadForEach64Kilobytes) {
  EXPECT_EQ(PartsOf(3, 4, 49'152), (Parts{{0, 1}, {1, 2}, {2, 4}}));
  EXPECT_EQ(PartsOf(3, 4, 49'151), (Parts{{0, 2}, {2, 4}}));
  EXPECT_EQ(PartsOf(3, 4, 32'767), (Parts{{0, 4}}));
  EXPECT_EQ(PartsOf(3, 0, 1), (Parts{{0, 0}}));
}

TEST(ParallelFor, TakesNoMoreThreadsThanAreGrantedOrHaveSomethingToDo) {
  EXPECT_EQ(PartsOf(1, 4, 1 << 20), (Parts{{0, 4}}));
  EXPECT_EQ(PartsOf(2, 4, 1 << 20), (Parts{{0, 2}, {2, 4}}));
  EXPECT_EQ(PartsOf(3, 2, 1 << 20), (Parts{{0, 1}, {1, 2}}));
}

TEST(ParallelFor, GivesNoTwoThreadsTheSameLineOfTheCache) {
  EXPECT_EQ(PartsOf(2, 2050, 1024), (Parts{{0, 1024}, {1024, 2050}}));
  EXPECT_EQ(PartsOf(3, 4000, 1024), (Parts{{0, 1344}, {1344, 2688}, {2688, 4000}}));
}

TEST(ParallelSum, IsTheSameOnAnyNumberOfThreads) {
  constexpr int64_t kSize = 1'000'003;
  std::vector<float> x(kSize);
  for (int64_t i = 0; i < kSize; ++i) x[i] = std::sin(static_cast<float>(i));
  std::vector<double> sums;
  for (const int threads : {1, 2, 3}) {
    UseThreads(threads);
    sums.push_back(ParallelSum(kSize, sizeof(float), [x = x.data()](int64_t i) { return x[i]; }));
  }
  double expected = 0;
  for (const float element : x) expected += element;
  EXPECT_NEAR(sums[0], expected, 1e-9);  // 10^6 roundings of sums below 2
  EXPECT_EQ(sums[1], sums[0]);
  EXPECT_EQ(sums[2], sums[0]);
}

}  // namespace
}  // namespace fixpoint::kernels
