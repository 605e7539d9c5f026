#include "transpiler/composites/composite_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/code_ops.h"
#include "ops/era.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/composites/written_ops.h"

namespace fixpoint {
namespace {

// Why no composite has a backward pass whose components have one of their own.
constexpr char kNoGradient[] =
    ": as one op it would have a gradient of its own, which knows nothing of how its components "
    "are quantized or trained; raise composites in the test program or after freezing";

bool RunsBlocks(const OpDesc& op) {
  return std::any_of(op.attrs().begin(), op.attrs().end(), [](const OpDesc::Attr& attr) {
    return attr.type() == AttrType::BLOCK || attr.type() == AttrType::BLOCKS;
  });
}

bool Contains(const std::vector<const Op*>& ops, const Op& op) {
  return std::find(ops.begin(), ops.end(), &op) != ops.end();
}

// What a component's op reads.
struct Read {
  const Argument* now;
  std::string component;
};

bool AreAlike(const std::vector<Read>& reads) {
  return std::all_of(reads.begin(), reads.end(), [&reads](const Read& read) {
    return read.now->name() == reads[0].now->name();
  });
}

// "X", or "WeightList.2" in a slot that holds several.
std::string ArgumentText(const OpDesc::Var& slot, int index) {
  if (slot.arguments_size() == 1) return slot.parameter();
  return absl::StrCat(slot.parameter(), ".", index);
}

class PartFinder {
 public:
  PartFinder(const CompositeMap::Composite& entry, const Program& program)
      : entry_(entry), program_(program), era_(EraOf(program)) {}

  absl::StatusOr<CompositeParts> Find() {
    RETURN_IF_ERROR(ReadEntry());
    RETURN_IF_ERROR(FindOps());
    if (parts_.ops.empty()) return std::move(parts_);
    RETURN_IF_ERROR(FindGradients());
    RETURN_IF_ERROR(CheckReaders());
    RETURN_IF_ERROR(ReadInputs());
    RETURN_IF_ERROR(FindPlace());
    return std::move(parts_);
  }

 private:
  template <typename... Parts>
  absl::Status Malformed(const Parts&... parts) const {
    return absl::InvalidArgumentError(
        absl::StrCat("the map of composites does not fit the program: ", parts...));
  }

  // "layer_norm \"y\": ...".
  template <typename... Parts>
  absl::Status CannotRaise(const Parts&... parts) const {
    return absl::FailedPreconditionError(absl::StrCat(parts_.composite.type(), " \"", parts_.result,
                                                      "\" cannot be given back: ", parts...));
  }

  absl::Status ReadEntry() {
    if (entry_.block() < 0 || entry_.block() >= program_.block_count()) {
      return Malformed("there is no block ", entry_.block());
    }
    if (!parts_.composite.ParseFromString(entry_.op())) {
      return Malformed("a composite op cannot be read");
    }
    if (entry_.components().empty() || !entry_.components(0).has_op()) {
      return Malformed(parts_.composite.type(), " has no components");
    }
    for (const CompositeMap::Component& component : entry_.components()) {
      if (BlockOf(component) >= 0 && BlockOf(component) < program_.block_count()) continue;
      return Malformed("there is no block ", BlockOf(component));
    }
    if (RunsBlocks(parts_.composite)) {
      return Malformed(parts_.composite.type(), " runs a block, which no composite does");
    }
    if (!entry_.gradient_ops().empty() && !entry_.has_gradient_op()) {
      return Malformed("the components of ", parts_.composite.type(),
                       " have gradients, and it has no gradient op");
    }
    for (const OpDesc::Var& slot : parts_.composite.outputs()) {
      results_.insert(slot.arguments().begin(), slot.arguments().end());
    }
    for (const CompositeMap::Component& component : entry_.components()) {
      if (parts_.result.empty() && results_.contains(component.variable())) {
        parts_.result = component.variable();
      }
    }
    return absl::OkStatus();
  }

  int BlockOf(const CompositeMap::Component& component) const {
    return component.has_block() ? component.block() : entry_.block();
  }

  std::vector<const Op*> WritersOf(const std::string& name) const {
    const Variable* const variable = program_.Find(program_.block(entry_.block()), name);
    std::vector<const Op*> writers;
    if (variable == nullptr) return writers;
    for (const Value* value : variable->values()) {
      if (value->origin() == Value::Origin::kWrite) writers.push_back(value->op());
    }
    return writers;
  }

