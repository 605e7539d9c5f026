#include "transpiler/lower/rules/lowering.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/codes/declared_facts.h"
#include "ops/codes/held_codes.h"
#include "ops/codes/integer_reasons.h"
#include "ops/dims.h"
#include "ops/never_negative.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/lower/lower_context.h"
#include "transpiler/lower/portable_codes.h"

namespace fixpoint {
namespace {

OpDesc::Var* FindOrAddSlot(google::protobuf::RepeatedPtrField<OpDesc::Var>* slots,
                           absl::string_view name) {
  const auto found = std::find_if(slots->begin(), slots->end(), [name](const OpDesc::Var& slot) {
    return slot.parameter() == name;
  });
  if (found != slots->end()) return &*found;
  OpDesc::Var* const slot = slots->Add();
  slot->set_parameter(std::string(name));
  return slot;
}

// Whether what the op reads is still there where a later op of the block stands.
bool ReadsAlike(const Op& op) {
  return std::all_of(op.inputs().begin(), op.inputs().end(), [](const Argument* input) {
    return input->variable() == nullptr || input->variable()->values().size() == 1;
  });
}

bool IsProductOfCodes(const Op& op) { return TraitsOf(op).has_epilogue; }

bool IsTable(const Op& op) { return op.type() == "integer_table"; }

}  // namespace

absl::Status CheckRanges(const Op& op, absl::Span<const float> ranges) {
  for (const float range : ranges) {
    if (std::isfinite(range) && range >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(op), ": Scale holds ", range,
                                                   "; want finite numbers that are not negative"));
  }
  return absl::OkStatus();
}

void SetCodeType(const CodeType& type, OpDesc* op) {
  SetAttr(MakeIntAttr("out_dtype", type.dtype), op);
  SetAttr(MakeFloatAttr("out_range", type.range), op);
  SetAttr(MakeIntAttr("out_largest_code", type.largest_code), op);
  if (type.zero_point != 0) SetAttr(MakeIntAttr("out_zero_point", type.zero_point), op);
}

Lowering::Lowering(Program* program, LowerContext* context, absl::string_view pass)
    : context_(*context),
      program_(*program),
      pass_(pass),
      rewriter_(program, pass),
      parameters_(*program, &context->parameters, &rewriter_) {
  NeverNegative never_negative(era());
  for (const Op& op : program->ops()) {
    for (const auto arguments : {op.inputs(), op.outputs()}) {
      for (const Argument* argument : arguments) {
        const Value* const value = argument->value();
        if (value != nullptr && never_negative.Holds(*value)) never_negative_.insert(argument);
      }
    }
  }
}

std::optional<ActivationCodes> Lowering::FindCodes(const Argument& input) const {
  std::optional<ActivationCodes> found = FindOperandCodes(input);
  return found && !found->is_wide ? found : std::nullopt;
}

std::optional<ActivationCodes> Lowering::FindOperandCodes(const Argument& input) const {
  const Value* value = input.value();
  if (value == nullptr || value->op() == nullptr) return std::nullopt;
  const Op& op = *value->op();
  if (op.type() != "integer_dequantize" || !ReadsAlike(op)) return std::nullopt;
  const OpAttributes attributes = AttributesOf(op);
  ActivationCodes found;
  found.codes = op.Input("X");
  found.range = static_cast<float>(attributes.Float("range"));
  found.largest_code = static_cast<int32_t>(attributes.Int("largest_code"));
  if (attributes.IsGiven("zero_point")) {
    found.zero_point = static_cast<int32_t>(attributes.Int("zero_point"));
  }
  const VarType::TensorDesc* tensor = found.codes->variable()->tensor();
  found.is_unsigned = tensor != nullptr && IsUnsignedDtype(tensor->data_type());
  found.is_wide = tensor != nullptr && IsWideCodeDtype(tensor->data_type());
  // A run does not hand wide codes on to a block.
  if (found.is_wide && &op.block() != &input.op().block()) return std::nullopt;
  return found;
}

bool Lowering::IsInForm(const Op& op) const {
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr && CheckForm(op, *schema, era()).ok();
}

OpAttributes Lowering::AttributesOf(const Op& op) const {
  return OpAttributes(op, *CHECK_NOTNULL(FindOpSchema(op.type())), era());
}

std::optional<CodeOp> Lowering::CodeOpOf(const Op& op) const {
  if (!IsInForm(op)) return std::nullopt;
  std::optional<CodeOp> read = ReadCodeOp(op, era());
  return read && !read->only_observes ? read : std::nullopt;
}

bool Lowering::DequantizesTensor(const Op& op) const {
  const std::optional<CodeOp> read = CodeOpOf(op);
  return read && read->kind == QuantOp::kDequantize && IsStepOfPortable(op) && !read->axis &&
         (CodesHeldOf(*read, /*is_never_negative=*/true) ||
          WideCodesOf(*read, /*is_never_negative=*/false));
}

