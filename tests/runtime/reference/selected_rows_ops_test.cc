// Gradients of sparse embeddings, and what optimizers make of them, worked by hand.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

// A table of 4 rows of which 3, 1 and 3 again are looked up, with gradients 1 2, 3 4 and 5 6.
std::string AfterLookup(const std::string& ops, const std::string& inputs = "",
                        const std::string& attributes = "") {
  return RunOps(absl::StrCat("program version=2006002\nblock 0 {\n"
                             "lookup_table_v2_grad(W=w, Ids=ids, Out@GRAD=d) -> (W@GRAD=g) "
                             "{is_sparse=true",
                             attributes, "}\n", ops, "\n}"),
                "w f32[4,2] 0 0 0 0 0 0 0 0\nids i64[3] 3 1 3\nd f32[3,2] 1 2 3 4 5 6\n" + inputs);
}

constexpr char kGradient[] = "g f32[4,2] 0 0 3 4 0 0 6 8\n";

TEST(SelectedRows, AreATableToOtherOps) {
  EXPECT_EQ(AfterLookup("relu(X=g) -> (Out=y)"),
            absl::StrCat(kGradient, "y f32[4,2] 0 0 3 4 0 0 6 8\n"));
}

TEST(SelectedRows, AreOneForEachIdUntilTheyAreMerged) {
  EXPECT_EQ(AfterLookup(R"(
      get_tensor_from_selected_rows(X=g) -> (Out=all)
      merge_selected_rows(X=g) -> (Out=m)
      get_tensor_from_selected_rows(X=m) -> (Out=rows))"),
            absl::StrCat("all f32[3,2] 1 2 3 4 5 6\n", kGradient,
                         "m f32[4,2] 0 0 3 4 0 0 6 8\nrows f32[2,2] 3 4 6 8\n"));
}

// The reference keeps the gradient of the padding, which no dense gradient has.
TEST(SelectedRows, HaveTheRowOfPadding) {
  EXPECT_EQ(AfterLookup("", "", ", padding_idx=3"), kGradient);
}

TEST(SelectedRows, AreMergedBySum) {
  EXPECT_EQ(AfterLookup(R"(
      scale(X=g) -> (Out=h) {scale=2.0, bias=1.0}
      sum(X=[g, h]) -> (Out=s)
      get_tensor_from_selected_rows(X=s) -> (Out=rows))"),
            absl::StrCat(kGradient,
                         "h f32[4,2] 0 0 7 9 0 0 14 18\nrows f32[2,2] 10 13 20 26\n"
                         "s f32[4,2] 0 0 10 13 0 0 20 26\n"));
}

TEST(SelectedRows, AreATableInASumWithOne) {
  EXPECT_EQ(AfterLookup("sum(X=[g, w]) -> (Out=s)"),
            absl::StrCat(kGradient, "s f32[4,2] 0 0 3 4 0 0 6 8\n"));
  EXPECT_EQ(AfterLookup("sum(X=[g, w]) -> (Out=s)\nmerge_selected_rows(X=s) -> (Out=m)"),
            "block 0, op 2 (merge_selected_rows): X is a tensor; want the gradient of a sparse "
            "embedding, or a sum, a clip or a multiple of such");
}

// Rows that are not there are not clipped to 1.
TEST(SelectedRows, AreClipped) {
  EXPECT_EQ(AfterLookup("clip(X=g) -> (Out=c) {min=1.0, max=6.5}"),
            absl::StrCat("c f32[4,2] 0 0 3 4 0 0 6 6.5\n", kGradient));
  EXPECT_EQ(AfterLookup("clip_by_norm(X=g) -> (Out=c) {max_norm=5.590169943749474}"),
            absl::StrCat("c f32[4,2] 0 0 1.5 2 0 0 3 4\n", kGradient));
  EXPECT_EQ(AfterLookup("elementwise_mul(X=g, Y=f) -> (Out=c)\n"
                        "get_tensor_from_selected_rows(X=c) -> (Out=rows)",
                        "f f32[1] 0.5\n"),
            absl::StrCat("c f32[4,2] 0 0 1.5 2 0 0 3 4\n", kGradient,
                         "rows f32[3,2] 0.5 1 1.5 2 2.5 3\n"));
}

TEST(SelectedRows, AreOfTheTable) {
  EXPECT_EQ(RunOps("lookup_table_v2_grad(W=w, Ids=ids, Out@GRAD=d) -> (W@GRAD=g) {is_sparse=true, "
                   "padding_idx=7}",
                   "w f32[2,1] 0 0\nids i64[1] 7\nd f32[1,1] 1\n"),
            "block 0, op 0 (lookup_table_v2_grad): Ids has 7; want 0 to 1");
}

// Moments of 1, and betas of 1/2. The powers are multiplied before they are used, as in the
// reference: by 1/2 and 3/4, so that the rate of 1/2 stays.
std::string Adam(const std::string& type, const std::string& attributes) {
  return AfterLookup(
      absl::StrCat(type, R"((Param=p, Grad=g, LearningRate=lr, Moment1=m1, Moment2=m2, Beta1Pow=b1,
        Beta2Pow=b2) -> (ParamOut=p, Moment1Out=m1, Moment2Out=m2, Beta1PowOut=b1, Beta2PowOut=b2) {beta1=0.5,
        beta2=0.5, epsilon=0.0)",
                   attributes, "}"),
      "p f32[4,2] 8 8 8 8 8 8 8 8\nlr f32[1] 0.5\nm1 f32[4,2] 1 1 1 1 1 1 1 1\n"
      "m2 f32[4,2] 1 1 1 1 1 1 1 1\nb1 f32[1] 1\nb2 f32[1] 1.5\n");
}

TEST(SelectedRows, LazyAdamTouchesNoOthers) {
  const std::string powers = "b1 f32[1] 0.5\nb2 f32[1] 0.75\n";
  const std::string moments =
      "m1 f32[4,2] 1 1 2 2.5 1 1 3.5 4.5\nm2 f32[4,2] 1 1 5 8.5 1 1 18.5 32.5\n";
  EXPECT_EQ(Adam("adam", ", lazy_mode=true"),
            absl::StrCat(powers, kGradient, moments,
                         "p f32[4,2] 8 8 7.55278635 7.5712533 8 8 7.59313345 7.60532379\n"));
  // All rows are decayed by lr * coeff first.
  EXPECT_EQ(Adam("adamw", ", lazy_mode=true, with_decay=true, coeff=0.25"),
            absl::StrCat(powers, kGradient, moments,
                         "p f32[4,2] 7 7 6.55278635 6.5712533 7 7 6.59313345 6.60532379\n"));
}

// The moments of all rows decay, and move the parameter.
TEST(SelectedRows, AdamUpdatesAllRows) {
  EXPECT_EQ(Adam("adam", ""),
            "b1 f32[1] 0.5\nb2 f32[1] 0.75\n" + std::string(kGradient) +
                "m1 f32[4,2] 0.5 0.5 2 2.5 0.5 0.5 3.5 4.5\n"
                "m2 f32[4,2] 0.5 0.5 5 8.5 0.5 0.5 18.5 32.5\n"
                "p f32[4,2] 7.6464467 7.6464467 7.55278635 7.5712533 7.6464467 7.6464467 "
                "7.59313345 7.60532379\n");
}

}  // namespace
}  // namespace fixpoint::reference
