// Layers: a network in C++, written into a program as the reference's layers write it.
//
//   Program program = EmptyProgram(2, 6, 2);  // the release that it is written for
//   Program startup = EmptyProgram(2, 6, 2);
//   ProgramBuilder net(&program, &startup);
//   const std::string image = Data(net, "image", {-1, 1, 28, 28});
//   const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
//   const std::string features = MaxPool2d(net, Relu(net, Conv2d(net, image, 20, 5)), 2);
//   const std::string loss = Mean(net, SoftmaxWithCrossEntropy(net, Fc(net, features, 10), label));
//   const auto parameters = Optimizer(Adam(), 0.001f).Minimize(net, loss);  // ops/optimizer.h
//   if (!parameters.ok()) ...
//
// A layer takes and returns names of variables. -1 in a shape stands for the batch. After an error
// (ProgramBuilder::status) a layer writes nothing and returns "".
//
// Adding one: a function in the file of its family (ops/layers/), and its line here.

#ifndef FIXPOINT_OPS_LAYERS_H_
#define FIXPOINT_OPS_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/program_builder.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// An input: a tensor of that shape and dtype. It has no gradient.
std::string Data(ProgramBuilder& net, const std::string& name, const std::vector<int64_t>& dims,
                 VarType::Type dtype = VarType::FP32);

struct Conv2dOptions {
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  int groups = 1;  // as many as channels: a depthwise convolution
  bool bias = true;
};
// x [N,C,H,W], filters [filters, C / groups, kernel, kernel] from a normal distribution of
// deviation sqrt(2 / (kernel^2 * C)), a bias [filters] of zeros -> [N, filters, H', W'] with
// H' = (H + 2 padding - dilation * (kernel - 1) - 1) / stride + 1, rounded down, and W' alike.
std::string Conv2d(ProgramBuilder& net, const std::string& x, int filters, int kernel,
                   const Conv2dOptions& options = {});

// The same filters the other way, [C, filters / groups, kernel, kernel], uniform within
// sqrt(6 / (kernel^2 * (C + filters / groups))) -> [N, filters, H', W'] with
// H' = (H - 1) * stride - 2 padding + dilation * (kernel - 1) + 1, and W' alike.
std::string Conv2dTranspose(ProgramBuilder& net, const std::string& x, int filters, int kernel,
                            const Conv2dOptions& options = {});

// x flattened from axis `first_axis` on to [.., in], a weight [in, units] uniform within
// sqrt(6 / (in + units)), a bias [units] of zeros -> [.., units].
std::string Fc(ProgramBuilder& net, const std::string& x, int units, int first_axis = 1,
               bool bias = true);

// Rows of a table [size, width], uniform within sqrt(6 / (size + width)), at ids [..] INT64 -> [..,
// width]. The row of id `padding` is zeros; -1: no such id.
std::string Embedding(ProgramBuilder& net, const std::string& ids, int size, int width,
                      int64_t padding = -1);

struct BatchNormOptions {
  float momentum = 0.9f;
  float epsilon = 1e-5f;
};
// x [N,C,..], normalised over all but axis 1; a scale [C] of ones, a bias [C] of zeros, a running
// mean 0 and variance 1 -> x's shape.
std::string BatchNorm(ProgramBuilder& net, const std::string& x,
                      const BatchNormOptions& options = {});
// Over the axes of x from `first_axis` on, of `width` elements; a scale [width] of ones, a bias
// [width] of zeros -> x's shape.
std::string LayerNorm(ProgramBuilder& net, const std::string& x, int first_axis = 1,
                      float epsilon = 1e-5f);
// Drops elements of x with a probability of [0, 1) and divides the others by 1 - probability; does
// nothing in a test program -> x's shape.
std::string Dropout(ProgramBuilder& net, const std::string& x, float probability);

// Any op of the form type(X) -> (Out), "relu", "tanh", "gelu" -> x's shape.
std::string Activation(ProgramBuilder& net, const std::string& x, const std::string& type);
inline std::string Relu(ProgramBuilder& net, const std::string& x) {
  return Activation(net, x, "relu");
}
// Over the last axis -> x's shape.
std::string Softmax(ProgramBuilder& net, const std::string& x);

struct Pool2dOptions {
  int stride = 0;  // 0: the kernel's size
  int padding = 0;
};
// x [N,C,H,W], windows [kernel, kernel] -> [N,C,H',W'], as Conv2d.
std::string MaxPool2d(ProgramBuilder& net, const std::string& x, int kernel,
                      const Pool2dOptions& options = {});
// The same; averages do not count padding.
std::string AvgPool2d(ProgramBuilder& net, const std::string& x, int kernel,
                      const Pool2dOptions& options = {});
// x [N,C,H,W] -> [N,C,1,1], averages.
std::string GlobalAvgPool2d(ProgramBuilder& net, const std::string& x);

// Elementwise: x and y have equal shapes, or axes of size 1 and missing leading axes broadcast ->
// the broadcast shape.
std::string Add(ProgramBuilder& net, const std::string& x, const std::string& y);
std::string Multiply(ProgramBuilder& net, const std::string& x, const std::string& y);
// x * by -> x's shape.
std::string Scale(ProgramBuilder& net, const std::string& x, float by);

// Tensors whose shapes differ only in `axis` -> that shape, with the sum of their sizes there.
std::string Concat(ProgramBuilder& net, const std::vector<std::string>& x, int axis);
// -> `shape`, where 0 keeps the size of that axis and -1 takes what is left.
std::string Reshape(ProgramBuilder& net, const std::string& x, const std::vector<int32_t>& shape);
// -> the axes of x in the order of `axes`.
std::string Transpose(ProgramBuilder& net, const std::string& x, const std::vector<int32_t>& axes);
// Products of matrices, x [..,M,K] (transposed: [..,K,M]) and y [..,K,N] (transposed: [..,N,K]) ->
// [..,M,N]; the leading axes are equal, or broadcast.
std::string Matmul(ProgramBuilder& net, const std::string& x, const std::string& y,
                   bool transpose_x = false, bool transpose_y = false);

// -log of the probability of the label: [N,classes] and labels [N,1] INT64 -> [N,1].
std::string CrossEntropy(ProgramBuilder& net, const std::string& probabilities,
                         const std::string& label);
// The same for logits.
std::string SoftmaxWithCrossEntropy(ProgramBuilder& net, const std::string& logits,
                                    const std::string& label);
// The mean of all elements -> one value: [1], since 2.5 [].
std::string Mean(ProgramBuilder& net, const std::string& x);
// The share of the rows of probabilities [N,classes] whose label [N,1] INT64 is among the k most
// probable -> one value, like Mean. It has no gradient.
std::string Accuracy(ProgramBuilder& net, const std::string& probabilities,
                     const std::string& label, int k = 1);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_LAYERS_H_
