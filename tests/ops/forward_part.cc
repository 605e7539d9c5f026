#include "tests/ops/forward_part.h"

#include <glog/logging.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ops/forward_ops.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

Program ProgramOf(const ProgramDesc& desc, const std::string& name) {
  absl::StatusOr<Program> program = Program::Create(desc, name);
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

}  // namespace

Program ForwardPart(const Program& training) {
  ProgramDesc desc = training.Proto();
  int last_block = 0;
  std::set<std::string> used;
  for (BlockDesc& block : *desc.mutable_blocks()) {
    auto& ops = *block.mutable_ops();
    ops.erase(std::remove_if(ops.begin(), ops.end(),
                             [](const OpDesc& op) {
                               return !IsForwardRole(IntAttr(op, "op_role").value_or(0));
                             }),
              ops.end());
    for (OpDesc& op : ops) {
      for (OpDesc::Attr& attr : *op.mutable_attrs()) {
        if (attr.name() == "op_role") attr.set_i(attr.i() & ~kLoss);
        if (attr.type() == BLOCK) last_block = std::max(last_block, attr.block_idx());
      }
      for (const auto* slots : {&op.inputs(), &op.outputs()}) {
        for (const OpDesc::Var& slot : *slots) {
          used.insert(slot.arguments().begin(), slot.arguments().end());
        }
      }
    }
  }
  while (desc.blocks_size() > last_block + 1) desc.mutable_blocks()->RemoveLast();
  for (BlockDesc& block : *desc.mutable_blocks()) {
    auto& vars = *block.mutable_vars();
    vars.erase(std::remove_if(vars.begin(), vars.end(),
                              [&used](const VarDesc& var) { return used.count(var.name()) == 0; }),
               vars.end());
  }
  return ProgramOf(desc, training.name());
}

Program EmptyProgramLike(const Program& program) {
  ProgramDesc desc;
  if (program.Proto().has_version()) *desc.mutable_version() = program.Proto().version();
  if (program.Proto().has_op_version_map()) {
    *desc.mutable_op_version_map() = program.Proto().op_version_map();
  }
  BlockDesc* block = desc.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  return ProgramOf(desc, "startup");
}

Program Initializers(const Program& startup, const Program& but) {
  ProgramDesc desc = startup.Proto();
  const auto is_left_out = [&but](const std::string& name) {
    const Variable* variable = but.Find(but.block(0), name);
    return variable != nullptr && variable->desc() != nullptr;
  };
  auto& vars = *desc.mutable_blocks(0)->mutable_vars();
  vars.erase(std::remove_if(vars.begin(), vars.end(),
                            [&](const VarDesc& variable) { return is_left_out(variable.name()); }),
             vars.end());
  auto& ops = *desc.mutable_blocks(0)->mutable_ops();
  const auto initialised = [](const OpDesc& op) { return op.outputs(0).arguments(0); };
  ops.erase(std::remove_if(ops.begin(), ops.end(),
                           [&](const OpDesc& op) { return is_left_out(initialised(op)); }),
            ops.end());
  std::sort(ops.begin(), ops.end(),
            [&](const OpDesc& a, const OpDesc& b) { return initialised(a) < initialised(b); });
  return ProgramOf(desc, startup.name());
}

std::string LossOf(const Program& training) {
  for (const Op& op : training.block(0).ops()) {
    if (IsForwardRole(op.role()) && (op.role() & kLoss) != 0) {
      return std::string(op.outputs().front()->name());
    }
  }
  LOG(FATAL) << training.name() << " marks no loss";
}

}  // namespace fixpoint
