// Losses and metrics.

#include "ops/layers.h"

namespace fixpoint {

std::string CrossEntropy(ProgramBuilder& net, const std::string& probabilities,
                         const std::string& label) {
  if (net.era() == Era::kPaddle2) {
    return net.AppendWithOutput(
        net.New("cross_entropy").Input("X", probabilities).Input("Label", label), "Y",
        net.UniqueName("cross_entropy") + ".tmp_0");
  }
  const std::string layer = net.UniqueName("cross_entropy2");
  return net.AppendWithOutput(net.New("cross_entropy2")
                                  .Input("X", probabilities)
                                  .Input("Label", label)
                                  .Output("XShape", net.WithoutGradient(layer + ".tmp_1"))
                                  .Output("MatchX", net.WithoutGradient(layer + ".tmp_2")),
                              "Y", layer + ".tmp_0");
}

std::string SoftmaxWithCrossEntropy(ProgramBuilder& net, const std::string& logits,
                                    const std::string& label) {
  const std::string layer = net.UniqueName("softmax_with_cross_entropy");
  return net.AppendWithOutput(net.New("softmax_with_cross_entropy")
                                  .Input("Logits", logits)
                                  .Input("Label", label)
                                  .Output("Softmax", layer + ".tmp_0"),
                              "Loss", layer + ".tmp_1");
}

std::string Mean(ProgramBuilder& net, const std::string& x) {
  const std::string out = net.DeclareTemporary(net.UniqueName("mean") + ".tmp_0", net.ScalarDims());
  if (net.era() == Era::kFluid) {
    return net.AppendWithOutput(net.New("mean").Input("X", x), "Out", out);
  }
  return net.AppendWithOutput(
      net.New("reduce_mean").Input("X", x).IntsAttr("dim", {}).BoolAttr("reduce_all", true), "Out",
      out);
}

std::string Accuracy(ProgramBuilder& net, const std::string& probabilities,
                     const std::string& label, int k) {
  const std::string layer = net.UniqueName("accuracy");
  OpBuilder largest = net.New(net.era() == Era::kPaddle2 ? "top_k_v2" : "top_k");
  largest.Input("X", probabilities)
      .Output("Out", layer + ".tmp_0")
      .Output("Indices", layer + ".tmp_1")
      .IntAttr("k", k);
  if (net.era() == Era::kPaddle2) largest.BoolAttr("sorted", false);
  net.Append(largest);
  const auto number = [&](const char* suffix, VarType::Type dtype) {
    return net.DeclareTemporary(layer + suffix, net.ScalarDims(), dtype);
  };
  // 2.x declares the counts as floats, but its op writes integers.
  const VarType::Type count = net.era() == Era::kPaddle2 ? VarType::FP32 : VarType::INT32;
  const std::string share = number(".tmp_2", VarType::FP32);
  const std::string correct = number(".tmp_3", count);
  const std::string total = number(".tmp_4", count);
  return net.AppendWithOutput(net.New("accuracy")
                                  .Input("Out", layer + ".tmp_0")
                                  .Input("Indices", layer + ".tmp_1")
                                  .Input("Label", label)
                                  .Output("Correct", correct)
                                  .Output("Total", total),
                              "Accuracy", share);
}

}  // namespace fixpoint
