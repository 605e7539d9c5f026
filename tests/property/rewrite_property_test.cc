// Random programs, rewritten by the built-in patterns.

#include "tests/property/rewrite_property.h"

#include <gtest/gtest.h>

namespace fixpoint {
namespace {

constexpr int kSeeds = 100;

TEST(RewriteProperty, HoldsForRandomPrograms) {
  int replaced = 0;
  int with_gradients = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const RewriteOutcome outcome = RewriteOfSeed(seed);
    ASSERT_EQ(outcome.report, "");
    replaced += outcome.replaced;
    with_gradients += outcome.replaced_with_gradients;
  }
  EXPECT_GT(replaced, kSeeds / 2);
  EXPECT_GT(with_gradients, kSeeds / 5);
}

}  // namespace
}  // namespace fixpoint
