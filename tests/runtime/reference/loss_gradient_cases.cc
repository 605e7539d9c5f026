// The cases of losses of elements, and of ops on the vectors along an axis.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::reference {
namespace {

// A loss of x, compared with `target`, which is given.
GradientCase Compared(const std::string& name, const std::string& op) {
  return {name,
          absl::StrCat("var x f32[3,2] persistable\nvar target f32[3,2] stop_gradient\n", op),
          "target f32[3,2] 0.5 0.25 1 0 0.75 0.125",
          {0.1, 0.9}};
}

// An op on the vectors along an axis of x.
GradientCase OfVectors(const std::string& name, const std::string& op) {
  return {name, absl::StrCat("var x f32[2,3,2] persistable\n", op)};
}

GradientCase KlDivergence(const std::string& reduction) {
  return Compared(
      "kldiv_loss_" + reduction,
      absl::StrCat("kldiv_loss(X=x, Target=target) -> (Loss=out) {reduction=\"", reduction, "\"}"));
}

GradientCase Addmm(const std::string& name, const std::string& input) {
  return {name, absl::StrCat("var input f32[", input, R"(] persistable
            var x f32[2,4] persistable
            var y f32[4,3] persistable
            addmm(Input=input, X=x, Y=y) -> (Out=out) {Alpha=0.5, Beta=2.0})")};
}

}  // namespace

std::vector<GradientCase> LossGradientCases() {
  return {
      Compared("label_smooth", "label_smooth(X=x) -> (Out=out) {epsilon=0.1}"),
      Compared("label_smooth_to_a_distribution",
               "var prior f32[2] stop_gradient\n"
               "label_smooth(X=x, PriorDist=prior) -> (Out=out) {epsilon=0.25}"),
      Compared("log_loss", "log_loss(Predicted=x, Labels=target) -> (Loss=out) {epsilon=0.01}"),
      Compared("bce_loss", "bce_loss(X=x, Label=target) -> (Out=out)"),
      KlDivergence("none"),
      KlDivergence("sum"),
      KlDivergence("mean"),
      KlDivergence("batchmean"),
      OfVectors("norm", "norm(X=x) -> (Out=out, Norm=n) {axis=1, epsilon=0.01}"),
      OfVectors("norm_of_the_last_axis", "norm(X=x) -> (Out=out, Norm=n) {axis=-1}"),
      Addmm("addmm", "2,3"),
      Addmm("addmm_of_a_row", "3"),
      Addmm("addmm_of_a_column", "2,1"),
      OfVectors("dot", "var y f32[2,3,2] persistable\ndot(X=x, Y=y) -> (Out=out)"),
      OfVectors("maxout",
                "reshape2(X=x) -> (Out=y, XShape=s) {shape=[1, 6, 2]}\n"
                "maxout(X=y) -> (Out=out) {groups=3}"),
      OfVectors("maxout_of_the_last_axis", "maxout(X=x) -> (Out=out) {groups=2, axis=-1}"),
  };
}

}  // namespace fixpoint::reference
