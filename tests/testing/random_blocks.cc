// The loops and conditionals of random programs.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "tests/testing/program_generator.h"

namespace fixpoint {
namespace {

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
  *op.add_attrs() = MakeBlockAttr("sub_block", block);
  *op.add_attrs() = MakeIntAttr("op_role", kForward);
  return op;
}

}  // namespace

std::string ProgramGenerator::Counter(Frame& frame, int value) {
  return Append(frame, OpBuilder("fill_constant")
                           .Output("Out", NewName("counter"))
                           .Attr(MakeLongsAttr("shape", {1}))
                           .Attr(MakeIntAttr("dtype", VarType::INT64))
                           .Attr(MakeFloatAttr("value", static_cast<float>(value)))
                           .Attr(MakeBoolAttr("force_cpu", true))
                           .Build())
      .name;
}

std::string ProgramGenerator::ScalarCondition(Frame& frame, const std::string& a,
                                              const std::string& b) {
  return Append(frame, OpBuilder("less_than")
                           .Input("X", a)
                           .Input("Y", b)
                           .Output("Out", NewName("condition"))
                           .Build())
      .name;
}

ProgramGenerator::Frame ProgramGenerator::OpenBlock(const Frame& frame) {
  BlockDesc* made = program_.add_blocks();
  made->set_idx(program_.blocks_size() - 1);
  made->set_parent_idx(frame.block);
  Frame inner = frame;
  inner.block = made->idx();
  inner.depth = frame.depth + 1;
  inner.outer_tensors = inner.tensors.size();
  return inner;
}

std::vector<std::string> ProgramGenerator::Captured(const Frame& inner, bool written) const {
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

void ProgramGenerator::AddLoop(Frame& frame) {
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

void ProgramGenerator::AddConditional(Frame& frame) {
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

}  // namespace fixpoint
