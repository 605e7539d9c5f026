#include "transpiler/lower/portable_codes.h"

#include <variant>

#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/codes/held_codes.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool AreOneVariable(const Argument* a, const Argument* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->name() == b->name();
}

bool ReadAlike(const Op& a, const Op& b, Era era) {
  if (a.type() != b.type()) return false;
  if (const auto of_a = ReadBiasCodeOp(a, era), of_b = ReadBiasCodeOp(b, era); of_a && of_b) {
    return AreOneVariable(of_a->input_range, of_b->input_range) &&
           AreOneVariable(of_a->weight_ranges, of_b->weight_ranges);
  }
  const std::optional<CodeOp> of_a = ReadCodeOp(a, era);
  const std::optional<CodeOp> of_b = ReadCodeOp(b, era);
  return of_a && of_b && of_a->codes == of_b->codes && AreOneVariable(of_a->scale, of_b->scale) &&
         AreOneVariable(of_a->zero_point, of_b->zero_point);
}

}  // namespace

const Tensor* FindNumbers(const EditedParameters& parameters, absl::string_view name) {
  const Scope::Value* const value = parameters.FindOrNull(name);
  const Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  return tensor == nullptr || tensor->dtype() != VarType::FP32 ? nullptr : tensor;
}

bool IsCastOfCodes(const Op& op) {
  const Argument* const x = op.type() == "cast" ? op.Input("X") : nullptr;
  const Variable* const variable = x != nullptr ? x->variable() : nullptr;
  return variable != nullptr && variable->tensor() != nullptr &&
         IsWideCodeDtype(variable->tensor()->data_type());
}

const Argument& HolderOfCodes(const Argument& x) {
  const Op* const writer = x.value() != nullptr ? x.value()->op() : nullptr;
  return writer != nullptr && IsCastOfCodes(*writer) ? *writer->Input("X") : x;
}

bool ReadsCodes(const Op& op) {
  return QuantOpOf(op) == QuantOp::kDequantize &&
         (IsStepOfPortable(op) || op.type() == kDequantizeBias);
}

PortableCodes::PortableCodes(const Program& portable, const EditedParameters& parameters)
    : parameters_(parameters), era_(EraOf(portable)) {
  for (const Op& op : portable.ops()) NoteRead(op);
}

PortableCodes::Key PortableCodes::KeyOf(const Argument& argument) {
  const Variable* const variable = argument.variable();
  return {variable == nullptr ? 0 : variable->block().index(), std::string(argument.name())};
}

void PortableCodes::NoteRead(const Op& op) {
  const Argument* const x = ReadsCodes(op) ? FindCodeArguments(op).input : nullptr;
  if (x == nullptr) return;
  const auto [noted, is_new] = readers_.try_emplace(KeyOf(HolderOfCodes(*x)), &op);
  if (is_new || noted->second == nullptr || ReadAlike(*noted->second, op, era_)) return;
  noted->second = nullptr;
}

const Op* PortableCodes::FindReader(const Argument& codes) const {
  const auto found = readers_.find(KeyOf(codes));
  return found == readers_.end() ? nullptr : found->second;
}

std::optional<float> PortableCodes::FindNumber(const Argument* input) const {
  if (input == nullptr) return std::nullopt;
  const Tensor* const tensor = FindNumbers(parameters_, input->name());
  if (tensor == nullptr || tensor->size() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

std::optional<CodesRead> PortableCodes::FindRead(const Argument& codes) const {
  const Op* const reader = FindReader(codes);
  const std::optional<CodeOp> read = reader != nullptr ? ReadCodeOp(*reader, era_) : std::nullopt;
  if (!read) return std::nullopt;
  const std::optional<float> scale = FindNumber(read->scale);
  if (!scale) return std::nullopt;
  if (!read->scales_are_steps) return CodesRead{*scale, read->codes_of_scale(), 0};
  const std::optional<float> zero_point = FindNumber(read->zero_point);
  if (!zero_point) return std::nullopt;
  return CodesRead{*scale, read->codes_of_scale(), static_cast<int32_t>(*zero_point)};
}

std::optional<float> PortableCodes::FindStep(const Argument& codes, size_t channel) const {
  const Op* const reader = FindReader(codes);
  const std::optional<CodeOp> read = reader != nullptr ? ReadCodeOp(*reader, era_) : std::nullopt;
  if (!read) return std::nullopt;
  const Tensor* const ranges = FindNumbers(parameters_, read->scale->name());
  if (ranges == nullptr || ranges->size() == 0) return std::nullopt;
  return StepOf(ranges->data<float>()[channel % ranges->size()], read->codes_of_scale());
}

std::optional<float> PortableCodes::FindBiasStep(const Argument& codes, size_t channel) const {
  const Op* const reader = FindReader(codes);
  const std::optional<BiasCodeOp> read =
      reader != nullptr ? ReadBiasCodeOp(*reader, era_) : std::nullopt;
  if (!read) return std::nullopt;
  const std::optional<float> range = FindNumber(read->input_range);
  if (range && read->weight_ranges == nullptr) return read->Step(*range, 1);
  if (!range) return std::nullopt;
  const Tensor* const ranges = FindNumbers(parameters_, read->weight_ranges->name());
  if (ranges == nullptr || ranges->size() == 0) return std::nullopt;
  return read->Step(*range, ranges->data<float>()[channel % ranges->size()]);
}

std::optional<std::string> PortableCodes::FindZeroPoints(const Argument& codes) const {
  const Op* const reader = FindReader(codes);
  if (reader == nullptr) return std::nullopt;
  const std::optional<CodeOp> read = ReadCodeOp(*reader, era_);
  const bool are_of_channels = read && read->scales_are_steps && read->axis;
  return are_of_channels ? std::string(read->zero_point->name()) : "";
}

std::optional<CodesWritten> PortableCodes::FindWritten(const Op& op, VarType::Type stored) const {
  const std::optional<CodeOp> read = ReadCodeOp(op, era_);
  if (!read || read->kind != QuantOp::kQuantize || !IsStepOfPortable(op)) return std::nullopt;
  const std::optional<float> scale = FindNumber(read->scale);
  if (!scale) return std::nullopt;
  if (!read->scales_are_steps) {
    // Without negative ones they may fit in a byte.
    const CodeRange codes = CodesHeldOf(*read, IsUnsignedDtype(stored)).value_or(read->codes);
    return CodesWritten{{CodeDtype(codes), *scale, codes.largest, 0},
                        MultiplierOfCodes(*scale, codes.largest, codes.rounding)};
  }
  const std::optional<float> zero_point = FindNumber(read->zero_point);
  if (!zero_point) return std::nullopt;
  const CodeRange& codes = read->codes;
  return CodesWritten{{CodeDtype(codes.is_unsigned), *scale * static_cast<float>(codes.largest),
                       codes.largest, static_cast<int32_t>(*zero_point)},
                      1 / *scale};
}

}  // namespace fixpoint
