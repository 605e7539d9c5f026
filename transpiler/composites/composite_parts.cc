#include "transpiler/composites/composite_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

// Why no composite has a backward pass whose components have one of their own.
constexpr char kNoGradient[] =
    ": as one op it would have a gradient of its own, which knows nothing of how its components "
    "are "
    "quantized or trained; raise composites in the test program or after freezing";

// What an op between floats and codes takes; null for any other op.
const Argument* QuantizedInput(const Op& op) {
  if (op.type() == kQuantizeBias) return op.Input("X");
  return QuantOpOf(op) == QuantOp::kNone ? nullptr : FindCodeArguments(op).input;
}

bool RunsBlocks(const OpDesc& op) {
  return std::any_of(op.attrs().begin(), op.attrs().end(), [](const OpDesc::Attr& attr) {
    return attr.type() == AttrType::BLOCK || attr.type() == AttrType::BLOCKS;
  });
}

// What a component's op reads.
struct Read {
  const Argument* now;
  std::string component;
};

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

  // The op that writes a component; null if there is none, or several.
  const Op* WriterOf(const std::string& name) const {
    const Variable* const variable = program_.Find(program_.block(entry_.block()), name);
    const Op* writer = nullptr;
    if (variable == nullptr) return nullptr;
    for (const Value* value : variable->values()) {
      if (value->origin() != Value::Origin::kWrite) continue;
      if (writer != nullptr) return nullptr;
      writer = value->op();
    }
    return writer;
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
      const Op* const op = WriterOf(component.variable());
      if (op == nullptr || op->block().index() != entry_.block()) {
        if (missing == nullptr) missing = &component;
        continue;
      }
      if (IsPart(*op)) {
        return Malformed("one op writes two components of ", parts_.composite.type(), ", \"",
                         component.variable(), "\" is the second");
      }
      if (const std::string change = ChangeOf(written, *op); !change.empty()) {
        return CannotRaise(DescribeInFile(*op), ", which writes its component ", component.kind(),
                           ", was changed: ", change);
      }
      parts_.ops.push_back(op);
      for (const Argument* input : op->inputs()) {
        reads_[Unquantized(*input)].push_back({input, component.kind()});
      }
    }
    if (missing == nullptr || parts_.ops.empty()) return absl::OkStatus();
    return CannotRaise("no op writes its component ", missing->kind(), ", \"", missing->variable(),
                       "\", any more; raise composites before they are pruned or lowered");
  }

  // What differs from the op as it was written; "" if only quantizers stand between.
  std::string ChangeOf(const OpDesc& written, const Op& op) const {
    if (op.type() != written.type()) return absl::StrCat("it was a ", written.type());
    const OpSchema* const schema = FindOpSchema(op.type());
    for (const OpDesc::Attr& attr : written.attrs()) {
      if (schema == nullptr || schema->FindAttr(attr.name(), era_) == nullptr) continue;
      const OpDesc::Attr* const now = op.FindAttr(attr.name());
      if (now == nullptr || now->SerializeAsString() != attr.SerializeAsString()) {
        return absl::StrCat("attribute ", attr.name(), " was ", PrintAttrValue(attr));
      }
    }
    std::vector<std::string> before;
    for (const OpDesc::Var& slot : written.inputs()) {
      before.insert(before.end(), slot.arguments().begin(), slot.arguments().end());
    }
    const auto inputs = op.inputs();
    if (inputs.size() != before.size()) return "it has other inputs";
    for (size_t i = 0; i < before.size(); ++i) {
      if (Unquantized(*inputs[i]) != before[i]) {
        return absl::StrCat("it reads \"", std::string(inputs[i]->name()), "\" where it read \"",
                            before[i], "\"");
      }
    }
    return "";
  }

  // The variable whose values a read reads, before they were quantized.
  static std::string Unquantized(const Argument& read) {
    const Argument* at = &read;
    while (at->value() != nullptr && at->value()->origin() == Value::Origin::kWrite) {
      const Argument* const input = QuantizedInput(*at->value()->op());
      if (input == nullptr) break;
      at = input;
    }
    return std::string(at->name());
  }

  bool IsPart(const Op& op) const {
    return std::find(parts_.ops.begin(), parts_.ops.end(), &op) != parts_.ops.end();
  }

  bool IsGradient(const Op& op) const {
    return std::find(parts_.gradients.begin(), parts_.gradients.end(), &op) !=
           parts_.gradients.end();
  }

  bool IsQuantizing(const Op& op) const {
    return std::find(parts_.quantizing.begin(), parts_.quantizing.end(), &op) !=
           parts_.quantizing.end();
  }

  absl::Status CheckReaders() {
    for (const CompositeMap::Component& component : entry_.components()) {
      if (results_.contains(component.variable())) continue;
      const Op* const op = WriterOf(component.variable());
      if (op == nullptr) continue;  // the second output of an op that lost it
      for (const Argument* output : op->outputs()) {
        if (output->name() != component.variable() || output->value() == nullptr) continue;
        RETURN_IF_ERROR(CheckReadersOf(*output->value(), component, /*depth=*/0));
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
    for (OpDesc::Var& slot : *parts_.composite.mutable_inputs()) {
      for (std::string& name : *slot.mutable_arguments()) {
        const auto found = reads_.find(name);
        if (found == reads_.end()) continue;
        const std::vector<Read>& reads = found->second;
        const bool are_alike = std::all_of(reads.begin(), reads.end(), [&reads](const Read& read) {
          return read.now->name() == reads[0].now->name();
        });
        if (are_alike) {
          name = std::string(reads[0].now->name());
          continue;
        }
        for (const Read& read : reads) {
          if (read.now->name() != name) RETURN_IF_ERROR(AddInput(read, slot.parameter(), name));
        }
      }
    }
    return absl::OkStatus();
  }

  // Takes in the ops that quantize an input for one component.
  absl::Status AddInput(const Read& read, const std::string& slot, const std::string& name) {
    std::vector<const Op*> ops;  // readers before writers
    for (const Argument* at = read.now; at->name() != name; at = QuantizedInput(*ops.back())) {
      ops.push_back(at->value()->op());
    }
    const std::optional<CodeOp> code = ReadCodeOp(*ops.back(), era_);
    if (!code || code->kind == QuantOp::kDequantize) {
      return CannotRaise("its components read its input \"", name,
                         "\", which holds codes, as different values");
    }
    parts_.parameters.push_back(ParametersOf(*code, absl::StrCat(read.component, ".", slot), name));
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      auto& known = parts_.quantizing_inputs;
      if (std::find(known.begin(), known.end(), *op) == known.end()) known.push_back(*op);
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
    parts_.place = parts_.ops.back();
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
      for (const Argument* input : part->inputs()) {
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

  // The op of the composite's block that is, or runs, an op; null if there is none.
  const Op* InBlock(const Op& op) const {
    const Op* at = &op;
    while (at != nullptr && at->block().index() != entry_.block()) at = at->block().owner();
    return at;
  }

  const Op* FindWritten(const OpDesc& written, const std::string& bytes) const {
    for (const OpDesc::Var& slot : written.outputs()) {
      for (const std::string& name : slot.arguments()) {
        const Op* const op = WriterOf(name);
        if (op != nullptr && op->desc().SerializeAsString() == bytes) return op;
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
