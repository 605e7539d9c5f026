#include "transpiler/patterns/pattern_checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/forward_ops.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "ops/written_op.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/type_names.h"
#include "transpiler/patterns/condition_values.h"
#include "transpiler/patterns/match_conditions.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/replaced_gradients.h"

namespace fixpoint {
namespace {

// Dtypes and structure do not depend on the era; where entries of schemas do, either one is looked
// up.
constexpr Era kAnyEra = Era::kPaddle2;
constexpr int64_t kAnyVersion = 2006002;

// Ones that every op may carry say what is done with an op in training, which no pattern changes.
const AttrSchema* FindAttrSchema(absl::string_view op_type, absl::string_view name) {
  const OpSchema* const schema = FindOpSchema(op_type);
  return schema == nullptr ? nullptr : schema->FindAttr(name, kAnyEra);
}

absl::Status At(absl::string_view place, const absl::Status& status) {
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(place, status.message()));
}

// Stands for an attribute that only a match has: no number and no string is equal to it, and no
// condition holds of it; what two of one text stand for is the same.
OpDesc::Attr Unknown(const std::string& name, absl::string_view text) {
  OpDesc::Attr attr;
  attr.set_name(name);
  attr.set_type(AttrType::VAR);
  attr.set_var_name(std::string(text));
  return attr;
}

bool IsUnknown(const OpDesc::Attr& attr) { return attr.type() == AttrType::VAR; }

OpDesc::Attr ValueOf(const PatternAttribute& attribute) {
  return attribute.is_fixed() ? attribute.value : Unknown(attribute.name, attribute.value.s());
}

// The op over the names of the pattern.
OpDesc DescOf(const Pattern& pattern, const PatternOp& op) {
  OpDesc desc;
  desc.set_type(op.type);
  for (const bool is_output : {false, true}) {
    for (const PatternSlot& slot : is_output ? op.outputs : op.inputs) {
      OpDesc::Var* const var = is_output ? desc.add_outputs() : desc.add_inputs();
      var->set_parameter(slot.name);
      for (const int value : slot.values) var->add_arguments(pattern.values[value].name);
    }
  }
  for (const PatternAttribute& attribute : op.attributes) {
    *desc.add_attrs() = ValueOf(attribute);
  }
  return desc;
}

std::vector<OpDesc> DescsOf(const Pattern& pattern, const std::vector<PatternOp>& ops) {
  std::vector<OpDesc> descs;
  for (const PatternOp& op : ops) descs.push_back(DescOf(pattern, op));
  return descs;
}

// The ops of `after`, with those attributes that are copied which `before` names.
std::vector<OpDesc> WrittenDescs(const Pattern& pattern) {
  std::vector<OpDesc> descs = DescsOf(pattern, pattern.after);
  for (size_t i = 0; i < descs.size(); ++i) {
    const std::optional<size_t> copied_from = pattern.CopiedFrom(i);
    if (!copied_from) continue;
    OpDesc& desc = descs[i];
    const auto copy = [&desc](const OpDesc::Attr& attr) {
      if (FindAttr(desc, attr.name()) == nullptr) *desc.add_attrs() = attr;
    };
    const PatternOp& copied = pattern.before[*copied_from];
    for (const PatternAttribute& attribute : copied.attributes) copy(ValueOf(attribute));
    for (const PatternOp& op : pattern.before) {
      if (op.type != copied.type) continue;
      for (const PatternAttribute& attribute : op.attributes) {
        copy(Unknown(attribute.name, absl::StrCat(attribute.name, " of line ", copied.line)));
      }
    }
  }
  return descs;
}

// What ops give, from what the var lines say.
using Types = absl::flat_hash_map<std::string, VarDesc>;

Types TypesOf(const Pattern& pattern, absl::Span<const OpDesc> ops) {
  Types types;
  for (const PatternValue& value : pattern.values) {
    if (value.declared && value.kind == PatternValue::Kind::kCapture) {
      types[value.name] = *value.declared;
    }
  }
  for (const OpDesc& desc : ops) {
    if (std::any_of(desc.attrs().begin(), desc.attrs().end(), IsUnknown)) continue;
    const auto inferred = InferOutputs(desc, kAnyEra, [&types](absl::string_view name) {
      const auto known = types.find(name);
      return known == types.end() ? nullptr : &known->second;
    });
    if (!inferred.ok()) continue;
    size_t output = 0;
    for (const OpDesc::Var& slot : desc.outputs()) {
      for (const std::string& name : slot.arguments()) {
        const InferredOutput& type = (*inferred)[output++];
        if (!type.dtype) continue;
        types[name] =
            MakeTensorVar(name, *type.dtype, type.dims ? DimsView(*type.dims) : DimsView());
      }
    }
  }
  return types;
}

// Whether a condition holds of what `after` writes: by what is known there, or because it is about
// the attributes, or the extents of values, for which it held before.
bool HoldsAgain(const PatternCondition& condition, const Match& match) {
  const auto is_same = [&match](const SumTerm& term) {
    if (term.named < 0) return true;
    if (term.kind == SumTerm::Kind::kAttribute) {
      return match.attributes[term.named].var_name() == match.pattern->variables[term.named];
    }
    return (term.kind == SumTerm::Kind::kExtent || term.kind == SumTerm::Kind::kRank) &&
           match.values[term.named]->variable().name() == match.pattern->values[term.named].name;
  };
  const auto all_same = [&is_same](const PatternSum& sum) {
    return std::all_of(sum.terms.begin(), sum.terms.end(), is_same);
  };
  return Holds(condition, match) || (all_same(condition.left) && all_same(condition.right));
}

}  // namespace

