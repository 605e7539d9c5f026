// An op against its schema: slots, arguments, attributes; and the types that follow.

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

// Finds each slot of the op in the schema, and each required slot of the schema in the op.
class SlotCheck {
 public:
  SlotCheck(const Op& op, absl::string_view kind, absl::Span<const SlotSchema> schema, Era era,
            FindingList* findings)
      : op_(op), kind_(kind), schema_(schema), era_(era), findings_(findings) {}

  bool Run(const Slots& slots) {
    for (const OpDesc::Var& slot : slots) CheckSlot(slot);
    for (size_t i = 0; i < schema_.size(); ++i) {
      const SlotSchema& slot = schema_[i];
      if (filled_[i] || slot.optional || !Includes(slot.eras, era_)) continue;
      Error(FindingCode::kMissingSlot, absl::StrCat(kind_, " ", slot.name, " is missing"));
    }
    return fine_;
  }

 private:
  // The position in the schema, preferring this era to the other; -1 if there is none.
  int Find(absl::string_view name) const {
    int found = -1;
    for (size_t i = 0; i < schema_.size(); ++i) {
      if (schema_[i].name == name && (found < 0 || Includes(schema_[i].eras, era_))) {
        found = static_cast<int>(i);
      }
    }
    return found;
  }

  void CheckSlot(const OpDesc::Var& slot) {
    const int i = Find(slot.parameter());
    if (i < 0) {
      // An empty slot implies nothing.
      if (slot.arguments().empty()) return;
      if (kind_ == "input" && IsStepCounter(op_, slot.parameter())) return;
      findings_->Warning(FindingCode::kUnknownSlot, op_,
                         absl::StrCat("the op has no ", kind_, " ", slot.parameter()));
      fine_ = false;
      return;
    }
    if (seen_[i]) {
      Error(FindingCode::kArity,
            absl::StrCat(kind_, " ", slot.parameter(), " is there twice; want it once"));
    }
    seen_[i] = true;
    filled_[i] = slot.arguments_size() > 0;
    if (!schema_[i].list && slot.arguments_size() > 1) {
      Error(FindingCode::kArity, absl::StrCat(kind_, " ", slot.parameter(), " has ",
                                              slot.arguments_size(), " arguments; want one"));
    }
  }

  void Error(FindingCode code, std::string message) {
    findings_->Error(code, op_, std::move(message));
    fine_ = false;
  }

  const Op& op_;
  absl::string_view kind_;
  absl::Span<const SlotSchema> schema_;
  Era era_;
  FindingList* findings_;
  absl::InlinedVector<bool, 16> seen_ = absl::InlinedVector<bool, 16>(schema_.size(), false);
  absl::InlinedVector<bool, 16> filled_ = absl::InlinedVector<bool, 16>(schema_.size(), false);
  bool fine_ = true;
};

// Whether an attribute can take the place of one of type `want`: narrower numbers can, and so can
// tensors that hold the value.
bool MayBe(const OpDesc::Attr& attr, AttrType want) {
  if (attr.type() == want || attr.type() == VAR || attr.type() == VARS) return true;
  switch (want) {
    case INT:
    case LONG:
      return IntValue(attr).has_value();
    case FLOAT:
    case FLOAT64:
      return FloatValue(attr).has_value() || attr.type() == SCALAR;
    case INTS:
    case LONGS:
      return IntsValue(attr).has_value();
    case FLOATS:
    case FLOAT64S:
      return FloatsValue(attr).has_value() || attr.type() == SCALARS;
    case BOOLEAN:
      return BoolValue(attr).has_value();
    default:
      return false;
  }
}

bool AreEqual(const OpDesc::Attr& a, const OpDesc::Attr& b) {
  return a.SerializePartialAsString() == b.SerializePartialAsString();
}

