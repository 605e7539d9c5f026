#include "tests/testing/backward.h"

#include <glog/logging.h>

#include <set>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

using Slots = google::protobuf::RepeatedPtrField<OpDesc::Var>;

std::string GradientName(absl::string_view name) { return absl::StrCat(name, kGradientSuffix); }

std::string WithoutGradient(const std::string& name) {
  return name.substr(0, name.find(kGradientSuffix));
}

bool Names(const Slots& slots, const std::string& name) {
  for (const OpDesc::Var& slot : slots) {
    for (const std::string& argument : slot.arguments()) {
      if (argument == name) return true;
    }
  }
  return false;
}

OpDesc::Var* AddSlot(Slots* slots, absl::string_view name) {
  OpDesc::Var* slot = slots->Add();
  slot->set_parameter(std::string(name));
  return slot;
}

class BackwardMaker {
 public:
  explicit BackwardMaker(ProgramDesc* program)
      : program_(*program),
        era_(EraOf(program->version().version(), program->has_op_version_map())) {}

  void Append(const std::string& loss);

 private:
  // Names whose gradients are known at some point of the backward pass.
  using Known = std::set<std::string>;

  // The gradient ops of a block, last op first.
  std::vector<OpDesc> Differentiate(const BlockDesc& block, int gradient_block, Known& known);
  std::vector<OpDesc> GradientOps(const OpDesc& op, const BlockDesc& block, int gradient_block,
                                  const Known& known);
  // The gradient of a loop or conditional: one op, and the block that it runs.
  std::vector<OpDesc> GradientOfOwner(const OpDesc& op, int gradient_block, const Known& known);
  // Puts @EMPTY@ where no gradient is known or wanted; whether any is known and any is wanted.
  bool Connect(const BlockDesc& block, const Known& known, OpDesc* gradient);
  bool HasGradient(const BlockDesc& block, const std::string& name) const;
  const VarDesc* Find(const BlockDesc* block, const std::string& name) const;
  // Gives each of several ops that make one gradient a name of its own, and sums them.
  std::vector<OpDesc> Accumulate(std::vector<OpDesc> ops, int block) const;
  void Declare(const BlockDesc& forward, const std::vector<OpDesc>& ops, BlockDesc* block);
  void Update(const std::string& parameter, BlockDesc* block);

  ProgramDesc& program_;
  const Era era_;
};

const VarDesc* BackwardMaker::Find(const BlockDesc* block, const std::string& name) const {
  while (true) {
    for (const VarDesc& var : block->vars()) {
      if (var.name() == name) return &var;
    }
    if (block->parent_idx() < 0) return nullptr;
    block = &program_.blocks(block->parent_idx());
  }
}

bool BackwardMaker::HasGradient(const BlockDesc& block, const std::string& name) const {
  const VarDesc* var = Find(&block, name);
  if (var == nullptr || var->stop_gradient() || !var->type().has_lod_tensor()) return false;
  const VarType::Type dtype = var->type().lod_tensor().tensor().data_type();
  return dtype == VarType::FP32 || dtype == VarType::FP64;
}

bool BackwardMaker::Connect(const BlockDesc& block, const Known& known, OpDesc* gradient) {
  bool any_known = false;
  for (OpDesc::Var& slot : *gradient->mutable_inputs()) {
    for (std::string& argument : *slot.mutable_arguments()) {
      if (!absl::EndsWith(argument, kGradientSuffix)) continue;
      if (known.count(WithoutGradient(argument)) == 0) {
        argument = kEmptyArgument;
      } else {
        any_known = true;
      }
    }
  }
  bool any_wanted = false;
  for (OpDesc::Var& slot : *gradient->mutable_outputs()) {
    for (std::string& argument : *slot.mutable_arguments()) {
      if (!HasGradient(block, WithoutGradient(argument))) argument = kEmptyArgument;
      any_wanted |= argument != kEmptyArgument;
    }
  }
  return any_known && any_wanted;
}

std::vector<OpDesc> BackwardMaker::GradientOps(const OpDesc& op, const BlockDesc& block,
                                               int gradient_block, const Known& known) {
  std::vector<OpDesc> made;
  if (FindAttr(op, "sub_block") != nullptr) {
    made = GradientOfOwner(op, gradient_block, known);
  } else {
    const OpSchema* schema = FindOpSchema(op.type());
    CHECK(schema != nullptr) << op.type();
    made = schema->MakeGradient(op, era_);
  }
  std::vector<OpDesc> connected;
  for (OpDesc& gradient : made) {
    if (Connect(block, known, &gradient)) connected.push_back(std::move(gradient));
  }
  return connected;
}

