#include "proto/diff/program_diff.h"

#include <google/protobuf/stubs/logging.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/diff/message_comparison.h"
#include "proto/diff/program_correspondence.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using Change = Difference::Change;
using Subject = Difference::Subject;

// The text form of an op without its attributes.
std::string SlotsText(const Op& op) {
  OpDesc slots = op.desc();
  slots.clear_attrs();
  return PrintOp(slots);
}

std::string BlockText(const Block& block) {
  return absl::StrCat("block ", block.index(), " with ", block.op_count(), " ops and ",
                      block.variables().size(), " variables");
}

class Differ {
 public:
  Differ(const Program& a, const Program& b, const DiffOptions& options)
      : a_(a), b_(b), options_(options), correspondence_(a, b, options) {}

  ProgramDiff Run() {
    AddChange({}, CompareProgramHeaders(a_.Proto(), b_.Proto(), options_));
    std::vector<const ProgramCorrespondence::BlockPair*> pair_of_b(b_.block_count(), nullptr);
    for (const auto& pair : correspondence_.block_pairs()) pair_of_b[pair.b->index()] = &pair;
    for (int i = 0; i < b_.block_count(); ++i) {
      if (pair_of_b[i] != nullptr) {
        CompareBlockPair(*pair_of_b[i]);
      } else {
        AddWholeBlock(Change::kAdded, b_.block(i));
      }
    }
    for (int i = 0; i < a_.block_count(); ++i) {
      if (correspondence_.BlockInB(i) < 0) AddWholeBlock(Change::kRemoved, a_.block(i));
    }
    return std::move(diff_);
  }

 private:
  void CompareBlockPair(const ProgramCorrespondence::BlockPair& pair) {
    if (!pair.ops.complete) diff_.given_up_blocks.push_back(pair.b->index());
    Difference block;
    block.subject = Subject::kBlock;
    block.block = pair.b->index();
    AddChange(std::move(block),
              CompareBlockHeaders(pair.a->desc(), pair.b->desc(), correspondence_, options_));
    CompareVariables(*pair.a, *pair.b);
    int a = 0;
    int b = 0;
    const auto add_until = [&](int a_end, int b_end) {
      for (; a < a_end; ++a) AddWholeOp(Change::kRemoved, *pair.a_ops[a], a);
      for (; b < b_end; ++b) AddWholeOp(Change::kAdded, *pair.b_ops[b], b);
    };
    for (const AlignedPair& ops : pair.ops.pairs) {
      add_until(ops.a, ops.b);
      CompareOpPair(*pair.a_ops[a], a, *pair.b_ops[b], b);
      ++a;
      ++b;
    }
    add_until(static_cast<int>(pair.a_ops.size()), static_cast<int>(pair.b_ops.size()));
  }

  void CompareVariables(const Block& a_block, const Block& b_block) {
    const std::vector<const Variable*> b_variables = b_block.variables();
    const std::vector<int> b_position_of = PairDeclarations(a_block, b_variables);
    std::vector<bool> is_paired(b_variables.size(), false);
    int last_position = -1;
    bool in_order = true;
    size_t i = 0;
    for (const Variable* a : a_block.variables()) {
      const int position = b_position_of[i++];
      if (position < 0) {
        AddWholeVariable(Change::kRemoved, a_block, *a);
        continue;
      }
      is_paired[position] = true;
      in_order = in_order && position > last_position;
      last_position = position;
      const Variable& b = *b_variables[position];
      Difference variable;
      variable.subject = Subject::kVariable;
      variable.block = b_block.index();
      variable.name = b.name();
      variable.text = PrintVar(*b.desc());
      AddChange(std::move(variable), CompareDeclarations(*a->desc(), *b.desc(), options_));
    }
    for (size_t position = 0; position < b_variables.size(); ++position) {
      if (!is_paired[position]) {
        AddWholeVariable(Change::kAdded, b_block, *b_variables[position]);
      }
    }
    if (options_.strict && !in_order) {
      Difference block;
      block.subject = Subject::kBlock;
      block.block = b_block.index();
      AddChange(std::move(block), {{"order of variables", "one order", "another order"}});
    }
  }

  // For each variable of a's block its position in b's; -1: none. Temporaries correspond by what
  // writes them, if that is known; other variables by name, in order if a name is declared twice.
  std::vector<int> PairDeclarations(const Block& a_block,
                                    const std::vector<const Variable*>& b_variables) const {
    absl::flat_hash_map<const Variable*, int> position_of;
    absl::flat_hash_map<absl::string_view, std::vector<int>> positions_of_name;
    for (int position = static_cast<int>(b_variables.size()) - 1; position >= 0; --position) {
      const Variable* b = b_variables[position];
      position_of[b] = position;
      if (correspondence_.TemporaryInA(*b) == nullptr) {
        positions_of_name[b->name()].push_back(position);
      }
    }
    std::vector<int> positions;
    for (const Variable* a : a_block.variables()) {
      int position = -1;
      if (const Variable* b = correspondence_.TemporaryInB(*a)) {
        const auto it = position_of.find(b);
        if (it != position_of.end()) position = it->second;
      } else if (const auto it = positions_of_name.find(a->name());
                 it != positions_of_name.end() && !it->second.empty()) {
        position = it->second.back();
        it->second.pop_back();
      }
      positions.push_back(position);
    }
    return positions;
  }

  void CompareOpPair(const Op& a, int a_index, const Op& b, int b_index) {
    std::vector<Difference::Part> parts = CompareOps(a, b, correspondence_, options_);
    if (parts.empty()) return;
    Difference difference;
    difference.subject = Subject::kOp;
    difference.block = b.block().index();
    difference.index_a = a_index;
    difference.index_b = b_index;
    difference.name = b.type();
    difference.text = SlotsText(b);
    AddChange(std::move(difference), std::move(parts));
  }

  void AddChange(Difference difference, std::vector<Difference::Part> parts) {
    if (parts.empty()) return;
    difference.change = Change::kChanged;
    difference.parts = std::move(parts);
    diff_.differences.push_back(std::move(difference));
  }

  void AddWhole(Subject subject, Change change, int block, std::string name, std::string text) {
    Difference& difference = diff_.differences.emplace_back();
    difference.subject = subject;
    difference.change = change;
    difference.block = block;
    difference.name = std::move(name);
    difference.text = std::move(text);
  }

  void AddWholeBlock(Change change, const Block& block) {
    AddWhole(Subject::kBlock, change, block.index(), "", BlockText(block));
  }

  void AddWholeVariable(Change change, const Block& block, const Variable& variable) {
    AddWhole(Subject::kVariable, change, block.index(), variable.name(),
             PrintVar(*variable.desc()));
  }

  void AddWholeOp(Change change, const Op& op, int index) {
    ProgramTextOptions text_options;
    text_options.debug_attributes = !options_.ignore_debug_attributes;
    AddWhole(Subject::kOp, change, op.block().index(), op.type(), PrintOp(op.desc(), text_options));
    Difference& difference = diff_.differences.back();
    (change == Change::kRemoved ? difference.index_a : difference.index_b) = index;
  }

  const Program& a_;
  const Program& b_;
  const DiffOptions& options_;
  ProgramCorrespondence correspondence_;
  ProgramDiff diff_;
};

}  // namespace

ProgramDiff DiffPrograms(const Program& a, const Program& b, const DiffOptions& options) {
  // Names need not be UTF-8; protobuf's debug builds would complain about that.
  const google::protobuf::LogSilencer no_warnings;
  return Differ(a, b, options).Run();
}

}  // namespace fixpoint