  // The op that writes a component; where others of the block write its variable too, as they may
  // a result, the one that is as it was written, or the only one of its type. Null if there is
  // none.
  const Op* FindPart(const CompositeMap::Component& component, const OpDesc& written) const {
    const Block& block = program_.block(BlockOf(component));
    const Variable* const variable = program_.Find(block, component.variable());
    if (variable == nullptr) return nullptr;
    std::vector<const Op*> writers;
    for (const Argument* argument : variable->arguments()) {
      const Op& op = argument->op();
      if (!argument->is_output() || &op.block() != &block) continue;
      if (writers.empty() || writers.back() != &op) writers.push_back(&op);
    }
    if (writers.size() == 1) return writers[0];
    writers.erase(std::remove_if(writers.begin(), writers.end(),
                                 [&](const Op* writer) {
                                   return IsPart(*writer) || writer->type() != written.type();
                                 }),
                  writers.end());
    const auto found = std::find_if(writers.begin(), writers.end(), [&](const Op* writer) {
      return ChangeOf(written, *writer, program_).empty();
    });
    if (found != writers.end()) return *found;
    return writers.size() == 1 ? writers[0] : nullptr;
  }

  absl::Status FindOps() {
    const CompositeMap::Component* missing = nullptr;
    for (const CompositeMap::Component& component : entry_.components()) {
      if (!component.has_op()) continue;
      OpDesc written;
      if (!written.ParseFromString(component.op())) {
        return Malformed("the op of component ", component.kind(), " of ", parts_.composite.type(),
                         " cannot be read");
      }
      const Op* const op = FindPart(component, written);
      if (op == nullptr) {
        if (missing == nullptr) missing = &component;
        continue;
      }
      if (IsPart(*op)) {
        return Malformed("one op writes two components of ", parts_.composite.type(), ", \"",
                         component.variable(), "\" is the second");
      }
      if (const std::string change = ChangeOf(written, *op, program_); !change.empty()) {
        return CannotRaise(DescribeInFile(*op), ", which writes its component ", component.kind(),
                           ", was changed: ", change);
      }
      parts_.ops.push_back(op);
      const std::vector<std::string> before = ReadsOf(written);
      const std::vector<const Argument*> now = ReadsOf(*op);
      for (size_t i = 0; i < before.size(); ++i) {
        reads_[before[i]].push_back({now[i], component.kind()});
      }
    }
    if (missing == nullptr || parts_.ops.empty()) return absl::OkStatus();
    return CannotRaise(
        "no op writes its component ", missing->kind(), ", \"", missing->variable(),
        "\", any more; raise composites before they are prepared, pruned or lowered");
  }

  bool IsPart(const Op& op) const { return Contains(parts_.ops, op); }
  bool IsGradient(const Op& op) const { return Contains(parts_.gradients, op); }
  bool IsQuantizing(const Op& op) const { return Contains(parts_.quantizing, op); }

  absl::Status CheckReaders() {
    for (const CompositeMap::Component& component : entry_.components()) {
      if (results_.contains(component.variable())) continue;
      for (const Op* part : parts_.ops) {
        for (const Argument* output : part->outputs()) {
          if (output->name() != component.variable() || output->value() == nullptr) continue;
          RETURN_IF_ERROR(CheckReadersOf(*output->value(), component, /*depth=*/0));
          for (const Value* value : output->variable()->values()) {
            if (value->merged().empty() || !RunsLoop(*value->op())) continue;
            RETURN_IF_ERROR(CheckReadersOf(*value, component, /*depth=*/0));
          }
        }
      }
    }
    return CheckLoops();
  }

  // Whether the components stand in the loop that an op runs.
  bool RunsLoop(const Op& op) const { return !op.sub_blocks().empty() && IsPart(op); }