std::vector<OpDesc> BackwardMaker::GradientOfOwner(const OpDesc& op, int gradient_block,
                                                   const Known& known) {
  Known inside;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& argument : slot.arguments()) {
      if (known.count(argument) != 0) inside.insert(argument);
    }
  }
  if (inside.empty()) return {};
  const BlockDesc& forward = program_.blocks(FindAttr(op, "sub_block")->block_idx());
  BlockDesc* block = program_.add_blocks();
  block->set_idx(program_.blocks_size() - 1);
  block->set_parent_idx(gradient_block);
  block->set_forward_block_idx(forward.idx());
  const std::vector<OpDesc> ops =
      Accumulate(Differentiate(forward, block->idx(), inside), block->idx());
  Declare(forward, ops, block);
  for (const OpDesc& gradient : ops) *block->add_ops() = gradient;

  const bool is_loop = op.type() == "while";
  const char* const captured = is_loop ? "X" : "Input";
  OpDesc gradient;
  gradient.set_type(op.type() + "_grad");
  for (const OpDesc::Var& slot : op.inputs()) {
    if (slot.parameter() != "Condition") *gradient.add_inputs() = slot;
  }
  for (const OpDesc::Var& slot : op.outputs()) *gradient.add_inputs() = slot;
  OpDesc::Var* out = AddSlot(gradient.mutable_inputs(), GradientName("Out"));
  for (const OpDesc::Var& slot : op.outputs()) {
    if (slot.parameter() != "Out") continue;
    for (const std::string& argument : slot.arguments()) out->add_arguments(GradientName(argument));
  }
  OpDesc::Var* x = AddSlot(gradient.mutable_outputs(), GradientName(captured));
  for (const OpDesc::Var& slot : op.inputs()) {
    if (slot.parameter() != captured) continue;
    for (const std::string& argument : slot.arguments()) {
      const std::string name = GradientName(argument);
      bool is_made = false;
      for (const OpDesc& made : ops) is_made |= Names(made.outputs(), name);
      x->add_arguments(is_made ? name : kEmptyArgument);
    }
  }
  *gradient.add_attrs() = MakeBlockAttr("sub_block", block->idx());
  if (!is_loop) *gradient.add_attrs() = MakeBoolAttr("is_scalar_condition", true);
  *gradient.add_attrs() = MakeIntAttr("op_role", kBackward);
  return {gradient};
}

std::vector<OpDesc> BackwardMaker::Differentiate(const BlockDesc& block, int gradient_block,
                                                 Known& known) {
  std::vector<OpDesc> ops;
  for (int i = block.ops_size() - 1; i >= 0; --i) {
    const OpDesc& op = block.ops(i);
    std::vector<OpDesc> gradients = GradientOps(op, block, gradient_block, known);
    for (const OpDesc::Var& slot : op.outputs()) {
      // The value before this write has a gradient of its own.
      for (const std::string& argument : slot.arguments()) known.erase(argument);
    }
    for (OpDesc& gradient : gradients) {
      for (const OpDesc::Var& slot : gradient.outputs()) {
        for (const std::string& argument : slot.arguments()) {
          if (argument != kEmptyArgument) known.insert(WithoutGradient(argument));
        }
      }
      ops.push_back(std::move(gradient));
    }
  }
  return ops;
}

