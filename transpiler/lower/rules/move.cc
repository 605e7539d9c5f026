#include "transpiler/lower/rules/move.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/value_flow.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/lower/rules/table.h"

namespace fixpoint {
namespace {

// The codes that everything has that an op moves; nothing where something has none, or different
// ones.
std::optional<std::vector<ActivationCodes>> FindCodesOfOneKind(const Op& op,
                                                               const Lowering& lowering) {
  std::vector<ActivationCodes> all;
  for (const Argument* x : MovedInputs(op)) {
    const std::optional<ActivationCodes> codes = lowering.FindCodes(*x);
    if (!codes || (!all.empty() && codes->type() != all.front().type())) return std::nullopt;
    all.push_back(*codes);
  }
  return all;
}

// Gives the arguments of an op other names, in the order of both lists.
void SetArguments(const std::vector<const Argument*>& arguments,
                  const std::vector<std::string>& names,
                  google::protobuf::RepeatedPtrField<OpDesc::Var>* slots) {
  for (size_t i = 0; i < names.size(); ++i) {
    slots->Mutable(arguments[i]->slot())->set_arguments(arguments[i]->index(), names[i]);
  }
}

class MoveRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "move"; }
  absl::string_view doc() const override {
    return "Ops that only move values move codes instead, where all inputs have codes of one kind.";
  }
  std::vector<std::string> op_types() const override {
    std::vector<std::string> types;
    for (const OpSchema* schema : AllOpSchemas()) {
      const OpTraits& traits = schema->traits();
      if (schema->keeps_range() || traits.joins_values || !traits.filling.empty()) {
        types.push_back(schema->type());
      }
    }
    return types;
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    return LowerMove(op, lowering);
  }
};

}  // namespace

bool CanHoldCodes(const Variable& variable) { return variable.is_dense_tensor(); }

absl::StatusOr<std::string> AddCodes(const Variable& numbers, VarType::Type dtype,
                                     Lowering& lowering) {
  VarDesc desc = *numbers.desc();
  desc.set_name(lowering.rewriter().FreshName(absl::StrCat(desc.name(), ".quantized")));
  desc.clear_persistable();
  desc.mutable_type()->mutable_lod_tensor()->mutable_tensor()->set_data_type(dtype);
  ASSIGN_OR_RETURN(const Variable* codes,
                   lowering.rewriter().AddVariable(numbers.block(), std::move(desc)));
  return std::string(codes->name());
}

void MoveCodes(const Op& move, const std::vector<std::string>& from,
               const std::vector<std::string>& to, const CodeType& type, Lowering& lowering) {
  OpDesc moved = move.desc();
  const std::vector<const Argument*> outputs = MovedOutputs(move);
  SetArguments(MovedInputs(move), from, moved.mutable_inputs());
  SetArguments(outputs, to, moved.mutable_outputs());
  for (const Argument* output : move.outputs()) {
    const bool is_moved_to = std::find(outputs.begin(), outputs.end(), output) != outputs.end();
    if (!is_moved_to && output->variable() != nullptr && CanHoldCodes(*output->variable())) {
      lowering.SetElementType(*output->variable(), type.dtype);
    }
  }
  const std::string* const filling = FindFilling(move, lowering.era());
  if (filling != nullptr && type.zero_point != 0) {
    SetAttr(MakeFloatAttr(*filling, static_cast<float>(type.zero_point)), &moved);
  }
  lowering.rewriter().InsertBefore(move, moved);
}

absl::StatusOr<IntegerReason> LowerMove(const Op& op, Lowering& lowering) {
  if (!MovesValues(op, lowering.era())) return IntegerReason::kAttributes;
  const auto codes = FindCodesOfOneKind(op, lowering);
  if (!codes) return IntegerReason::kNotQuantized;
  const std::vector<const Argument*> outputs = MovedOutputs(op);
  for (const Argument* output : outputs) {
    if (output->value() == nullptr || output->variable()->values().size() != 1) {
      return IntegerReason::kRewritten;
    }
    if (!CanHoldCodes(*output->variable())) return IntegerReason::kUnknownShape;
    // A product would compute on codes what training computed on floats; a step to codes, and a
    // function of one element, give the same for floats as for the codes that they stand for.
    const auto is_function = [&lowering](const Argument& reader) {
      return lowering.IsInForm(reader.op()) && IsTableOfCodes(reader.op(), lowering);
    };
    if (!TraitsOf(op).copies && !BecomesCodes(*output->value(), lowering.era(), is_function)) {
      return IntegerReason::kNotQuantized;
    }
  }
  const ActivationCodes& kind = codes->front();
  std::vector<std::string> from;
  for (const ActivationCodes& moved : *codes) from.emplace_back(moved.codes->name());
  std::vector<std::string> to;
  for (const Argument* output : outputs) {
    ASSIGN_OR_RETURN(std::string moved, AddCodes(*output->variable(), kind.type().dtype, lowering));
    to.push_back(std::move(moved));
  }
  MoveCodes(op, from, to, kind.type(), lowering);
  for (size_t i = 0; i < to.size(); ++i) {
    OpBuilder numbers("integer_dequantize");
    numbers.Input("X", to[i])
        .Output("Out", outputs[i]->name())
        .FloatAttr("range", kind.range)
        .IntAttr("largest_code", kind.largest_code);
    if (kind.zero_point) numbers.IntAttr("zero_point", *kind.zero_point);
    lowering.InsertBefore(op, numbers.Build());
  }
  lowering.rewriter().Remove(op);
  return IntegerReason::kOnIntegers;
}

std::unique_ptr<LoweringRule> MakeMoveRule() { return std::make_unique<MoveRule>(); }

}  // namespace fixpoint