bool Lowering::IsUnwritten(const Variable& variable) {
  const auto [known, is_new] = unwritten_.try_emplace(&variable, false);
  if (is_new) {
    const absl::Span<const Value* const> values = variable.values();
    known->second = std::all_of(values.begin(), values.end(), [](const Value* value) {
      return value->origin() == Value::Origin::kEntry;
    });
  }
  return known->second;
}

absl::StatusOr<const Tensor*> Lowering::FindParameter(const Argument& input) {
  const Variable* variable = input.variable();
  if (variable == nullptr || !variable->persistable()) return nullptr;
  if (!IsUnwritten(*variable)) {
    const absl::Span<const Value* const> values = variable->values();
    const bool is_kept = std::all_of(values.begin(), values.end(), [&](const Value* value) {
      return value->origin() == Value::Origin::kEntry || value->op() == &input.op();
    });
    if (!is_kept || input.value()->origin() != Value::Origin::kEntry) return nullptr;
  }
  const Scope::Value* value = context_.parameters.FindOrNull(variable->name());
  if (value == nullptr) {
    return absl::NotFoundError(absl::StrCat(DescribeInFile(input.op()), ": reads \"",
                                            variable->name(), "\", which the parameters lack"));
  }
  return std::get_if<Tensor>(value);
}

absl::StatusOr<absl::Span<const float>> Lowering::FindNumbers(const Argument* input) {
  if (input == nullptr) return absl::Span<const float>();
  ASSIGN_OR_RETURN(const Tensor* tensor, FindParameter(*input));
  if (tensor == nullptr || tensor->dtype() != VarType::FP32) return absl::Span<const float>();
  return tensor->data<float>();
}

absl::StatusOr<std::optional<ParameterCodes>> Lowering::FindParameterCodes(const Argument& input,
                                                                           IntegerReason* reason) {
  *reason = IntegerReason::kNotQuantized;
  const Value* value = input.value();
  const Op* op = value != nullptr ? value->op() : nullptr;
  if (op == nullptr || QuantOpOf(*op) != QuantOp::kDequantize || !IsStepOfPortable(*op) ||
      TraitsOf(*op).scales_are_steps) {
    return std::nullopt;
  }
  *reason = IntegerReason::kAttributes;
  const std::optional<CodeOp> read = CodeOpOf(*op);
  if (!read || read->axis.value_or(0) < 0) return std::nullopt;
  const int64_t axis = read->axis.value_or(-1);
  *reason = IntegerReason::kNotQuantized;
  ParameterCodes found;
  found.codes = &HolderOfCodes(*read->input);
  found.scale = read->scale;
  ASSIGN_OR_RETURN(found.tensor, FindParameter(*found.codes));
  ASSIGN_OR_RETURN(const Tensor* ranges, FindParameter(*read->scale));
  if (const VarType::TensorDesc* declared = found.codes->variable()->tensor();
      found.tensor != nullptr && declared != nullptr &&
      found.tensor->dtype() != declared->data_type()) {
    return absl::InvalidArgumentError(absl::StrCat(
        DescribeInFile(*op), ": \"", found.codes->name(), "\" is ",
        VarType::Type_Name(found.tensor->dtype()), "; want what the program declares, ",
        VarType::Type_Name(declared->data_type())));
  }
  if (found.tensor == nullptr || ranges == nullptr || ranges->dtype() != VarType::FP32) {
    return std::nullopt;
  }
  // A run does not hand wide codes on to a block.
  found.is_wide = IsWideCodeDtype(found.tensor->dtype()) && &op->block() == &input.op().block();
  const bool are_held = CodesHeldOf(*read, /*is_never_negative=*/false) &&
                        found.tensor->dtype() == CodeDtype(/*is_unsigned=*/false);
  if (!are_held && !found.is_wide) {
    *reason = IntegerReason::kTooManyBits;
    return std::nullopt;
  }
  RETURN_IF_ERROR(CheckRanges(*op, ranges->data<float>()));
  found.ranges.assign(ranges->data<float>().begin(), ranges->data<float>().end());
  found.largest_code = read->codes.largest;
  const std::vector<int64_t>& dims = found.tensor->dims();
  const bool has_axis = axis < static_cast<int64_t>(dims.size());
  if (has_axis) found.channel_axis = static_cast<int>(axis);
  const int64_t channels = found.channel_axis < 0 ? 1 : dims[found.channel_axis];
  if (!has_axis || static_cast<int64_t>(found.ranges.size()) != channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        DescribeInFile(*op), ": Scale has ", found.ranges.size(), " ranges, for codes ",
        DimsText(dims), " along axis ", axis, "; want ", channels));
  }
  return found;
}

const Op& Lowering::InsertBefore(const Op& op, OpDesc inserted) {
  return rewriter_.InsertBefore(op, InPlaceOf(op, pass_, std::move(inserted)));
}

