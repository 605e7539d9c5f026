#include "tests/testing/random_program.h"

#include <glog/logging.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/attributes.h"
#include "proto/op_builder.h"
#include "tests/testing/backward.h"

namespace fixpoint {
namespace {

constexpr int kDeepestNesting = 2;

// A variable that ops may read.
struct Tensor {
  std::string name;
  std::vector<int64_t> dims;
  VarType::Type dtype = VarType::FP32;

  bool is_rows() const { return dims.size() == 2 && dims[1] > 0; }
  bool is_image() const { return dims.size() == 4; }
};

class Generator {
 public:
  Generator(uint64_t seed, const RandomProgramOptions& options)
      : random_(seed), options_(options) {}

  ProgramDesc Make();

 private:
  // What ops of a block can read: variables of the block and of those that it is in.
  struct Frame {
    int block = 0;
    int depth = 0;
    std::vector<Tensor> tensors;
    size_t outer_tensors = 0;  // the first ones: those of the blocks above
  };

  BlockDesc& block(const Frame& frame) { return *program_.mutable_blocks(frame.block); }
  std::string NewName(absl::string_view stem) { return absl::StrCat(stem, "_", ++names_[stem]); }
  VarDesc* Declare(int block, const std::string& name, VarType::Type dtype,
                   const std::vector<int64_t>& dims);
  const VarDesc* Find(int block, absl::string_view name) const;

  // Appends an op; what is not declared yet of its outputs is, with the inferred type. Gives its
  // first output.
  Tensor Append(Frame& frame, OpDesc op);
  // The same, and other ops may read its first output.
  void Add(Frame& frame, OpDesc op) { frame.tensors.push_back(Append(frame, std::move(op))); }
  // Notes what an op and its gradient read.
  void NoteReads(int block, const OpDesc& op, bool has_gradient);
  bool HasGradient(int block, const std::string& name) const;
  // Whether `tensor` may be written anew: no gradient op wants what it holds now.
  bool MayOverwrite(const Frame& frame, const Tensor& tensor) const;

  void AddOps(Frame& frame, int count);
  void AddOp(Frame& frame);
  void AddProduct(Frame& frame);
  void AddProductOfActivations(Frame& frame);
  void AddConvolution(Frame& frame);
  void AddPool(Frame& frame);
  void AddElementwise(Frame& frame);
  void AddActivation(Frame& frame);
  void AddConcat(Frame& frame);
  void AddCast(Frame& frame);
  void AddInPlace(Frame& frame);
  void AddSideBranch(Frame& frame);
  void AddLoop(Frame& frame);
  void AddConditional(Frame& frame);

  // A block below the frame's with random ops in it.
  Frame OpenBlock(const Frame& frame);
  // What the ops of a block, and of those below it, read (or write) and do not declare.
  std::vector<std::string> Captured(const Frame& inner, bool written) const;
  std::string Counter(Frame& frame, int value);
  std::string ScalarCondition(Frame& frame, const std::string& a, const std::string& b);

  // The tensors that `wanted` holds for; 32-bit floats alone.
  template <typename Wanted>
  std::vector<Tensor> Where(const Frame& frame, Wanted wanted) const;
  // A parameter of those dimensions: one that is there already, or a new one.
  std::string Weight(const std::vector<int64_t>& dims, VarType::Type dtype = VarType::FP32);
  void AddLoss(Frame& frame);

