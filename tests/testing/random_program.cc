#include "tests/testing/random_program.h"

#include <glog/logging.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "tests/testing/backward.h"
#include "tests/testing/program_generator.h"

namespace fixpoint {
namespace {

constexpr int kDeepestNesting = 2;

}  // namespace

VarDesc* ProgramGenerator::Declare(int block, const std::string& name, VarType::Type dtype,
                                   const std::vector<int64_t>& dims) {
  VarDesc* var = program_.mutable_blocks(block)->add_vars();
  *var = MakeTensorVar(name, dtype, dims);
  return var;
}

const VarDesc* ProgramGenerator::Find(int block, absl::string_view name) const {
  for (int at = block; at >= 0; at = program_.blocks(at).parent_idx()) {
    for (const VarDesc& var : program_.blocks(at).vars()) {
      if (var.name() == name) return &var;
    }
  }
  return nullptr;
}

bool ProgramGenerator::HasGradient(int block, const std::string& name) const {
  const VarDesc* var = Find(block, name);
  return var != nullptr && !var->stop_gradient() && var->type().has_lod_tensor();
}

void ProgramGenerator::NoteReads(int block, const OpDesc& op, bool has_gradient) {
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

ProgramGenerator::Tensor ProgramGenerator::Append(Frame& frame, OpDesc op) {
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
      const Dims dims = as.dims.has_value() ? *as.dims : Dims();
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

std::string ProgramGenerator::Weight(const std::vector<int64_t>& dims, VarType::Type dtype) {
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

void ProgramGenerator::AddOp(Frame& frame) {
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

void ProgramGenerator::AddOps(Frame& frame, int count) {
  for (int i = 0; i < count; ++i) AddOp(frame);
}

void ProgramGenerator::AddLoss(Frame& frame) {
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

ProgramDesc ProgramGenerator::Make() {
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

ProgramDesc RandomProgram(uint64_t seed, const RandomProgramOptions& options) {
  return ProgramGenerator(seed, options).Make();
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
