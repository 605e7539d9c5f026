#include "transpiler/patterns/replacement.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/type_names.h"
#include "transpiler/patterns/computed_attribute.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {
namespace {

using Kind = PatternValue::Kind;

// What an op of another type takes over of those it stands for. The other attributes that every op
// may carry say what is done with it in training.
constexpr const char* kKeptAttrs[] = {"op_role", "op_namescope", "op_device", "op_callstack"};

class Writer {
 public:
  Writer(const Match& match, const Program& program, Era era, Rewriter* rewriter)
      : match_(match),
        pattern_(*match.pattern),
        program_(program),
        block_(match.last_op().block()),
        era_(era),
        rewriter_(*rewriter) {}

  std::variant<Replacement, Obstacle> Write() {
    NameValues();
    for (size_t i = 0; i < pattern_.after.size(); ++i) {
      OpDesc op;
      if (std::optional<Obstacle> obstacle = Fill(i, &op)) return *std::move(obstacle);
      if (std::optional<Obstacle> obstacle = InferTypes(pattern_.after[i], op)) {
        return *std::move(obstacle);
      }
      replacement_.ops.push_back(std::move(op));
    }
    return std::move(replacement_);
  }

 private:
  void NameValues() {
    std::string first_result;
    for (size_t i = 0; i < pattern_.values.size(); ++i) {
      if (pattern_.values[i].kind == Kind::kResult && first_result.empty()) {
        first_result = match_.values[i]->variable().name();
      }
    }
    for (size_t i = 0; i < pattern_.values.size(); ++i) {
      const Kind kind = pattern_.values[i].kind;
      std::string name;
      if (kind == Kind::kMade) {
        name = NewName(absl::StrCat(first_result, ".", pattern_.values[i].name));
      } else if (kind != Kind::kInner) {
        name = match_.values[i]->variable().name();
      }
      replacement_.names.push_back(std::move(name));
    }
  }

  // Names are given before anything is declared.
  std::string NewName(const std::string& base) const {
    std::string name = rewriter_.FreshName(base);
    while (std::find(replacement_.names.begin(), replacement_.names.end(), name) !=
           replacement_.names.end()) {
      name = rewriter_.FreshName(absl::StrCat(name, "_1"));
    }
    return name;
  }

  // The matched op that writes a result that the op of `after` writes; null if there is none.
  const Op* WriterOfSame(const PatternOp& op) const {
    for (const PatternSlot& slot : op.outputs) {
      for (const int value : slot.values) {
        if (pattern_.values[value].kind == Kind::kResult) return match_.values[value]->op();
      }
    }
    return nullptr;
  }

  void TakeRole(const PatternOp& wanted, OpDesc* op) const {
    const Op* const writer = WriterOfSame(wanted);
    const OpDesc& like = (writer != nullptr ? *writer : match_.last_op()).desc();
    fixpoint::TakeRole(like, op);
    const std::optional<int64_t> role = IntAttr(*op, "op_role");
    if (writer == nullptr && role) {
      SetAttr(MakeIntAttr("op_role", static_cast<int>(*role) & ~kLoss), op);
    }
  }

  std::optional<Obstacle> Fill(size_t index, OpDesc* op) const {
    const PatternOp& wanted = pattern_.after[index];
    op->set_type(wanted.type);
    for (const bool is_output : {false, true}) {
      for (const PatternSlot& slot : is_output ? wanted.outputs : wanted.inputs) {
        OpDesc::Var* var = is_output ? op->add_outputs() : op->add_inputs();
        var->set_parameter(slot.name);
        for (const int value : slot.values) var->add_arguments(replacement_.names[value]);
      }
    }
    if (const std::optional<size_t> like = pattern_.CopiedFrom(index)) {
      for (const OpDesc::Attr& attr : match_.ops[*like]->desc().attrs()) {
        if (!absl::StartsWith(attr.name(), kOwnAttrPrefix)) *op->add_attrs() = attr;
      }
    }
    for (const PatternAttribute& attribute : wanted.attributes) {
      std::variant<OpDesc::Attr, std::string> value = ValueOf(attribute);
      if (const auto* const why = std::get_if<std::string>(&value)) {
        return Obstacle{&match_.last_op(),
                        absl::StrCat("the ", wanted.type, " of `after` cannot be: ", *why)};
      }
      SetAttr(std::get<OpDesc::Attr>(std::move(value)), op);
    }
    TakeRole(wanted, op);
    SetAttr(MakeStringAttr(kRewrittenByAttr, pattern_.name), op);
    return std::nullopt;
  }