  Random random_;
  const RandomProgramOptions options_;
  ProgramDesc program_;
  Era era_ = Era::kPaddle2;
  absl::flat_hash_map<std::string, int> names_;
  std::vector<Tensor> weights_;
  absl::flat_hash_set<std::string> read_;
  absl::flat_hash_set<std::string> read_by_gradients_;
};

VarDesc* Generator::Declare(int block, const std::string& name, VarType::Type dtype,
                            const std::vector<int64_t>& dims) {
  VarDesc* var = program_.mutable_blocks(block)->add_vars();
  *var = MakeTensorVar(name, dtype, dims);
  return var;
}

const VarDesc* Generator::Find(int block, absl::string_view name) const {
  for (int at = block; at >= 0; at = program_.blocks(at).parent_idx()) {
    for (const VarDesc& var : program_.blocks(at).vars()) {
      if (var.name() == name) return &var;
    }
  }
  return nullptr;
}

bool Generator::HasGradient(int block, const std::string& name) const {
  const VarDesc* var = Find(block, name);
  return var != nullptr && !var->stop_gradient() && var->type().has_lod_tensor();
}

void Generator::NoteReads(int block, const OpDesc& op, bool has_gradient) {
  for (const OpDesc::Var& slot : op.inputs()) {
    for (const std::string& argument : slot.arguments()) read_.insert(argument);
  }
  const OpSchema* schema = FindOpSchema(op.type());
  if (!has_gradient || FindAttr(op, "sub_block") != nullptr) return;
  for (const OpDesc& gradient : schema->MakeGradient(op, era_)) {
    for (const OpDesc::Var& slot : gradient.inputs()) {
      for (const std::string& argument : slot.arguments()) {
        if (Find(block, argument) != nullptr) read_by_gradients_.insert(argument);
      }
    }
  }
}

Tensor Generator::Append(Frame& frame, OpDesc op) {
  bool has_gradient = false;
  for (const OpDesc::Var& slot : op.inputs()) {
    for (const std::string& argument : slot.arguments()) {
      has_gradient |= HasGradient(frame.block, argument);
    }
  }
  const auto inferred =
      InferOutputs(op, era_, [&](absl::string_view name) { return Find(frame.block, name); });
  CHECK(inferred.ok()) << inferred.status() << "\n" << op.ShortDebugString();
  size_t output = 0;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) {
      const InferredOutput& as = (*inferred)[output++];
      if (Find(frame.block, name) != nullptr) continue;
      const Dims dims = as.dims.value_or(Dims{});
      VarDesc* var =
          Declare(frame.block, name, as.dtype.value_or(VarType::FP32), {dims.begin(), dims.end()});
      if (!has_gradient) var->set_stop_gradient(true);
    }
  }
  *op.add_attrs() = MakeIntAttr("op_role", kForward);
  NoteReads(frame.block, op, has_gradient);
  const std::string name = op.outputs(0).arguments(0);
  *block(frame).add_ops() = std::move(op);
  const VarType::TensorDesc& tensor = Find(frame.block, name)->type().lod_tensor().tensor();
  return {name, {tensor.dims().begin(), tensor.dims().end()}, tensor.data_type()};
}

template <typename Wanted>
std::vector<Tensor> Generator::Where(const Frame& frame, Wanted wanted) const {
  std::vector<Tensor> found;
  for (const Tensor& tensor : frame.tensors) {
    if (tensor.dtype == VarType::FP32 && wanted(tensor)) found.push_back(tensor);
  }
  return found;
}

std::string Generator::Weight(const std::vector<int64_t>& dims, VarType::Type dtype) {
  std::vector<std::string> alike;
  for (const Tensor& weight : weights_) {
    if (weight.dims == dims && weight.dtype == dtype) alike.push_back(weight.name);
  }
  if (!alike.empty() && random_.OneIn(2)) return random_.OneOf(alike);
  const std::string name = NewName("w");
  VarDesc* var = Declare(0, name, dtype, dims);
  var->set_persistable(true);
  var->set_is_parameter(true);
  weights_.push_back({name, dims, dtype});
  return name;
}

