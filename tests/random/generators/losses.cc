// Losses of elements, and ops on the vectors along an axis.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string Probabilities(CaseMaker& c, const Dims& dims) { return c.Numbers(dims, 0.02f, 0.98f); }

void LabelSmooth(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = Probabilities(c, dims);
  const std::string prior =
      c.OneIn(2) ? "" : absl::StrCat(", PriorDist=", Probabilities(c, {1, dims.back()}));
  c.Op("label_smooth(X=", x, prior, ") -> (Out=out) {epsilon=", FloatText(c.Between(0.0f, 0.5f)),
       "}");
}

void LogLoss(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string predicted = Probabilities(c, dims);
  c.Op("log_loss(Predicted=", predicted, ", Labels=", Probabilities(c, dims),
       ") -> (Loss=out) {epsilon=", FloatText(c.OneOf({1e-7f, 1e-4f, 0.1f})), "}");
}

void BceLoss(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = Probabilities(c, dims);
  c.Op("bce_loss(X=", x, ", Label=", Probabilities(c, dims), ") -> (Out=out)");
}

void KlDivergence(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = c.Numbers(dims, -2.0f, 2.0f);
  const std::string target = c.Numbers(dims, -0.5f, 2.0f);
  c.Op("kldiv_loss(X=", x, ", Target=", target, ") -> (Loss=out) {reduction=\"",
       c.OneOf<std::string>({"none", "sum", "mean", "batchmean"}), "\"}");
  c.Sums(SizeOf(dims));
  c.Magnitude(4.0 * static_cast<double>(SizeOf(dims)));
}

void Norm(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::string x = c.Numbers(dims, 0.1f, 2.0f);
  c.Op("norm(X=", x, ") -> (Norm=norm, Out=out) {axis=", c.SomeAxis(dims.size()),
       ", epsilon=", FloatText(c.OneOf({1e-10f, 0.01f})), "}");
  c.Sums(SizeOf(dims));
  c.Magnitude(20);
}

void Dot(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 2, 40);
  const std::string x = c.Numbers(dims, -2.0f, 2.0f);
  c.Op("dot(X=", x, ", Y=", c.Numbers(dims, -2.0f, 2.0f), ") -> (Out=out)");
  c.Sums(dims.back());
  c.Magnitude(4.0 * static_cast<double>(dims.back()));
}

void Maxout(CaseMaker& c) {
  Dims dims = c.SomeDims(2, 4);
  const int groups = c.Between(1, 4);
  const int axis = c.SomeAxis(dims.size());
  dims[axis < 0 ? axis + dims.size() : axis] *= groups;
  c.Op("maxout(X=", c.Numbers(dims), ") -> (Out=out) {groups=", groups, ", axis=", axis, "}");
  c.Exact();
}

void Addmm(CaseMaker& c) {
  const int rows = c.Between(1, 8);
  const int inner = c.Between(1, 20);
  const int columns = c.Between(1, 8);
  const Dims input =
      c.OneOf(std::vector<Dims>{{rows, columns}, {1, columns}, {rows, 1}, {1, 1}, {columns}, {1}});
  const std::string addend = c.Numbers(input, -2.0f, 2.0f);
  const std::string x = c.Numbers({rows, inner}, -2.0f, 2.0f);
  const std::string y = c.Numbers({inner, columns}, -2.0f, 2.0f);
  c.Op("addmm(Input=", addend, ", X=", x, ", Y=", y,
       ") -> (Out=out) {Alpha=", FloatText(c.Between(-2.0f, 2.0f)),
       ", Beta=", FloatText(c.Between(-2.0f, 2.0f)), "}");
  c.Sums(inner + rows * columns);
  c.Magnitude(8.0 * (inner + rows * columns));
}

}  // namespace

Generators LossesGenerators() {
  return {{"label_smooth", LabelSmooth},
          {"log_loss", LogLoss},
          {"bce_loss", BceLoss},
          {"kldiv_loss", KlDivergence},
          {"norm", Norm},
          {"dot", Dot},
          {"maxout", Maxout},
          {"addmm", Addmm}};
}

}  // namespace fixpoint::random_cases
