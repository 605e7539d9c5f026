#include "transpiler/composites/loop_expansion.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/infer.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "transpiler/composites/composite_entry.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/replacement.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

constexpr int kOuter = 0;
constexpr int kInner = 1;

using Names = absl::flat_hash_set<std::string>;

// What ops of a block declare or write.
Names MadeIn(const BlockDesc& block) {
  Names made;
  for (const VarDesc& var : block.vars()) made.insert(var.name());
  for (const OpDesc& op : block.ops()) {
    for (const OpDesc::Var& slot : op.outputs()) {
      made.insert(slot.arguments().begin(), slot.arguments().end());
    }
  }
  return made;
}

// The components of one op, over names of the program.
class Loop {
 public:
  Loop(const Op& op, const Program& program, Rewriter* rewriter)
      : op_(op), program_(program), era_(EraOf(program)), rewriter_(*rewriter) {}

  absl::Status Make(const std::string& text) {
    ASSIGN_OR_RETURN(desc_, ParseProgramText(text, op_.type()));
    for (const Argument* input : op_.inputs()) Bind(*input);
    for (const Argument* output : op_.outputs()) Bind(*output);
    ListCrossings();
    NameVariables();
    for (const int b : {kOuter, kInner}) {
      for (OpDesc& op : *desc_.mutable_blocks(b)->mutable_ops()) RETURN_IF_ERROR(Fill(b, &op));
    }
    return absl::OkStatus();
  }

  // REQUIRES: Make succeeded.
  absl::Status Write(CompositeMap::Composite* entry) {
    BeginEntry(op_, entry);
    const Block* const blocks[] = {&op_.block(), &rewriter_.AddBlock(op_.block())};
    for (const int b : {kOuter, kInner}) {
      for (const VarDesc& var : made_[b]) {
        RETURN_IF_ERROR(rewriter_.AddVariable(*blocks[b], var).status());
      }
    }
    const auto kind_of = [this](const std::string& variable) {
      const auto kind = kinds_.find(variable);
      return kind != kinds_.end() ? kind->second : SlotThatWrites(op_.desc(), variable);
    };
    for (OpDesc& op : *desc_.mutable_blocks(kOuter)->mutable_ops()) {
      const bool runs_block = FindAttr(op, "sub_block") != nullptr;
      if (runs_block) SetAttr(MakeBlockAttr("sub_block", blocks[kInner]->index()), &op);
      AddComponents(op, blocks[kOuter]->index(), kind_of, entry);
      rewriter_.InsertBefore(op_, op);
      if (!runs_block) continue;
      for (const OpDesc& inner : desc_.blocks(kInner).ops()) {
        AddComponents(inner, blocks[kInner]->index(), kind_of, entry);
        rewriter_.Append(*blocks[kInner], inner);
      }
    }
    AddDeclarations(op_, entry);
    return absl::OkStatus();
  }

  const std::string& result() const { return result_; }
  int op_count() const { return desc_.blocks(kOuter).ops_size() + desc_.blocks(kInner).ops_size(); }

 private:
  // A slot's name stands for its argument.
  void Bind(const Argument& argument) {
    names_.emplace(argument.slot_name(), std::string(argument.name()));
  }

  // Has the while list what its block reads from outside, and writes there.
  void ListCrossings() {
    const Names outer = MadeIn(desc_.blocks(kOuter));
    Names known = MadeIn(desc_.blocks(kInner));
    std::vector<std::string> reads;
    std::vector<std::string> writes;
    for (const OpDesc& op : desc_.blocks(kInner).ops()) {
      for (const OpDesc::Var& slot : op.inputs()) {
        for (const std::string& name : slot.arguments()) {
          const bool is_outer = outer.contains(name) || !known.contains(name);
          if (is_outer && std::find(reads.begin(), reads.end(), name) == reads.end()) {
            reads.push_back(name);
          }
        }
      }
      for (const OpDesc::Var& slot : op.outputs()) {
        for (const std::string& name : slot.arguments()) {
          if (outer.contains(name)) writes.push_back(name);
        }
      }
    }
    for (OpDesc& op : *desc_.mutable_blocks(kOuter)->mutable_ops()) {
      if (FindAttr(op, "sub_block") == nullptr) continue;
      for (const std::string& name : reads) op.mutable_inputs(0)->add_arguments(name);
      for (const std::string& name : writes) op.mutable_outputs(0)->add_arguments(name);
    }
  }

  void NameVariables() {
    for (const OpDesc& op : desc_.blocks(kOuter).ops()) {
      for (const OpDesc::Var& slot : op.outputs()) {
        for (const std::string& name : slot.arguments()) {
          if (result_.empty() && names_.contains(name)) result_ = names_[name];
        }
      }
    }
    for (const BlockDesc& block : desc_.blocks()) {
      for (const VarDesc& var : block.vars()) Name(var.name());
      for (const OpDesc& op : block.ops()) {
        for (const OpDesc::Var& slot : op.outputs()) {
          for (const std::string& name : slot.arguments()) Name(name);
        }
      }
      for (VarDesc var : block.vars()) {
        var.set_name(names_[var.name()]);
        Declare(block.idx(), var);
      }
    }
  }

