#include "transpiler/pipeline/uses.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/captures.h"

namespace fixpoint {

bool IsUnread(const Value& value) {
  if (!value.readers().empty()) return false;
  const auto values = value.variable().values();
  return std::none_of(values.begin(), values.end(), [&value](const Value* other) {
    const auto merged = other->merged();
    return std::find(merged.begin(), merged.end(), &value) != merged.end();
  });
}

bool IsUnread(const Op& op) {
  return std::all_of(op.outputs().begin(), op.outputs().end(), [](const Argument* output) {
    return output->value() == nullptr ||
           (!output->variable()->persistable() && IsUnread(*output->value()));
  });
}

bool CanName(const Program& program, const Op& op, const Variable& variable) {
  return program.Find(op.block(), variable.name()) == &variable;
}

absl::flat_hash_set<std::string> NamesInAllAttributes(const Program& program) {
  absl::flat_hash_set<std::string> names;
  for (const Op& op : program.ops()) {
    for (const absl::string_view name : NamesInAttributes(op)) names.emplace(name);
  }
  return names;
}

const Variable* RemovedWriters::Meant(const Program& program, const RemovedVariables& removed,
                                      const Block& block, absl::string_view name) {
  const Variable* const there = program.Find(block, name);
  const Block* at = &block;
  while (at != nullptr) {
    const auto gone = removed.find(std::make_pair(at, std::string(name)));
    if (gone != removed.end()) return gone->second;
    if (there != nullptr && there->desc() != nullptr && &there->block() == at) return there;
    at = at->forward() != nullptr ? at->forward() : at->parent();
  }
  return nullptr;
}

const Op* RemovedWriters::InMain(const Op& op) const {
  return op.block().index() == 0 ? &op : owners_[op.block().index()];
}

RemovedWriters::RemovedWriters(const Program& program) : owners_(program.block_count(), nullptr) {
  // A block comes after the one whose op runs it.
  for (int b = 0; b < program.block_count(); ++b) {
    const Block& block = program.block(b);
    if (block.owner() != nullptr) owners_[b] = InMain(*block.owner());
    for (const Op* op : block.removed_ops()) {
      for (const auto& [attr, run] : BlocksOf(op->desc())) {
        if (program.block(run).owner() == nullptr) owners_[run] = InMain(*op);
      }
    }
  }
  RemovedVariables removed;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Variable* variable : program.block(b).removed_variables()) {
      removed.emplace(std::make_pair(&program.block(b), variable->name()), variable);
    }
  }
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op* op : program.block(b).removed_ops()) {
      const Op* const in_main = InMain(*op);
      if (in_main == nullptr) continue;
      for (const Argument* output : op->outputs()) {
        const absl::string_view name = output->name();
        const Key key{Meant(program, removed, op->block(), name), std::string(name)};
        const auto [first, is_new] = writers_.try_emplace(key, Writer{op, in_main});
        if (!is_new && in_main->IsBefore(*first->second.in_main)) first->second = {op, in_main};
      }
    }
  }
}

const Op* RemovedWriters::WriterOf(const Argument& read) const {
  if (read.value() == nullptr || read.value()->origin() != Value::Origin::kEntry ||
      read.variable()->persistable()) {
    return nullptr;
  }
  const Variable& variable = *read.variable();
  const auto found =
      writers_.find({variable.desc() != nullptr ? &variable : nullptr, variable.name()});
  const Op* const in_main = InMain(read.op());
  if (found == writers_.end() || in_main == nullptr) return nullptr;
  const auto& [writer, runs] = found->second;
  // An op reads before it runs its blocks.
  const bool is_before = in_main == runs ? in_main != &read.op() : runs->IsBefore(*in_main);
  return is_before ? writer : nullptr;
}

absl::Status RemovedWriters::Check(const Argument& read) const {
  const Op* const writer = WriterOf(read);
  if (writer == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(DescribeInFile(read.op()), ": reads \"", read.name(), "\", which ",
                   DescribeInFile(*writer), " computes; a program for inference has no such op"));
}

absl::Status CheckReads(const Program& program) {
  const RemovedWriters removed(program);
  for (const Op& op : program.ops()) {
    for (const Argument* input : op.inputs()) RETURN_IF_ERROR(removed.Check(*input));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
