// 1,000 random programs, each with a random configuration. More, or others:
// `./bazelw run //tests/property:transpile_property -- --seeds=10000 --first_seed=1000`.

#include "tests/property/transpile_property.h"

#include <gtest/gtest.h>

#include <string>

namespace fixpoint {
namespace {

constexpr int kSeedsPerTest = 100;

class TranspileProperty : public testing::TestWithParam<int> {};

TEST_P(TranspileProperty, HoldsForRandomPrograms) {
  const int first = GetParam() * kSeedsPerTest;
  for (int seed = first; seed < first + kSeedsPerTest; ++seed) {
    ASSERT_EQ(ReportOfSeed(seed), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Hundreds, TranspileProperty, testing::Range(0, 10));

}  // namespace
}  // namespace fixpoint
