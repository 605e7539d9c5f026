// Inputs, and other arrangements of the same elements.

#include "ops/layers.h"

namespace fixpoint {
namespace {

// An op whose gradient finds the shape of X in XShape, which holds no elements.
std::string Rearrange(ProgramBuilder& net, OpBuilder& op, const char* type) {
  const std::string layer = net.UniqueName(type);
  op.Output("XShape", net.WithoutGradient(layer + ".tmp_1"));
  return net.AppendWithOutput(op, "Out", layer + ".tmp_0");
}

}  // namespace

std::string Data(ProgramBuilder& net, const std::string& name, const std::vector<int64_t>& dims,
                 VarType::Type dtype) {
  net.DeclareFed(name, dims, dtype);
  return name;
}

std::string Concat(ProgramBuilder& net, const std::vector<std::string>& x, int axis) {
  return net.AppendWithOutput(net.New("concat").Input("X", x).IntAttr("axis", axis), "Out",
                              net.UniqueName("concat") + ".tmp_0");
}

std::string Reshape(ProgramBuilder& net, const std::string& x, const std::vector<int32_t>& shape) {
  return Rearrange(net, net.New("reshape2").Input("X", x).IntsAttr("shape", shape), "reshape2");
}

std::string Transpose(ProgramBuilder& net, const std::string& x, const std::vector<int32_t>& axes) {
  return Rearrange(net, net.New("transpose2").Input("X", x).IntsAttr("axis", axes), "transpose2");
}

}  // namespace fixpoint