std::vector<OpDesc> BackwardMaker::Accumulate(std::vector<OpDesc> ops, int block) const {
  std::vector<OpDesc> summed;
  // Who made each gradient since it was last read or summed: where the name stands, and the name.
  struct Part {
    size_t op;
    int slot;
    int index;
    std::string name;
  };
  absl::btree_map<std::string, std::vector<Part>> parts;
  absl::btree_map<std::string, int> renamed;
  const auto sum = [&](const std::string& gradient) {
    std::vector<Part>& terms = parts[gradient];
    if (terms.size() > 1) {
      OpDesc op;
      op.set_type("sum");
      OpDesc::Var* x = AddSlot(op.mutable_inputs(), "X");
      for (const Part& term : terms) x->add_arguments(term.name);
      AddSlot(op.mutable_outputs(), "Out")->add_arguments(gradient);
      *op.add_attrs() = MakeBoolAttr("use_mkldnn", false);
      *op.add_attrs() = MakeIntAttr("op_role", kBackward);
      summed.push_back(std::move(op));
    }
    terms.clear();
  };
  const auto rename = [&](const std::string& gradient, Part& part) {
    part.name = absl::StrCat(gradient, "@RENAME@block", block, "@", renamed[gradient]++);
    summed[part.op].mutable_outputs(part.slot)->set_arguments(part.index, part.name);
  };
  for (OpDesc& op : ops) {
    for (const OpDesc::Var& slot : op.inputs()) {
      for (const std::string& argument : slot.arguments()) {
        if (parts.count(argument) != 0) sum(argument);
      }
    }
    const size_t position = summed.size();
    const OpDesc made = op;
    summed.push_back(std::move(op));
    for (int slot = 0; slot < made.outputs_size(); ++slot) {
      for (int index = 0; index < made.outputs(slot).arguments_size(); ++index) {
        const std::string& gradient = made.outputs(slot).arguments(index);
        if (gradient == kEmptyArgument) continue;
        std::vector<Part>& terms = parts[gradient];
        terms.push_back({position, slot, index, gradient});
        if (terms.size() == 1) continue;
        if (terms.size() == 2) rename(gradient, terms[0]);
        rename(gradient, terms.back());
      }
    }
  }
  for (auto& [gradient, terms] : parts) sum(gradient);
  return summed;
}

void BackwardMaker::Declare(const BlockDesc& forward, const std::vector<OpDesc>& ops,
                            BlockDesc* block) {
  std::set<std::string> declared;
  for (const OpDesc& op : ops) {
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        if (name == kEmptyArgument || !declared.insert(name).second) continue;
        const VarDesc* of = Find(&forward, WithoutGradient(name));
        CHECK(of != nullptr) << name;
        VarDesc* gradient = block->add_vars();
        gradient->set_name(name);
        *gradient->mutable_type() = of->type();
      }
    }
  }
}

void BackwardMaker::Update(const std::string& parameter, BlockDesc* block) {
  const std::string gradient = GradientName(parameter);
  const OpDesc::Attr pair = MakeStringsAttr("op_role_var", {parameter, gradient});
  OpDesc* last = nullptr;
  for (OpDesc& op : *block->mutable_ops()) {
    if (Names(op.outputs(), gradient)) last = &op;
  }
  if (last == nullptr) return;
  *last->add_attrs() = pair;
  *block->add_ops() = OpBuilder("sgd")
                          .Input("Grad", gradient)
                          .Input("LearningRate", "learning_rate")
                          .Input("Param", parameter)
                          .Output("ParamOut", parameter)
                          .Attr(MakeIntAttr("op_role", kOptimize))
                          .Attr(pair)
                          .Build();
}

void BackwardMaker::Append(const std::string& loss) {
  BlockDesc* block = program_.mutable_blocks(0);
  const VarType::TensorDesc& tensor = Find(block, loss)->type().lod_tensor().tensor();
  OpDesc seed = OpBuilder("fill_constant")
                    .Output("Out", GradientName(loss))
                    .Attr(MakeLongsAttr("shape", {tensor.dims().begin(), tensor.dims().end()}))
                    .Attr(MakeIntAttr("dtype", tensor.data_type()))
                    .Attr(MakeFloatAttr("value", 1.0f))
                    .Attr(MakeIntAttr("op_role", kBackward | kLoss))
                    .Build();
  Known known = {loss};
  std::vector<OpDesc> ops = Differentiate(*block, 0, known);
  ops.insert(ops.begin(), std::move(seed));
  ops = Accumulate(std::move(ops), 0);
  Declare(*block, ops, block);
  for (OpDesc& op : ops) *block->add_ops() = std::move(op);
  std::vector<std::string> parameters;
  for (const VarDesc& var : block->vars()) {
    if (var.is_parameter()) parameters.push_back(var.name());
  }
  for (const std::string& parameter : parameters) Update(parameter, block);
}

}  // namespace

void AppendBackwardAndSgd(const std::string& loss, ProgramDesc* program) {
  BackwardMaker(program).Append(loss);
}

}  // namespace fixpoint
