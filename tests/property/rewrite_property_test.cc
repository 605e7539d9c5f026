// Random programs, rewritten by the built-in patterns.

#include "tests/property/rewrite_property.h"

#include <gtest/gtest.h>

namespace fixpoint {
namespace {

constexpr int kSeeds = 100;

TEST(RewriteProperty, HoldsForRandomPrograms) {
  int replaced = 0;
  int with_gradients = 0;
  int have_gradients = 0;
  int checked_gradients = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const RewriteOutcome outcome = RewriteOfSeed(seed);
    ASSERT_EQ(outcome.report, "");
    replaced += outcome.replaced;
    with_gradients += outcome.replaced_with_gradients;
    have_gradients += outcome.has_gradients;
    checked_gradients += outcome.gradient_is_checked;
  }
  EXPECT_GT(replaced, kSeeds / 2);
  EXPECT_GT(with_gradients, kSeeds / 5);
  EXPECT_GT(have_gradients, kSeeds / 2);
  EXPECT_GE(checked_gradients, have_gradients * 9 / 10);
}

}  // namespace
}  // namespace fixpoint
