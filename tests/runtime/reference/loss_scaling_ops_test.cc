// Gradients of a scaled loss, and the scale.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

TEST(CheckFiniteAndUnscale, DividesAndFindsWhatIsNotFinite) {
  constexpr char kText[] =
      "check_finite_and_unscale(X=[x, y], Scale=s) -> (Out=[a, b], FoundInfinite=f)";
  EXPECT_EQ(RunOps(kText, "x f32[2] 2 4\ny f32[1] 8\ns f32[1] 4\n"),
            "a f32[2] 0.5 1\nb f32[1] 2\nf bool[1] 0\n");
  EXPECT_EQ(RunOps(kText, "x f32[2] 2 4\ny f32[1] inf\ns f32[1] 4\n"),
            "a f32[2] 0.5 1\nb f32[1] inf\nf bool[1] 1\n");
}

std::string Updated(int found, float scale, int good, int bad) {
  return RunOps(
      "update_loss_scaling(X=[x], FoundInfinite=f, PrevLossScaling=s, InGoodSteps=g, InBadSteps=h) "
      "-> (Out=[out], LossScaling=scale, OutGoodSteps=good, OutBadSteps=bad) "
      "{incr_every_n_steps=2, decr_every_n_nan_or_inf=2, incr_ratio=2.0, decr_ratio=0.5}",
      absl::StrCat("x f32[1] 3\nf bool[1] ", found, "\ns f32[1] ", scale, "\ng i32[1] ", good,
                   "\nh i32[1] ", bad, "\n"));
}

TEST(UpdateLossScaling, CountsGoodAndBadSteps) {
  EXPECT_EQ(Updated(0, 8, 0, 1), "bad i32[1] 0\ngood i32[1] 1\nout f32[1] 3\nscale f32[1] 8\n");
  EXPECT_EQ(Updated(0, 8, 1, 1), "bad i32[1] 0\ngood i32[1] 0\nout f32[1] 3\nscale f32[1] 16\n");
  EXPECT_EQ(Updated(1, 8, 1, 0), "bad i32[1] 1\ngood i32[1] 0\nout f32[1] 0\nscale f32[1] 8\n");
  EXPECT_EQ(Updated(1, 8, 1, 1), "bad i32[1] 0\ngood i32[1] 0\nout f32[1] 0\nscale f32[1] 4\n");
  EXPECT_EQ(Updated(1, 1.5, 1, 1), "bad i32[1] 0\ngood i32[1] 0\nout f32[1] 0\nscale f32[1] 1\n");
}

}  // namespace
}  // namespace fixpoint::reference