  // The composite takes the place of all that its loop does.
  absl::Status CheckLoops() const {
    for (const Op* part : parts_.ops) {
      const Op* const owner = part->block().owner();
      if (part->block().index() != entry_.block() && (owner == nullptr || !IsPart(*owner))) {
        return CannotRaise(DescribeInFile(*part), " stands in a block that none of its ops runs");
      }
      for (const Block* run : part->sub_blocks()) {
        for (const Op& op : run->ops()) {
          if (IsPart(op) || IsQuantizing(op)) continue;
          return CannotRaise(DescribeInFile(op), " stands in its loop, and is none of its ops");
        }
      }
    }
    return absl::OkStatus();
  }

  // Takes in the ops that quantize the value.
  absl::Status CheckReadersOf(const Value& value, const CompositeMap::Component& component,
                              int depth) {
    for (const Argument* reader : value.readers()) {
      const Op& op = reader->op();
      if (IsPart(op) || IsGradient(op)) continue;
      if (QuantizedInput(op) != reader || (op.role() & kBackward) != 0) {
        return CannotRaise(DescribeInFile(op), " reads its component ", component.kind(), ", \"",
                           component.variable(), "\", and is none of its ops",
                           (op.role() & kBackward) != 0 ? kNoGradient : "");
      }
      if (IsQuantizing(op)) continue;
      parts_.quantizing.push_back(&op);
      if (const std::optional<CodeOp> code = ReadCodeOp(op, era_);
          depth == 0 && code && code->kind != QuantOp::kDequantize) {
        parts_.parameters.push_back(ParametersOf(*code, component.kind(), component.variable()));
      }
      const Argument* const output =
          op.type() == kQuantizeBias ? op.Output("Out") : FindCodeArguments(op).output;
      if (output != nullptr && output->value() != nullptr) {
        RETURN_IF_ERROR(CheckReadersOf(*output->value(), component, depth + 1));
      }
    }
    return absl::OkStatus();
  }

  // Has the composite read what its components do.
  absl::Status ReadInputs() {
    absl::flat_hash_map<std::string, std::vector<std::string>> arguments;  // by what they read
    for (const OpDesc::Var& slot : parts_.composite.inputs()) {
      for (int i = 0; i < slot.arguments_size(); ++i) {
        arguments[slot.arguments(i)].push_back(ArgumentText(slot, i));
      }
    }
    for (OpDesc::Var& slot : *parts_.composite.mutable_inputs()) {
      for (std::string& name : *slot.mutable_arguments()) {
        const auto found = reads_.find(name);
        if (found == reads_.end()) continue;
        if (AreAlike(found->second)) {
          const Argument& now = *found->second[0].now;
          if (program_.Find(program_.block(entry_.block()), now.name()) != now.variable()) {
            return CannotRaise("its input \"", name,
                               "\" is quantized in its loop; want it quantized ", "before");
          }
          name = std::string(now.name());
        } else {
          RETURN_IF_ERROR(AddReads(found->second, name, arguments[name]));
        }
      }
    }
    return absl::OkStatus();
  }

  // Parameters of an input that not all components read alike. They are those of one argument, for
  // the whole component.
  absl::Status AddReads(const std::vector<Read>& reads, const std::string& name,
                        const std::vector<std::string>& arguments) {
    if (arguments.size() > 1) {
      return CannotRaise("its components read \"", name, "\" as different values, and it is its ",
                         absl::StrJoin(arguments, ", "),
                         "; want a variable for each of these, or reads that are all quantized by "
                         "one op, or none");
    }
    absl::flat_hash_map<std::string, const Argument*> by_component;
    for (const Read& read : reads) {
      const auto [known, is_new] = by_component.try_emplace(read.component, read.now);
      if (known->second->name() != read.now->name()) {
        return CannotRaise("its component ", read.component, " reads its input \"", name,
                           "\" as different values; want all its reads quantized by one op, or "
                           "none");
      }
      if (is_new && read.now->name() != name) RETURN_IF_ERROR(AddInput(read, arguments[0], name));
    }
    return absl::OkStatus();
  }