const Op& Lowering::Replace(const Op& op, OpDesc replacement) {
  const Op& inserted = InsertBefore(op, std::move(replacement));
  rewriter_.Remove(op);
  return inserted;
}

void Lowering::ReplaceProduct(const Op& op, const CodedProduct& decided, OpDesc replacement) {
  const Op& product = Replace(op, std::move(replacement));
  if (decided.gives_sums) products_.emplace(&product, decided);
}

const CodedProduct* Lowering::FindProduct(const Op& product) const {
  const auto found = products_.find(&product);
  return found != products_.end() ? &found->second : nullptr;
}

void Lowering::SetElementType(const Variable& variable, VarType::Type dtype) {
  VarDesc desc = *variable.desc();
  desc.mutable_type()->mutable_lod_tensor()->mutable_tensor()->set_data_type(dtype);
  rewriter_.SetVariable(variable, std::move(desc));
}

absl::StatusOr<std::string> Lowering::AddParameter(absl::string_view base, Tensor tensor) {
  return parameters_.Add(base, std::move(tensor));
}

absl::StatusOr<std::string> Lowering::AddParameter(absl::string_view base,
                                                   std::vector<float> values) {
  return AddParameter(base, Tensor::FromValues<float>({static_cast<int64_t>(values.size())},
                                                      absl::MakeConstSpan(values)));
}

const Op* Lowering::FindOpenProduct(const Argument& reader) const {
  const Op* const op = FindOpen(reader);
  return op != nullptr && IsProductOfCodes(*op) ? op : nullptr;
}

const Op* Lowering::FindOpenTable(const Argument& reader) const {
  const Op* const op = FindOpen(reader);
  return op != nullptr && IsTable(*op) ? op : nullptr;
}

const Op* Lowering::FindOpen(const Argument& reader) const {
  const Value* value = reader.value();
  const Op* op = value != nullptr ? value->op() : nullptr;
  if (op == nullptr) return nullptr;
  const bool is_open = (IsProductOfCodes(*op) || IsTable(*op)) &&
                       AttributesOf(*op).Int("out_dtype") == VarType::FP32;
  if (!is_open || DeclaredFacts(era()).OnlyReader(*value) != &reader.op()) return nullptr;
  return ReadsAlike(*op) ? op : nullptr;
}

OpDesc Lowering::Extended(const Op& product, absl::string_view output, const Epilogue& stages,
                          const std::vector<std::string>& operands) const {
  OpDesc op = product.desc();
  for (const std::string& operand : operands) {
    FindOrAddSlot(op.mutable_inputs(), "Operands")->add_arguments(operand);
  }
  op.mutable_outputs(0)->set_arguments(0, std::string(output));
  Epilogue epilogue = *EpilogueOf(op);
  epilogue.insert(epilogue.end(), stages.begin(), stages.end());
  if (!epilogue.empty()) SetEpilogue(epilogue, &op);
  return op;
}

void Lowering::TakeUp(const Op& product, const FoldedOp& fold,
                      const std::vector<std::string>& operands) {
  ReplaceBoth(product, *fold.op, Extended(product, fold.output->name(), fold.stages, operands));
}

void Lowering::TakeUpBias(const Op& product, const FoldedOp& fold, const Argument& codes) {
  OpDesc biased = Extended(product, fold.output->name(), {}, {});
  FindOrAddSlot(biased.mutable_inputs(), TraitsOf(product).product->bias)
      ->add_arguments(codes.variable()->name());
  ReplaceBoth(product, *fold.op, std::move(biased));
}

void Lowering::ReplaceBoth(const Op& product, const Op& folded, OpDesc replacement) {
  rewriter_.InsertBefore(folded, std::move(replacement));
  rewriter_.Remove(folded);
  rewriter_.Remove(product);
}

void Lowering::StoreCodes(const Op& product, absl::string_view codes, const Epilogue& stages,
                          const CodeType& type) {
  OpDesc storing = Extended(product, codes, stages, {});
  SetCodeType(type, &storing);
  rewriter_.InsertBefore(product, storing);
  rewriter_.Remove(product);
}

absl::Status Lowering::StoreRequantized(const Op& product, absl::string_view codes,
                                        std::vector<float> factors, const Epilogue& stages,
                                        const CodeType& type) {
  const std::string base(product.outputs().front()->name());
  ASSIGN_OR_RETURN(const std::string operand,
                   AddParameter(absl::StrCat(base, ".factors"), std::move(factors)));
  ASSIGN_OR_RETURN(const std::string one,
                   AddParameter(absl::StrCat(base, ".unscaled"), std::vector<float>{1}));
  OpDesc storing = Extended(product, codes, stages, {operand});
  FindOrAddSlot(storing.mutable_inputs(), "Scales")->set_arguments(0, one);
  SetCodeType(type, &storing);
  rewriter_.InsertBefore(product, storing);
  rewriter_.Remove(product);
  return absl::OkStatus();
}

}  // namespace fixpoint