  void Name(const std::string& name) {
    const auto [known, is_new] = names_.try_emplace(name);
    if (!is_new) return;
    known->second = rewriter_.FreshName(absl::StrCat(result_, ".", name));
    kinds_[known->second] = name;
  }

  void Declare(int block, const VarDesc& var) {
    declared_.insert({var.name(), var});
    made_[block].push_back(var);
  }

  const VarDesc* Find(absl::string_view name) const {
    const auto made = declared_.find(name);
    if (made != declared_.end()) return &made->second;
    const Variable* const variable = program_.Find(op_.block(), name);
    return variable == nullptr ? nullptr : variable->desc();
  }

  absl::Status Fill(int block, OpDesc* op) {
    for (auto* const slots : {op->mutable_inputs(), op->mutable_outputs()}) {
      for (OpDesc::Var& slot : *slots) {
        for (std::string& name : *slot.mutable_arguments()) name = names_[name];
      }
    }
    TakeRole(op_.desc(), op);
    SetAttr(MakeStringAttr(kRewrittenByAttr, ComponentPatternName(op_)), op);
    ASSIGN_OR_RETURN(
        const std::vector<InferredOutput> inferred,
        InferOutputs(*op, era_, [this](absl::string_view name) { return Find(name); }));
    size_t output = 0;
    for (const OpDesc::Var& slot : op->outputs()) {
      for (const std::string& name : slot.arguments()) {
        const InferredOutput& type = inferred[output++];
        if (!kinds_.contains(name) || declared_.contains(name)) continue;
        Declare(block, MakeTensorVar(name, type.dtype.value_or(VarType::FP32),
                                     type.dims ? DimsView(*type.dims) : DimsView()));
      }
    }
    return absl::OkStatus();
  }

  const Op& op_;
  const Program& program_;
  const Era era_;
  Rewriter& rewriter_;
  ProgramDesc desc_;
  std::string result_;                                   // the first one
  absl::flat_hash_map<std::string, std::string> names_;  // of the program, by those of the text
  absl::flat_hash_map<std::string, std::string> kinds_;  // names of the text, by new variables
  absl::flat_hash_map<std::string, VarDesc> declared_;
  std::vector<VarDesc> made_[2];  // by block
};

}  // namespace

LoopExpansion::LoopExpansion(Program* program, const std::string& author,
                             const absl::flat_hash_set<std::string>& types)
    : program_(*program),
      rewriter_(program, author),
      links_(*program, types),
      named_(NamesInAllAttributes(*program)) {}

std::string LoopExpansion::WhyKept(const Op& op, const LoopComponents& components) const {
  const Op* gradient = links_.UncertainGradientOf(op);
  if (!links_.GradientsOf(op).empty()) gradient = links_.GradientsOf(op)[0];
  if (gradient != nullptr) {
    return absl::StrCat("it has a gradient, by ", DescribeGiven(*gradient),
                        ", and that of a loop is not known");
  }
  if (!rewriter_.CanAddBlock(op.block())) return "its block is nested as deep as blocks may be";
  Names written;
  for (const Argument* output : op.outputs()) {
    const Variable* const variable = output->variable();
    if (variable == nullptr) continue;
    const auto named = [&](absl::string_view why) {
      return absl::StrCat(std::string(output->slot_name()), " is \"", variable->name(), "\", ",
                          why);
    };
    if (!written.insert(variable->name()).second) return named("as another of its results is");
    const auto& results = components.results;
    if (std::find(results.begin(), results.end(), output->slot_name()) != results.end()) continue;
    if (!IsUnread(*output->value())) return named("which is read, and which no component is");
    if (variable->persistable()) return named("which is kept from run to run");
    if (named_.contains(variable->name())) return named("which an attribute names");
  }
  return "";
}

absl::StatusOr<ReplacedMatch> LoopExpansion::Replace(const Op& op, const LoopComponents& components,
                                                     CompositeMap::Composite* entry) {
  Loop loop(op, program_, &rewriter_);
  RETURN_IF_ERROR(loop.Make(components.text));
  ReplacedMatch replaced;
  replaced.pattern = ComponentPatternName(op);
  replaced.op = DescribeGiven(op);
  replaced.result = loop.result();
  replaced.ops_before = 1;
  replaced.ops_after = loop.op_count();
  RETURN_IF_ERROR(loop.Write(entry));
  rewriter_.Remove(op);
  return replaced;
}

}  // namespace fixpoint