void Generator::AddProduct(Frame& frame) {
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
    // A weight behind a cast is a weight too.
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

void Generator::AddProductOfActivations(Frame& frame) {
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

void Generator::AddConvolution(Frame& frame) {
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

void Generator::AddPool(Frame& frame) {
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

void Generator::AddElementwise(Frame& frame) {
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

void Generator::AddActivation(Frame& frame) {
  const char* const type = random_.OneOf(std::vector<const char*>{"relu", "tanh", "sigmoid"});
  Add(frame, OpBuilder(type)
                 .Input("X", random_.OneOf(Where(frame, [](const Tensor&) { return true; })).name)
                 .Output("Out", NewName(type))
                 .Build());
}

void Generator::AddConcat(Frame& frame) {
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

void Generator::AddCast(Frame& frame) {
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

bool Generator::MayOverwrite(const Frame& frame, const Tensor& tensor) const {
  if (read_by_gradients_.count(tensor.name) != 0) return false;
  const VarDesc& var = *Find(frame.block, tensor.name);
  // What has a gradient may only be overwritten before it is read: its gradient is then made by one
  // op, in place.
  return var.stop_gradient() ? !var.need_check_feed() : read_.count(tensor.name) == 0;
}

void Generator::AddInPlace(Frame& frame) {
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

void Generator::AddSideBranch(Frame& frame) {
  // A copy that no gradient reaches, as of a metric, which may be written in place.
  const Tensor x = random_.OneOf(Where(frame, [](const Tensor& t) { return t.is_rows(); }));
  const std::string name = NewName("side");
  Declare(frame.block, name, x.dtype, x.dims)->set_stop_gradient(true);
  OpDesc op = OpBuilder("assign").Input("X", x.name).Output("Out", name).Build();
  Add(frame, std::move(op));
  if (random_.OneIn(2)) AddInPlace(frame);
}

std::string Generator::Counter(Frame& frame, int value) {
  return Append(frame, OpBuilder("fill_constant")
                           .Output("Out", NewName("counter"))
                           .Attr(MakeLongsAttr("shape", {1}))
                           .Attr(MakeIntAttr("dtype", VarType::INT64))
                           .Attr(MakeFloatAttr("value", static_cast<float>(value)))
                           .Attr(MakeBoolAttr("force_cpu", true))
                           .Build())
      .name;
}

std::string Generator::ScalarCondition(Frame& frame, const std::string& a, const std::string& b) {
  return Append(frame, OpBuilder("less_than")
                           .Input("X", a)
                           .Input("Y", b)
                           .Output("Out", NewName("condition"))
                           .Build())
      .name;
}

Generator::Frame Generator::OpenBlock(const Frame& frame) {
  BlockDesc* made = program_.add_blocks();
  made->set_idx(program_.blocks_size() - 1);
  made->set_parent_idx(frame.block);
  Frame inner = frame;
  inner.block = made->idx();
  inner.depth = frame.depth + 1;
  inner.outer_tensors = inner.tensors.size();
  return inner;
}

std::vector<std::string> Generator::Captured(const Frame& inner, bool written) const {
  const BlockDesc& block = program_.blocks(inner.block);
  std::set<std::string> names;
  for (const OpDesc& op : block.ops()) {
    for (const OpDesc::Var& slot : written ? op.outputs() : op.inputs()) {
      names.insert(slot.arguments().begin(), slot.arguments().end());
    }
  }
  for (const VarDesc& var : block.vars()) names.erase(var.name());
  return {names.begin(), names.end()};
}

// An op that runs a block, with what the block captures.
OpDesc OwnerOp(const char* type, int block, const char* inputs_slot,
               const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  OpDesc op;
  op.set_type(type);
  OpDesc::Var* in = op.add_inputs();
  in->set_parameter(inputs_slot);
  for (const std::string& name : inputs) in->add_arguments(name);
  OpDesc::Var* out = op.add_outputs();
  out->set_parameter("Out");
  for (const std::string& name : outputs) out->add_arguments(name);
  OpDesc::Attr* attr = op.add_attrs();
  attr->set_name("sub_block");
  attr->set_type(AttrType::BLOCK);
  attr->set_block_idx(block);
  *op.add_attrs() = MakeIntAttr("op_role", kForward);
  return op;
}

void Generator::AddLoop(Frame& frame) {
  const Tensor x = random_.OneOf(Where(frame, [](const Tensor& t) { return t.is_rows(); }));
  Tensor carried = Append(
      frame, OpBuilder("assign").Input("X", x.name).Output("Out", NewName("carried")).Build());
  const std::string count = Counter(frame, 0);
  const std::string end = Counter(frame, 3);
  const std::string condition = ScalarCondition(frame, count, end);

  Frame inner = OpenBlock(frame);
  inner.tensors.push_back(carried);
  inner.outer_tensors = inner.tensors.size();
  if (random_.OneIn(2)) {
    Add(inner,
        OpBuilder("assign").Input("X", carried.name).Output("Out", NewName("copied")).Build());
  }
  AddOps(inner, 2 + random_.Below(4));
  std::string next;
  for (const Tensor& tensor : inner.tensors) {
    if (tensor.dims == carried.dims && tensor.name != carried.name) next = tensor.name;
  }
  Append(inner, OpBuilder("assign").Input("X", next).Output("Out", carried.name).Build());
  Append(inner, OpBuilder("increment")
                    .Input("X", count)
                    .Output("Out", count)
                    .Attr(MakeFloatAttr("step", 1.0f))
                    .Build());
  Append(inner,
         OpBuilder("less_than").Input("X", count).Input("Y", end).Output("Out", condition).Build());

  OpDesc op = OwnerOp("while", inner.block, "X", Captured(inner, /*written=*/false),
                      Captured(inner, /*written=*/true));
  OpDesc::Var* condition_slot = op.add_inputs();
  condition_slot->set_parameter("Condition");
  condition_slot->add_arguments(condition);
  const std::string scopes = NewName("scopes");
  VarDesc* var = block(frame).add_vars();
  var->set_name(scopes);
  var->mutable_type()->set_type(VarType::STEP_SCOPES);
  OpDesc::Var* scopes_slot = op.add_outputs();
  scopes_slot->set_parameter("StepScopes");
  scopes_slot->add_arguments(scopes);
  NoteReads(frame.block, op, /*has_gradient=*/false);
  *block(frame).add_ops() = std::move(op);
  frame.tensors.push_back(carried);
}

void Generator::AddConditional(Frame& frame) {
  const Tensor x = random_.OneOf(Where(frame, [](const Tensor& t) { return t.is_rows(); }));
  const std::string condition =
      ScalarCondition(frame, Counter(frame, random_.Below(2)), Counter(frame, 1));
  const std::string result = NewName("chosen");
  Frame inner = OpenBlock(frame);
  AddOps(inner, 1 + random_.Below(3));
  const Tensor chosen = random_.OneOf(Where(inner, [](const Tensor&) { return true; }));
  VarDesc* declared = Declare(frame.block, result, chosen.dtype, chosen.dims);
  declared->set_stop_gradient(!HasGradient(inner.block, chosen.name));
  Append(inner, OpBuilder("assign").Input("X", chosen.name).Output("Out", result).Build());

  OpDesc op = OwnerOp("conditional_block", inner.block, "Input", Captured(inner, false),
                      Captured(inner, true));
  OpDesc::Var* condition_slot = op.add_inputs();
  condition_slot->set_parameter("Cond");
  condition_slot->add_arguments(condition);
  const std::string scope = NewName("scope");
  VarDesc* var = block(frame).add_vars();
  var->set_name(scope);
  var->mutable_type()->set_type(VarType::STEP_SCOPES);
  OpDesc::Var* scope_slot = op.add_outputs();
  scope_slot->set_parameter("Scope");
  scope_slot->add_arguments(scope);
  *op.add_attrs() = MakeBoolAttr("is_scalar_condition", true);
  NoteReads(frame.block, op, /*has_gradient=*/false);
  *block(frame).add_ops() = std::move(op);
  frame.tensors.push_back({result, chosen.dims, chosen.dtype});
}

void Generator::AddOp(Frame& frame) {
  const int choice = random_.Below(20);
  const bool nests = options_.blocks && frame.depth < kDeepestNesting;
  if (choice < 5) return AddProduct(frame);
  if (choice < 8) return AddConvolution(frame);
  if (choice < 10) return AddElementwise(frame);
  if (choice < 12) return AddActivation(frame);
  if (choice == 12) return AddPool(frame);
  if (choice == 13) return AddConcat(frame);
  if (choice == 14) return AddCast(frame);
  if (choice == 15) return AddInPlace(frame);
  if (choice == 16) return AddSideBranch(frame);
  if (choice == 17) return AddProductOfActivations(frame);
  if (choice == 18 && nests) return AddLoop(frame);
  if (choice == 19 && nests) return AddConditional(frame);
  AddProduct(frame);
}

void Generator::AddOps(Frame& frame, int count) {
  for (int i = 0; i < count; ++i) AddOp(frame);
}

void Generator::AddLoss(Frame& frame) {
  std::vector<std::string> means;
  for (const Tensor& tensor : frame.tensors) {
    if (tensor.dtype != VarType::FP32 || !HasGradient(0, tensor.name)) continue;
    if (read_.count(tensor.name) != 0) continue;
    Tensor mean = Append(
        frame, OpBuilder("mean").Input("X", tensor.name).Output("Out", NewName("mean")).Build());
    means.push_back(std::move(mean.name));
  }
  OpDesc sum = OpBuilder("sum").Output("Out", "loss").Build();
  OpDesc::Var* terms = sum.add_inputs();
  terms->set_parameter("X");
  for (const std::string& mean : means) terms->add_arguments(mean);
  Append(frame, std::move(sum));
  OpDesc& loss = *block(frame).mutable_ops(block(frame).ops_size() - 1);
  loss.mutable_attrs(loss.attrs_size() - 1)->set_i(kForward | kLoss);
}

ProgramDesc Generator::Make() {
  if (random_.OneIn(3)) era_ = Era::kFluid;
  program_.mutable_version()->set_version(era_ == Era::kFluid ? 1008005 : 2006002);
  BlockDesc* main = program_.add_blocks();
  main->set_idx(0);
  main->set_parent_idx(-1);
  Frame frame;
  for (const auto& [name, dims] : std::vector<std::pair<std::string, std::vector<int64_t>>>{
           {"x", {-1, 8}}, {"image", {-1, 4, 6, 6}}}) {
    VarDesc* var = Declare(0, name, VarType::FP32, dims);
    var->set_stop_gradient(true);
    var->set_need_check_feed(true);
    frame.tensors.push_back({name, dims, VarType::FP32});
  }
  AddProduct(frame);
  AddOps(frame, options_.forward_ops);
  AddProduct(frame);
  if (!options_.backward) return program_;
  Declare(0, "learning_rate", VarType::FP32, {1})->set_persistable(true);
  AddLoss(frame);
  AppendBackwardAndSgd("loss", &program_);
  return program_;
}

}  // namespace

ProgramDesc RandomProgram(uint64_t seed, const RandomProgramOptions& options) {
  return Generator(seed, options).Make();
}

ProgramDesc StartupOf(const ProgramDesc& program) {
  ProgramDesc startup;
  *startup.mutable_version() = program.version();
  BlockDesc* block = startup.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  for (const VarDesc& var : program.blocks(0).vars()) {
    if (!var.persistable() || !var.type().has_lod_tensor()) continue;
    const VarType::TensorDesc& tensor = var.type().lod_tensor().tensor();
    *block->add_vars() = var;
    *block->add_ops() =
        OpBuilder("fill_constant")
            .Output("Out", var.name())
            .Attr(MakeLongsAttr("shape", {tensor.dims().begin(), tensor.dims().end()}))
            .Attr(MakeIntAttr("dtype", tensor.data_type()))
            .Attr(MakeFloatAttr("value", 0.5f))
            .Attr(MakeIntAttr("op_role", kForward))
            .Build();
  }
  return startup;
}

}  // namespace fixpoint
