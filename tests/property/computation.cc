#include "tests/property/computation.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/slots.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {
namespace {

using Symbols = absl::flat_hash_map<std::string, uint64_t>;

uint64_t Mix(uint64_t a, uint64_t b) { return absl::HashOf(a, b); }

bool IsPartOfTheOp(const OpDesc::Attr& attr) {
  return !absl::StartsWith(attr.name(), "fixpoint.") && attr.name() != "quantization_type" &&
         attr.name() != "activation_bits" && attr.name() != "with_quant_attr";
}

class Machine {
 public:
  explicit Machine(const ProgramDesc& program)
      : program_(program), locals_(program.blocks_size()), declares_(program.blocks_size()) {
    for (int i = 0; i < program.blocks_size(); ++i) {
      for (const VarDesc& var : program.blocks(i).vars()) declares_[i][var.name()] = true;
    }
  }

  std::vector<OpRun> Run() {
    RunBlock(0);
    return std::move(runs_);
  }

 private:
  // The block whose variable a name means.
  int BlockOf(int block, const std::string& name) const {
    if (declares_[block].count(name) != 0) return block;
    for (int at = program_.blocks(block).forward_block_idx(); at >= 0;
         at = program_.blocks(at).parent_idx()) {
      if (declares_[at].count(name) != 0) return at;
    }
    for (int at = block; at >= 0; at = program_.blocks(at).parent_idx()) {
      if (declares_[at].count(name) != 0) return at;
    }
    return 0;
  }

  uint64_t Read(int block, const std::string& name) {
    const int declaring = BlockOf(block, name);
    const auto found = locals_[declaring].find(name);
    return found != locals_[declaring].end() ? found->second : absl::HashOf(declaring, name);
  }

  void Write(int block, const std::string& name, uint64_t symbol) {
    if (name != kEmptyArgument) locals_[BlockOf(block, name)][name] = symbol;
  }

  void RunBlock(int block) {
    for (const OpDesc& op : program_.blocks(block).ops()) {
      if (FindAttr(op, kInsertedByAttr) != nullptr) {
        RunInserted(block, op);
      } else if (const OpDesc::Attr* sub_block = FindAttr(op, "sub_block")) {
        const int times = op.type() == "while" ? 2 : 1;
        for (int i = 0; i < times; ++i) RunBlock(sub_block->block_idx());
        // The values that a block leaves were written by it; the others are the gradients that it
        // passes out.
        if (absl::EndsWith(op.type(), "_grad")) HandOutGradients(block, op);
      } else {
        RunOp(block, op);
      }
    }
  }

  void HandOutGradients(int block, const OpDesc& op) {
    const int inside = FindAttr(op, "sub_block")->block_idx();
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        if (name == kEmptyArgument) continue;
        Write(block, name, Read(inside, name.substr(0, name.find("@RENAME"))));
      }
    }
  }

  void RunInserted(int block, const OpDesc& op) {
    const OpDesc::Var* x = FindSlot(op.inputs(), "X");
    const OpDesc::Var* out = FindSlot(op.outputs(), "Out");
    const bool simulates = absl::StartsWith(op.type(), "fake_") && x != nullptr && out != nullptr;
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        Write(block, name,
              simulates && &slot == out ? Read(block, x->arguments(0))
                                        : absl::HashOf(op.type(), slot.parameter(), name));
      }
    }
  }

  void RunOp(int block, const OpDesc& op) {
    OpRun run;
    absl::StrAppend(&run.op, "block ", block, ": ", op.type());
    for (const OpDesc::Attr& attr : op.attrs()) {
      if (IsPartOfTheOp(attr)) absl::StrAppend(&run.op, " ", attr.ShortDebugString());
    }
    for (const OpDesc::Var& slot : op.inputs()) {
      absl::StrAppend(&run.op, " ", slot.parameter());
      for (const std::string& name : slot.arguments()) {
        run.reads.push_back(name == kEmptyArgument ? 0 : Read(block, name));
      }
    }
    absl::StrAppend(&run.op, " ->");
    for (const OpDesc::Var& slot : op.outputs()) {
      absl::StrAppend(&run.op, " ", slot.parameter());
      for (const std::string& name : slot.arguments()) {
        absl::StrAppend(&run.op, " ", name);
        uint64_t symbol = absl::HashOf(run.op);
        for (const uint64_t read : run.reads) symbol = Mix(symbol, read);
        run.writes.push_back(symbol);
      }
    }
    size_t next = 0;
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) Write(block, name, run.writes[next++]);
    }
    runs_.push_back(std::move(run));
  }

  const ProgramDesc& program_;
  std::vector<Symbols> locals_;
  std::vector<absl::flat_hash_map<std::string, bool>> declares_;
  std::vector<OpRun> runs_;
};

}  // namespace

std::vector<OpRun> Compute(const ProgramDesc& program) { return Machine(program).Run(); }

}  // namespace fixpoint