  // Takes in the ops that quantize an input for one component.
  absl::Status AddInput(const Read& read, const std::string& argument, const std::string& name) {
    std::vector<const Op*> ops;  // readers before writers
    for (const Argument* at = read.now; at->name() != name && at->value()->op() != nullptr;
         at = QuantizedInput(*ops.back())) {
      ops.push_back(at->value()->op());
    }
    const std::optional<CodeOp> code = ReadCodeOp(*ops.back(), era_);
    if (!code || code->kind == QuantOp::kDequantize) {
      return CannotRaise("its components read its input \"", name,
                         "\", which holds codes, as different values");
    }
    parts_.parameters.push_back(
        ParametersOf(*code, absl::StrCat(read.component, ".", argument), name));
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      if (!Contains(parts_.quantizing_inputs, **op)) parts_.quantizing_inputs.push_back(*op);
    }
    return absl::OkStatus();
  }

  // All are there as they were written, or none.
  absl::Status FindGradients() {
    std::string missing;
    for (const std::string& bytes : entry_.gradient_ops()) {
      OpDesc written;
      if (!written.ParseFromString(bytes)) {
        return Malformed("a gradient op of ", parts_.composite.type(), " cannot be read");
      }
      const Op* const op = FindWritten(written, bytes);
      if (op == nullptr) {
        missing = written.type();
      } else if (IsPart(*op) || IsGradient(*op)) {
        return Malformed("a ", op->type(), " of ", parts_.composite.type(), " is listed twice");
      } else {
        parts_.gradients.push_back(op);
      }
    }
    if (missing.empty() || parts_.gradients.empty()) return absl::OkStatus();
    return CannotRaise("a ", missing, " of its gradients was changed", kNoGradient);
  }

  // The composite writes all results at once: it stands where the last of the ops does, or before
  // what reads a result earlier, as a quantizer of it does.
  absl::Status FindPlace() {
    for (const Op* part : parts_.ops) {
      if (part->block().index() == entry_.block()) parts_.place = part;
    }
    if (parts_.place == nullptr) {
      return Malformed("no op of ", parts_.composite.type(), " stands in block ", entry_.block());
    }
    for (const Op* part : parts_.ops) {
      for (const Argument* output : part->outputs()) {
        if (output->value() == nullptr || !results_.contains(output->name())) continue;
        for (const Argument* reader : output->value()->readers()) {
          const Op* const op = InBlock(reader->op());
          if (op == nullptr || IsPart(*op) || !op->IsBefore(*parts_.place)) continue;
          parts_.place = op;
        }
      }
    }
    for (const Op* part : parts_.ops) {
      for (const Argument* read : part->inputs()) {
        const Argument* const input = AsComposite(read);
        if (input->value() == nullptr || input->value()->op() == nullptr) continue;
        const Op* const writer = InBlock(*input->value()->op());
        if (writer == nullptr || IsPart(*writer) || IsQuantizing(*writer) ||
            writer->IsBefore(*parts_.place)) {
          continue;
        }
        return CannotRaise(DescribeInFile(*parts_.place), " reads a result before ",
                           DescribeInFile(*writer), " writes its input \"",
                           std::string(input->name()), "\"");
      }
    }
    return absl::OkStatus();
  }

  // What the composite reads where a component does.
  const Argument* AsComposite(const Argument* read) const {
    const Argument* at = read;
    while (at->value() != nullptr && at->value()->op() != nullptr &&
           Contains(parts_.quantizing_inputs, *at->value()->op())) {
      at = QuantizedInput(*at->value()->op());
    }
    return at;
  }

  // The op of the composite's block that is, or runs, an op; null if there is none.
  const Op* InBlock(const Op& op) const {
    const Op* at = &op;
    while (at != nullptr && at->block().index() != entry_.block()) at = at->block().owner();
    return at;
  }

  const Op* FindWritten(const OpDesc& written, const std::string& bytes) const {
    for (const OpDesc::Var& slot : written.outputs()) {
      for (const std::string& name : slot.arguments()) {
        for (const Op* op : WritersOf(name)) {
          if (op->desc().SerializeAsString() == bytes) return op;
        }
      }
    }
    return nullptr;
  }

  const CompositeMap::Composite& entry_;
  const Program& program_;
  const Era era_;
  absl::flat_hash_set<std::string> results_;
  absl::flat_hash_map<std::string, std::vector<Read>> reads_;  // by the name before quantizing
  CompositeParts parts_;
};

}  // namespace

absl::StatusOr<CompositeParts> FindCompositeParts(const CompositeMap::Composite& entry,
                                                  const Program& program) {
  return PartFinder(entry, program).Find();
}

}  // namespace fixpoint