bool CheckAttrs(const KnownOp& known, Era era, FindingList* findings) {
  const Op& op = *known.op;
  const absl::Span<const AttrSchema> schema = known.schema->attrs();
  absl::InlinedVector<const OpDesc::Attr*, 32> seen(schema.size(), nullptr);
  bool fine = true;
  const auto error = [&](FindingCode code, std::string message) {
    findings->Error(code, op, std::move(message));
    fine = false;
  };
  for (const OpDesc::Attr& attr : op.desc().attrs()) {
    const AttrSchema* want = known.schema->FindAttr(attr.name(), era);
    if (want == nullptr) {
      want = FindCommonAttr(attr.name());
      if (want == nullptr) continue;
    } else {
      const size_t i = want - schema.data();
      // 2.x writes some twice, with one value.
      if (seen[i] != nullptr && !AreEqual(*seen[i], attr)) {
        error(FindingCode::kDuplicateAttr,
              absl::StrCat("attribute ", attr.name(), " is there twice, with two values"));
      }
      seen[i] = &attr;
    }
    if (!MayBe(attr, want->type)) {
      error(FindingCode::kAttrType,
            absl::StrCat("attribute ", attr.name(), " is of type ", AttrType_Name(attr.type()),
                         "; want ", AttrType_Name(want->type)));
    }
  }
  for (size_t i = 0; i < schema.size(); ++i) {
    if (seen[i] != nullptr || schema[i].default_value || !Includes(schema[i].eras, era)) continue;
    error(FindingCode::kMissingAttr,
          absl::StrCat("attribute ", schema[i].name, " is missing and has no default; want ",
                       AttrType_Name(schema[i].type)));
  }
  return fine;
}

std::string TypeName(std::optional<DataType> dtype) {
  return dtype ? VarType::Type_Name(*dtype) : "unknown";
}

void CompareOutput(const Argument& output, const InferredOutput& inferred, FindingList* findings) {
  if (output.variable() == nullptr || output.variable()->desc() == nullptr) return;
  const TensorInfo declared = TensorInfoOf(output.variable()->desc());
  const auto place = [&] {
    return absl::StrCat("output ", output.slot_name(), " \"", output.name(), "\" is declared ");
  };
  if (inferred.dims && declared.has_dims() && !MayBeEqual(*inferred.dims, declared.dims)) {
    findings->Error(
        FindingCode::kShape, output.op(),
        absl::StrCat(place(), DimsText(declared.dims), "; want ", DimsText(*inferred.dims)));
  }
  if (inferred.dtype && declared.dtype && *inferred.dtype != *declared.dtype) {
    findings->Error(
        FindingCode::kDtype, output.op(),
        absl::StrCat(place(), TypeName(declared.dtype), "; want ", TypeName(inferred.dtype)));
  }
}

}  // namespace

bool CheckForm(const KnownOp& known, Era era, FindingList* findings) {
  const Op& op = *known.op;
  const bool inputs =
      SlotCheck(op, "input", known.schema->inputs(), era, findings).Run(op.desc().inputs());
  const bool outputs =
      SlotCheck(op, "output", known.schema->outputs(), era, findings).Run(op.desc().outputs());
  const bool attrs = CheckAttrs(known, era, findings);
  return inputs && outputs && attrs;
}

void CheckTypes(const KnownOp& known, Era era, FindingList* findings) {
  if (known.schema->infer() == nullptr) return;
  const Op& op = *known.op;
  absl::InlinedVector<const VarDesc*, 16> inputs;
  inputs.reserve(op.inputs().size());
  for (const Argument* input : op.inputs()) {
    inputs.push_back(input->variable() != nullptr ? input->variable()->desc() : nullptr);
  }
  InferContext context(op.desc(), *known.schema, era, inputs);
  const absl::Status status = Infer(context);
  if (!status.ok()) {
    findings->Error(FindingCode::kShape, op, std::string(status.message()));
    return;
  }
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    CompareOutput(*op.outputs()[i], context.outputs()[i], findings);
  }
}

}  // namespace fixpoint
