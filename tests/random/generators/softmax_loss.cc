// Softmax and losses.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

Generator Softmax(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    c.Op(type, "(X=", c.Numbers(dims), ") -> (Out=out) {axis=", c.SomeAxis(dims.size()), "}");
    c.Sums(SizeOf(dims));
  };
}

// Indices of classes along `axis`, some of which are ignored, or distributions.
std::string SomeLabels(CaseMaker& c, const Dims& dims, int axis, bool is_soft) {
  if (is_soft) return c.Numbers(dims, 0, 1);
  Dims labels = dims;
  const int64_t classes = labels[axis];
  labels[axis] = 1;
  return c.Integers(VarType::INT64, labels, 0, classes - 1);
}

void SoftmaxWithCrossEntropy(CaseMaker& c) {
  const Dims dims = c.SomeDims(2, 4);
  const int axis = c.SomeAxis(dims.size());
  const bool is_soft = c.OneIn(3);
  const std::string logits = c.Numbers(dims);
  const std::string labels =
      SomeLabels(c, dims, axis < 0 ? axis + static_cast<int>(dims.size()) : axis, is_soft);
  c.Op("softmax_with_cross_entropy(Logits=", logits, ", Label=", labels,
       ") -> (Softmax=softmax, Loss=loss) {axis=", axis, ", soft_label=", BoolText(is_soft),
       ", ignore_index=", c.Between(-1, 2), "}");
  c.Sums(SizeOf(dims));
}

Generator CrossEntropy(const std::string& type, const char* outputs) {
  return [=](CaseMaker& c) {
    const Dims dims = c.SomeDims(2, 3);
    const bool is_soft = type == "cross_entropy" && c.OneIn(3);
    const std::string x = c.Numbers(dims, 0.01f, 1);
    const std::string labels = SomeLabels(c, dims, static_cast<int>(dims.size()) - 1, is_soft);
    c.Op(type, "(X=", x, ", Label=", labels, ") -> (", outputs,
         ") {ignore_index=", c.Between(-1, 2), is_soft ? ", soft_label=true" : "", "}");
    c.Fetch(type == "cross_entropy" ? std::vector<std::string>{"out"}
                                    : std::vector<std::string>{"out", "match"});
    c.Sums(SizeOf(dims));
  };
}

void SigmoidCrossEntropy(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const std::string x = c.Numbers(dims);
  const std::string label =
      c.OneIn(2) ? c.Numbers(dims, 0, 1) : c.Floats(dims, std::vector<float>(SizeOf(dims), 1));
  c.Op("sigmoid_cross_entropy_with_logits(X=", x, ", Label=", label,
       ") -> (Out=out) {ignore_index=", c.Between(-1, 1), "}");
  c.Sums(SizeOf(dims));
}

}  // namespace

Generators SoftmaxLossGenerators() {
  return {{"softmax", Softmax("softmax")},
          {"log_softmax", Softmax("log_softmax")},
          {"softmax_with_cross_entropy", SoftmaxWithCrossEntropy},
          {"cross_entropy", CrossEntropy("cross_entropy", "Y=out")},
          {"cross_entropy2", CrossEntropy("cross_entropy2", "Y=out, MatchX=match, XShape=shape")},
          {"sigmoid_cross_entropy_with_logits", SigmoidCrossEntropy}};
}

}  // namespace fixpoint::random_cases
