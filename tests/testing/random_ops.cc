// The ops of random programs that run no block.

#include <string>
#include <utility>
#include <vector>

#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "tests/testing/program_generator.h"

namespace fixpoint {

void ProgramGenerator::AddProduct(Frame& frame) {
  const std::vector<Tensor> inputs =
      Where(frame, [](const Tensor& t) { return t.is_rows() || (t.is_image() && t.dims[1] > 0); });
  const Tensor x = random_.OneOf(inputs);
  const int64_t n = 4 * (1 + random_.Below(2));
  const std::string type =
      x.is_image() ? "mul" : random_.OneOf(std::vector<const char*>{"mul", "matmul", "matmul_v2"});
  int64_t k = 1;
  for (size_t i = 1; i < x.dims.size(); ++i) k *= x.dims[i];
  OpBuilder product(type);
  product.Input("X", x.name);
  if (type == "mul") {
    // A weight after a cast is a weight too.
    std::string weight;
    if (random_.OneIn(6)) {
      weight = Append(frame, OpBuilder("cast")
                                 .Input("X", Weight({k, n}, VarType::FP64))
                                 .Output("Out", NewName("cast"))
                                 .Attr(MakeIntAttr("in_dtype", VarType::FP64))
                                 .Attr(MakeIntAttr("out_dtype", VarType::FP32))
                                 .Build())
                   .name;
    } else {
      weight = Weight({k, n});
    }
    product.Input("Y", weight)
        .Attr(MakeIntAttr("x_num_col_dims", 1))
        .Attr(MakeIntAttr("y_num_col_dims", 1));
  } else {
    const bool is_v2 = type == "matmul_v2";
    const bool transposed = random_.OneIn(3);
    product.Input("Y", transposed ? Weight({n, k}) : Weight({k, n}))
        .Attr(MakeBoolAttr(is_v2 ? "trans_x" : "transpose_X", false))
        .Attr(MakeBoolAttr(is_v2 ? "trans_y" : "transpose_Y", transposed));
  }
  Add(frame, product.Output("Out", NewName(type)).Build());
}

void ProgramGenerator::AddProductOfActivations(Frame& frame) {
  const std::vector<Tensor> inputs = Where(frame, [](const Tensor& t) { return t.is_rows(); });
  const Tensor x = random_.OneOf(inputs);
  const std::vector<Tensor> partners =
      Where(frame, [&x](const Tensor& t) { return t.dims == x.dims; });
  Add(frame, OpBuilder("matmul_v2")
                 .Input("X", x.name)
                 .Input("Y", random_.OneOf(partners).name)
                 .Output("Out", NewName("similarity"))
                 .Attr(MakeBoolAttr("trans_x", true))
                 .Attr(MakeBoolAttr("trans_y", false))
                 .Build());
}

void ProgramGenerator::AddConvolution(Frame& frame) {
  const std::vector<Tensor> images = Where(frame, [](const Tensor& t) { return t.is_image(); });
  if (images.empty()) return AddProduct(frame);
  const Tensor x = random_.OneOf(images);
  const bool depthwise = random_.OneIn(4);
  const int64_t channels = depthwise ? x.dims[1] : 4;
  const int64_t size = random_.OneIn(2) ? 3 : 1;
  const int padding = size == 3 ? 1 : 0;
  const char* const type = depthwise ? "depthwise_conv2d" : "conv2d";
  OpBuilder op(type);
  op.Input("Filter", Weight({channels, depthwise ? 1 : x.dims[1], size, size}))
      .Input("Input", x.name)
      .Output("Output", NewName(type))
      .Attr(MakeIntsAttr("strides", {1, 1}))
      .Attr(MakeIntsAttr("paddings", {padding, padding}))
      .Attr(MakeIntsAttr("dilations", {1, 1}))
      .Attr(MakeIntAttr("groups", depthwise ? static_cast<int32_t>(channels) : 1));
  if (random_.OneIn(8)) op.Attr(MakeBoolAttr("skip_quant", true));
  if (random_.OneIn(8)) op.Attr(MakeStringAttr("op_namescope", "/skip_quant/"));
  Add(frame, op.Build());
}

void ProgramGenerator::AddPool(Frame& frame) {
  const std::vector<Tensor> images = Where(frame, [](const Tensor& t) { return t.is_image(); });
  if (images.empty()) return AddActivation(frame);
  Add(frame, OpBuilder("pool2d")
                 .Input("X", random_.OneOf(images).name)
                 .Output("Out", NewName("pool2d"))
                 .Attr(MakeStringAttr("pooling_type", random_.OneIn(2) ? "avg" : "max"))
                 .Attr(MakeIntsAttr("ksize", {3, 3}))
                 .Attr(MakeIntsAttr("strides", {1, 1}))
                 .Attr(MakeIntsAttr("paddings", {1, 1}))
                 .Build());
}

void ProgramGenerator::AddElementwise(Frame& frame) {
  const std::vector<Tensor> inputs = Where(frame, [](const Tensor&) { return true; });
  const Tensor x = random_.OneOf(inputs);
  if (x.is_rows() && random_.OneIn(3)) {
    return Add(frame, OpBuilder("elementwise_add")
                          .Input("X", x.name)
                          .Input("Y", Weight({x.dims[1]}))
                          .Output("Out", NewName("bias"))
                          .Attr(MakeIntAttr("axis", 1))
                          .Build());
  }
  const std::vector<Tensor> partners =
      Where(frame, [&x](const Tensor& t) { return t.dims == x.dims; });
  const char* const type = random_.OneIn(4) ? "elementwise_mul" : "elementwise_add";
  Add(frame, OpBuilder(type)
                 .Input("X", x.name)
                 .Input("Y", random_.OneOf(partners).name)
                 .Output("Out", NewName(type))
                 .Attr(MakeIntAttr("axis", -1))
                 .Build());
}

void ProgramGenerator::AddActivation(Frame& frame) {
  const char* const type = random_.OneOf(std::vector<const char*>{"relu", "tanh", "sigmoid"});
  Add(frame, OpBuilder(type)
                 .Input("X", random_.OneOf(Where(frame, [](const Tensor&) { return true; })).name)
                 .Output("Out", NewName(type))
                 .Build());
}

void ProgramGenerator::AddConcat(Frame& frame) {
  const std::vector<Tensor> inputs =
      Where(frame, [](const Tensor& t) { return t.is_rows() || t.is_image(); });
  const Tensor x = random_.OneOf(inputs);
  if (x.dims[1] > 16) return AddActivation(frame);
  const std::vector<Tensor> partners =
      Where(frame, [&x](const Tensor& t) { return t.dims == x.dims; });
  OpDesc op = OpBuilder("concat")
                  .Input("X", x.name)
                  .Output("Out", NewName("concat"))
                  .Attr(MakeIntAttr("axis", 1))
                  .Build();
  for (int i = random_.Below(2); i >= 0; --i) {
    op.mutable_inputs(0)->add_arguments(random_.OneOf(partners).name);
  }
  Add(frame, std::move(op));
}

void ProgramGenerator::AddCast(Frame& frame) {
  const Tensor x = random_.OneOf(Where(frame, [](const Tensor&) { return true; }));
  const auto cast = [&](const std::string& input, VarType::Type from, VarType::Type to) {
    return OpBuilder("cast")
        .Input("X", input)
        .Output("Out", NewName("cast"))
        .Attr(MakeIntAttr("in_dtype", from))
        .Attr(MakeIntAttr("out_dtype", to))
        .Build();
  };
  const Tensor wide = Append(frame, cast(x.name, VarType::FP32, VarType::FP64));
  Add(frame, cast(wide.name, VarType::FP64, VarType::FP32));
}

bool ProgramGenerator::MayOverwrite(const Frame& frame, const Tensor& tensor) const {
  if (read_by_gradients_.count(tensor.name) != 0) return false;
  const VarDesc& var = *Find(frame.block, tensor.name);
  // What has a gradient may only be overwritten before it is read: its gradient is then made by one
  // op, in place.
  return var.stop_gradient() ? !var.need_check_feed() : read_.count(tensor.name) == 0;
}

void ProgramGenerator::AddInPlace(Frame& frame) {
  const bool outer = frame.depth > 0 && random_.OneIn(2);
  std::vector<Tensor> candidates;
  for (size_t i = 0; i < frame.tensors.size(); ++i) {
    const Tensor& tensor = frame.tensors[i];
    const bool is_outer = i < frame.outer_tensors;
    if (is_outer && !Find(frame.block, tensor.name)->stop_gradient()) continue;
    if (is_outer == outer && tensor.dtype == VarType::FP32 && MayOverwrite(frame, tensor)) {
      candidates.push_back(tensor);
    }
  }
  if (candidates.empty()) return AddActivation(frame);
  const Tensor written = random_.OneOf(candidates);
  // The gradient of an addition wants its inputs, one of which is then gone.
  const std::vector<Tensor> terms = Where(frame, [&](const Tensor& t) {
    return t.dims == written.dims && !HasGradient(frame.block, t.name) &&
           !HasGradient(frame.block, written.name);
  });
  const int choice = random_.Below(terms.empty() ? 2 : 3);
  OpBuilder op(choice == 0 ? "relu" : choice == 1 ? "scale" : "elementwise_add");
  op.Input("X", written.name).Output("Out", written.name);
  if (choice == 1) op.Attr(MakeFloatAttr("scale", 0.5f));
  if (choice == 2) {
    op.Input("Y", random_.OneOf(terms).name).Attr(MakeIntAttr("axis", -1));
  }
  Append(frame, op.Build());
}

void ProgramGenerator::AddSideBranch(Frame& frame) {
  // A copy that no gradient reaches, as of a metric, which may be written in place.
  const Tensor x = random_.OneOf(Where(frame, [](const Tensor& t) { return t.is_rows(); }));
  const std::string name = NewName("side");
  Declare(frame.block, name, x.dtype, x.dims)->set_stop_gradient(true);
  OpDesc op = OpBuilder("assign").Input("X", x.name).Output("Out", name).Build();
  Add(frame, std::move(op));
  if (random_.OneIn(2)) AddInPlace(frame);
}

}  // namespace fixpoint