absl::StatusOr<OpDesc> ReadPatternOp(const OpDesc& op, bool is_after, absl::string_view place) {
  WrittenForm form;
  form.leaves_out_outputs = !is_after;  // what `before` leaves out is read by nobody
  form.computes_numbers = is_after;
  absl::StatusOr<OpDesc> read = ReadWrittenOp(op, kAnyEra, form);
  if (!read.ok()) return At(place, read.status());
  if (ForwardTypeOf(op.type()).empty()) return read;
  return absl::InvalidArgumentError(
      absl::StrCat(place, op.type(),
                   " is a gradient op; want ops of the forward part, whose gradients are derived"));
}

absl::Status CheckGivenAttributes(const Pattern& pattern, const OpDesc& after,
                                  absl::string_view place) {
  const auto count = [&after](const std::vector<PatternOp>& ops) {
    return std::count_if(ops.begin(), ops.end(),
                         [&after](const PatternOp& op) { return op.type == after.type(); });
  };
  const bool is_copied = count(pattern.after) < count(pattern.before);
  return is_copied ? absl::OkStatus() : At(place, CheckGivenAttributes(after));
}

std::optional<AttrType> TypeOfAttribute(absl::string_view op_type, absl::string_view attribute) {
  const AttrSchema* const schema = FindAttrSchema(op_type, attribute);
  if (schema == nullptr) return std::nullopt;
  return schema->type;
}

absl::Status CheckResultTypes(const Pattern& pattern, absl::string_view file_name) {
  const Types before = TypesOf(pattern, DescsOf(pattern, pattern.before));
  const Types after = TypesOf(pattern, WrittenDescs(pattern));
  for (const PatternValue& value : pattern.values) {
    if (value.kind != PatternValue::Kind::kResult) continue;
    const auto was = before.find(value.name);
    const auto is = after.find(value.name);
    if (is == after.end()) continue;
    const auto dtype = [](const VarDesc& var) {
      return var.type().lod_tensor().tensor().data_type();
    };
    const VarDesc* wanted = value.declared ? &*value.declared : nullptr;
    if (wanted == nullptr && was != before.end()) wanted = &was->second;
    if (wanted == nullptr || dtype(*wanted) == dtype(is->second)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ":", pattern.after.back().line, ": pattern ", pattern.name,
                     ": `after` gives \"", value.name, "\" as ", TypeName(dtype(is->second)),
                     " and `before` as ", TypeName(dtype(*wanted)), "; want one dtype"));
  }
  return absl::OkStatus();
}

absl::Status CheckEnds(const Pattern& pattern, absl::string_view file_name) {
  ProgramDesc desc;
  desc.mutable_version()->set_version(kAnyVersion);
  BlockDesc& block = *desc.add_blocks();
  block.set_idx(0);
  block.set_parent_idx(-1);
  const std::vector<OpDesc> written = WrittenDescs(pattern);
  for (const auto& [name, var] : TypesOf(pattern, written)) *block.add_vars() = var;
  for (const OpDesc& op : written) *block.add_ops() = op;
  ASSIGN_OR_RETURN(const Program program, Program::Create(std::move(desc), file_name));
  Pattern unconditional = pattern;
  unconditional.conditions.clear();
  for (MatchStep& step : unconditional.steps) step.conditions.clear();
  const PatternMatcher matcher(unconditional, kAnyEra);
  for (const Op& op : program.block(0).ops()) {
    const std::optional<Match> match = matcher.MatchAt(op);
    if (!match || FindObstacle(*match, ReplacedGradients(), {})) continue;
    if (!std::all_of(pattern.conditions.begin(), pattern.conditions.end(),
                     [&match](const PatternCondition& one) { return HoldsAgain(one, *match); })) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        file_name, ":", pattern.after[op.Index()].line, ": pattern ", pattern.name,
        ": `before` matches what `after` writes, so that it would be applied for ever; say what "
        "differs, by an attribute or a var line of `before` or a condition of `where`"));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
