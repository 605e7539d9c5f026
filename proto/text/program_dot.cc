#include "proto/text/program_dot.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/program/type_names.h"
#include "proto/text/text_lexemes.h"

namespace fixpoint {
namespace {

constexpr char kQuantizeColor[] = "#ffd28a";
constexpr char kPersistableColor[] = "#dde6f3";

// A name as the text form writes it, in printable ASCII.
std::string NameText(absl::string_view name) {
  std::string text;
  AppendName(name, &text);
  return text;
}

// A quoted label of lines of printable ASCII.
std::string Quoted(const std::vector<std::string>& lines) {
  std::vector<std::string> escaped;
  for (const std::string& line : lines) {
    escaped.push_back(absl::StrReplaceAll(line, {{"\\", "\\\\"}, {"\"", "\\\""}}));
  }
  return absl::StrCat("\"", absl::StrJoin(escaped, "\\n"), "\"");
}

bool IsQuantizeOp(const Op& op) { return absl::StrContains(op.type(), "quantize"); }

class DotPrinter {
 public:
  DotPrinter(const Program& program, const DotOptions& options)
      : program_(program), options_(options) {}

  std::string Print() {
    NumberNodes();
    text_ =
        "digraph program {\n  node [fontname=\"Helvetica\", fontsize=10];\n"
        "  edge [fontname=\"Helvetica\", fontsize=8];\n";
    AppendBlock(program_.block(0), 1);
    AppendEdges();
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  bool IsShown(const Op& op) const {
    if (!options_.backward_ops && (op.role() & kBackward) != 0) return false;
    return options_.optimizer_ops || (op.role() & (kOptimize | kLearningRate)) == 0;
  }

  void NumberNodes() {
    shown_ops_.resize(program_.block_count());
    values_.resize(program_.block_count());
    children_.resize(program_.block_count());
    for (int i = 0; i < program_.block_count(); ++i) {
      const Block& block = program_.block(i);
      if (block.parent() != nullptr) children_[block.parent()->index()].push_back(&block);
      int index = 0;
      for (const Op& op : block.ops()) {
        if (IsShown(op)) {
          shown_ops_[i].push_back({&op, index});
          for (const Argument* input : op.inputs()) NumberValue(input->value());
          for (const Argument* output : op.outputs()) NumberValue(output->value());
        }
        ++index;
      }
    }
  }

  // Numbers a value and, for a merge, the values that it merges.
  void NumberValue(const Value* first) {
    std::vector<const Value*> open = {first};
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      if (value == nullptr) continue;
      if (!number_of_.emplace(value, static_cast<int>(number_of_.size())).second) continue;
      values_[value->block().index()].push_back(value);
      if (!value->merged().empty()) merges_.push_back(value);
      open.insert(open.end(), value->merged().rbegin(), value->merged().rend());
    }
  }

  std::string ValueId(const Value& value) const {
    return absl::StrCat("value", number_of_.at(&value));
  }

  static std::string OpId(const Block& block, int index) {
    return absl::StrCat("op", block.index(), "_", index);
  }

  // Blocks nest no deeper than Program allows.
  void AppendBlock(const Block& block, int depth) {
    const std::string indent(2 * depth, ' ');
    absl::StrAppend(&text_, indent, "subgraph cluster_block", block.index(), " {\n", indent,
                    "  label=\"block ", block.index(), "\";\n");
    for (const Value* value : values_[block.index()]) AppendValue(*value, indent);
    for (const auto& [op, index] : shown_ops_[block.index()]) AppendOp(*op, index, indent);
    for (const Block* child : children_[block.index()]) AppendBlock(*child, depth + 1);
    absl::StrAppend(&text_, indent, "}\n");
  }

  void AppendValue(const Value& value, const std::string& indent) {
    const Variable& variable = value.variable();
    std::vector<std::string> label = {NameText(variable.name())};
    if (variable.tensor() != nullptr) label.push_back(TensorTypeName(*variable.tensor()));
    absl::StrAppend(&text_, indent, "  ", ValueId(value), " [label=", Quoted(label));
    if (variable.persistable()) {
      absl::StrAppend(&text_, ", shape=note, style=filled, fillcolor=\"", kPersistableColor, "\"");
    } else {
      absl::StrAppend(&text_, ", shape=ellipse");
    }
    absl::StrAppend(&text_, "];\n");
  }

  void AppendOp(const Op& op, int index, const std::string& indent) {
    const std::vector<std::string> label = {NameText(op.type()), absl::StrCat("op ", index)};
    absl::StrAppend(&text_, indent, "  ", OpId(op.block(), index), " [label=", Quoted(label),
                    ", shape=box");
    if (IsQuantizeOp(op)) {
      absl::StrAppend(&text_, ", style=filled, fillcolor=\"", kQuantizeColor, "\"");
    }
    absl::StrAppend(&text_, "];\n");
  }

  void AppendEdges() {
    for (int i = 0; i < program_.block_count(); ++i) {
      for (const auto& [op, index] : shown_ops_[i]) {
        const std::string id = OpId(op->block(), index);
        for (const Argument* input : op->inputs()) {
          if (input->value() == nullptr) continue;
          AppendEdge(ValueId(*input->value()), id, input->slot_name());
        }
        for (const Argument* output : op->outputs()) {
          if (output->value() == nullptr) continue;
          AppendEdge(id, ValueId(*output->value()), output->slot_name());
        }
        for (const Block* block : op->sub_blocks()) AppendRunEdge(id, *block);
      }
    }
    for (const Value* merge : merges_) {
      for (const Value* merged : merge->merged()) {
        absl::StrAppend(&text_, "  ", ValueId(*merged), " -> ", ValueId(*merge),
                        " [style=dashed];\n");
      }
    }
  }

  void AppendEdge(const std::string& from, const std::string& to, absl::string_view slot) {
    absl::StrAppend(&text_, "  ", from, " -> ", to, " [label=", Quoted({NameText(slot)}), "];\n");
  }

  // An edge to the first op of a block, because DOT has no edges to a cluster.
  void AppendRunEdge(const std::string& from, const Block& block) {
    const auto& ops = shown_ops_[block.index()];
    if (ops.empty()) return;
    absl::StrAppend(&text_, "  ", from, " -> ", OpId(block, ops[0].index),
                    " [style=dashed, label=\"runs block ", block.index(), "\"];\n");
  }

  struct ShownOp {
    const Op* op;
    int index;  // in its block
  };

  const Program& program_;
  const DotOptions& options_;
  std::vector<std::vector<ShownOp>> shown_ops_;      // by block
  std::vector<std::vector<const Value*>> values_;    // by block, in order of appearance
  std::vector<std::vector<const Block*>> children_;  // by block
  std::vector<const Value*> merges_;
  absl::flat_hash_map<const Value*, int> number_of_;
  std::string text_;
};

}  // namespace

std::string PrintDot(const Program& program, const DotOptions& options) {
  return DotPrinter(program, options).Print();
}

}  // namespace fixpoint