  std::variant<OpDesc::Attr, std::string> ValueOf(const PatternAttribute& attribute) const {
    if (attribute.sum) return ComputedAttribute(attribute, match_);
    OpDesc::Attr value =
        attribute.variable < 0 ? attribute.value : match_.attributes[attribute.variable];
    value.set_name(attribute.name);
    return value;
  }

  const VarDesc* Find(absl::string_view name) const {
    for (const VarDesc& made : replacement_.made) {
      if (made.name() == name) return &made;
    }
    const Variable* const variable = program_.Find(block_, name);
    return variable == nullptr ? nullptr : variable->desc();
  }

  // Declares what the op makes, and compares its results with what they are declared as.
  std::optional<Obstacle> InferTypes(const PatternOp& wanted, const OpDesc& op) {
    const absl::StatusOr<std::vector<InferredOutput>> inferred =
        InferOutputs(op, era_, [this](absl::string_view name) { return Find(name); });
    if (!inferred.ok()) {
      return Obstacle{&match_.last_op(),
                      absl::StrCat("the ", wanted.type, " of `after` does not fit: ",
                                   std::string(inferred.status().message()))};
    }
    size_t output = 0;
    for (const PatternSlot& slot : wanted.outputs) {
      for (const int value : slot.values) {
        const InferredOutput& type = (*inferred)[output++];
        if (pattern_.values[value].kind == Kind::kMade) {
          Declare(replacement_.names[value], type);
        } else if (std::optional<Obstacle> obstacle =
                       Compare(wanted, *match_.values[value], type)) {
          return obstacle;
        }
      }
    }
    return std::nullopt;
  }

  void Declare(const std::string& name, const InferredOutput& type) {
    const auto outputs = match_.last_op().outputs();
    const VarType::TensorDesc* const like = outputs.empty() || outputs[0]->variable() == nullptr
                                                ? nullptr
                                                : outputs[0]->variable()->tensor();
    const DataType dtype = type.dtype.value_or(like == nullptr ? VarType::FP32 : like->data_type());
    replacement_.made.push_back(
        MakeTensorVar(name, dtype, type.dims ? DimsView(*type.dims) : DimsView()));
  }

  std::optional<Obstacle> Compare(const PatternOp& wanted, const Value& value,
                                  const InferredOutput& type) const {
    const VarType::TensorDesc* const declared = value.variable().tensor();
    if (declared == nullptr) return std::nullopt;
    const auto differs = [&](const std::string& is, const std::string& was) {
      return Obstacle{value.op(), absl::StrCat("the ", wanted.type, " of `after` gives \"",
                                               value.variable().name(), "\" as ", is,
                                               ", which is declared as ", was)};
    };
    if (type.dtype && *type.dtype != declared->data_type()) {
      return differs(std::string(TypeName(*type.dtype)),
                     std::string(TypeName(declared->data_type())));
    }
    if (!type.dims || declared->dims_size() == 0) return std::nullopt;
    bool fits = static_cast<int>(type.dims->size()) == declared->dims_size();
    for (int i = 0; fits && i < declared->dims_size(); ++i) {
      fits = MayBeEqual((*type.dims)[i], declared->dims(i));
    }
    if (fits) return std::nullopt;
    return differs(DimsText(*type.dims), DimsText(declared->dims()));
  }

  const Match& match_;
  const Pattern& pattern_;
  const Program& program_;
  const Block& block_;
  const Era era_;
  Rewriter& rewriter_;
  Replacement replacement_;
};

}  // namespace

void TakeRole(const OpDesc& like, OpDesc* op) {
  for (const char* name : kKeptAttrs) {
    if (const OpDesc::Attr* const attr = FindAttr(like, name)) SetAttr(*attr, op);
  }
}

std::variant<Replacement, Obstacle> MakeReplacement(const Match& match, const Program& program,
                                                    Era era, Rewriter* rewriter) {
  return Writer(match, program, era, rewriter).Write();
}

}  // namespace fixpoint
