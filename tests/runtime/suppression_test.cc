// Suppression of many boxes, against the definition.

#include "runtime/boxes/suppression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/boxes/box.h"
#include "runtime/random.h"

namespace fixpoint::boxes {
namespace {

constexpr int64_t kBoxes = 300;

struct DrawnBoxes {
  std::vector<float> boxes;
  std::vector<float> scores;

  // Of sides up to `side`; one box of ten has its corners in the wrong order, and scores repeat.
  explicit DrawnBoxes(double side) {
    const RandomStream random(1, 0, 0);
    for (int64_t i = 0; i < kBoxes; ++i) {
      const double x = random.Uniform(5 * i);
      const double y = random.Uniform(5 * i + 1);
      const double right = (i % 10 == 0 ? -1 : 1) * side * random.Uniform(5 * i + 2);
      const double down = side * random.Uniform(5 * i + 3);
      for (const double place : {x, y, x + right, y + down}) {
        boxes.push_back(static_cast<float>(place));
      }
      scores.push_back(static_cast<float>(static_cast<int>(20 * random.Uniform(5 * i + 4))) / 20);
    }
  }
  ScoredBoxes<float> all() const { return {boxes.data(), 4, scores.data(), 1, kBoxes}; }
};

TEST(KeepApart, KeepsWhatOverlapsNoBetterBoxByMore) {
  std::vector<int64_t> candidates(kBoxes);
  std::iota(candidates.begin(), candidates.end(), 0);
  for (const double side : {0.05, 0.3, 1.0}) {
    const DrawnBoxes drawn(side);
    const ScoredBoxes<float> all = drawn.all();
    for (const Corners corners : {Corners::kPlaces, Corners::kPixels}) {
      for (const float threshold : {0.0F, 0.3F, 0.7F}) {
        std::vector<int64_t> want;
        for (const int64_t i : candidates) {
          const bool is_apart = std::all_of(want.begin(), want.end(), [&](int64_t better) {
            return Overlap(all.Box(better), all.Box(i), corners) <= threshold;
          });
          if (is_apart) want.push_back(i);
        }
        EXPECT_EQ(KeepApart(all, candidates, threshold, 1.0F, corners), want)
            << side << ", " << threshold;
      }
    }
  }
}

TEST(KeepApart, KeepsNothingBesideABoxWithoutNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> boxes = {nan, nan, nan, nan, 0, 0, 1, 1};
  const std::vector<float> scores = {1, 0.5F};
  const ScoredBoxes<float> all = {boxes.data(), 4, scores.data(), 1, 2};
  EXPECT_EQ(KeepApart<float>(all, {0, 1}, 0.5F, 1, Corners::kPlaces), std::vector<int64_t>{0});
}

TEST(Candidates, AreTheBestInOrder) {
  const DrawnBoxes drawn(0.1);
  for (const int64_t most : {int64_t{-1}, int64_t{0}, int64_t{7}, int64_t{100}, kBoxes + 1}) {
    std::vector<int64_t> want;
    for (int64_t i = 0; i < kBoxes; ++i) {
      if (drawn.scores[i] > 0.3F) want.push_back(i);
    }
    std::stable_sort(want.begin(), want.end(),
                     [&](int64_t a, int64_t b) { return drawn.scores[a] > drawn.scores[b]; });
    if (most >= 0) want.resize(std::min<size_t>(want.size(), most));
    EXPECT_EQ(Candidates<float>(drawn.all(), 0.3F, most), want) << most;
  }
}

}  // namespace
}  // namespace fixpoint::boxes
