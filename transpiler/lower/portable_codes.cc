#include "transpiler/lower/portable_codes.h"

#include <variant>

#include "ops/bias_codes.h"
#include "proto/attributes.h"

namespace fixpoint {
namespace {

constexpr char kAffineRead[] = "fake_dequantize_affine";
constexpr char kRowWiseRead[] = "fake_row_wise_dequantize";
constexpr char kBiasRead[] = "fake_dequantize_bias";
constexpr char kAffineWrite[] = "fake_quantize_moving_average_min_max";

std::string NameIn(const Op& op, absl::string_view slot) {
  const Argument* const input = op.Input(slot);
  return input == nullptr ? "" : std::string(input->name());
}

int BitsOf(const Op& op) { return static_cast<int>(IntAttr(op.desc(), "bit_length").value_or(8)); }

bool ReadAlike(const Op& a, const Op& b) {
  return a.type() == b.type() && NameIn(a, "Scale") == NameIn(b, "Scale") &&
         NameIn(a, "ZeroPoint") == NameIn(b, "ZeroPoint") && BitsOf(a) == BitsOf(b) &&
         NameIn(a, "InputScale") == NameIn(b, "InputScale") &&
         NameIn(a, "WeightScale") == NameIn(b, "WeightScale");
}

}  // namespace

const Tensor* FindNumbers(const EditedParameters& parameters, absl::string_view name) {
  const Scope::Value* const value = parameters.FindOrNull(name);
  const Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  return tensor == nullptr || tensor->dtype() != VarType::FP32 ? nullptr : tensor;
}

bool ReadsCodes(const Op& op) {
  return op.type() == "dequantize_linear" || op.type() == kAffineRead ||
         op.type() == kRowWiseRead || op.type() == kBiasRead;
}

PortableCodes::PortableCodes(const Program& portable, const EditedParameters& parameters)
    : parameters_(parameters) {
  for (const Op& op : portable.ops()) NoteRead(op);
}

PortableCodes::Key PortableCodes::KeyOf(const Argument& argument) {
  const Variable* const variable = argument.variable();
  return {variable == nullptr ? 0 : variable->block().index(), std::string(argument.name())};
}

void PortableCodes::NoteRead(const Op& op) {
  const Argument* const x = op.Input("X");
  if (x == nullptr || !ReadsCodes(op)) return;
  const auto [noted, is_new] = readers_.try_emplace(KeyOf(*x), &op);
  if (is_new || noted->second == nullptr || ReadAlike(*noted->second, op)) return;
  noted->second = nullptr;
}

const Op* PortableCodes::FindReader(const Argument& codes) const {
  const auto found = readers_.find(KeyOf(codes));
  return found == readers_.end() ? nullptr : found->second;
}

std::optional<float> PortableCodes::FindNumber(const Op& op, absl::string_view slot) const {
  const Tensor* const tensor = FindNumbers(parameters_, NameIn(op, slot));
  if (tensor == nullptr || tensor->size() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

std::optional<CodesRead> PortableCodes::FindRead(const Argument& codes) const {
  const Op* const reader = FindReader(codes);
  if (reader == nullptr) return std::nullopt;
  const std::optional<float> scale = FindNumber(*reader, "Scale");
  if (!scale) return std::nullopt;
  if (reader->type() != kAffineRead) return CodesRead{*scale, LargestCode(BitsOf(*reader)), 0};
  const std::optional<float> zero_point = FindNumber(*reader, "ZeroPoint");
  if (!zero_point) return std::nullopt;
  return CodesRead{*scale, 1, static_cast<int32_t>(*zero_point)};
}

std::optional<float> PortableCodes::FindStep(const Argument& codes, size_t channel) const {
  const Op* const reader = FindReader(codes);
  if (reader == nullptr) return std::nullopt;
  const Tensor* const ranges = FindNumbers(parameters_, NameIn(*reader, "Scale"));
  if (ranges == nullptr || ranges->size() == 0) return std::nullopt;
  const bool are_steps = reader->type() == kRowWiseRead;
  return StepOf(ranges->data<float>()[channel % ranges->size()],
                are_steps ? 1 : LargestCode(BitsOf(*reader)));
}

std::optional<float> PortableCodes::FindBiasStep(const Argument& codes, size_t channel) const {
  const Op* const reader = FindReader(codes);
  if (reader == nullptr || reader->type() != kBiasRead) return std::nullopt;
  const std::optional<float> range = FindNumber(*reader, "InputScale");
  const Tensor* const ranges = FindNumbers(parameters_, NameIn(*reader, "WeightScale"));
  if (!range || ranges == nullptr || ranges->size() == 0) return std::nullopt;
  const auto largest_code = [reader](absl::string_view name) {
    return static_cast<int32_t>(IntAttr(reader->desc(), name).value_or(0));
  };
  return BiasStep(*range, largest_code("input_largest_code"),
                  ranges->data<float>()[channel % ranges->size()],
                  largest_code("weight_largest_code"));
}

std::optional<std::string> PortableCodes::FindZeroPoints(const Argument& codes) const {
  const Op* const reader = FindReader(codes);
  if (reader == nullptr) return std::nullopt;
  return reader->type() == kRowWiseRead ? NameIn(*reader, "ZeroPoint") : "";
}

std::optional<CodesWritten> PortableCodes::FindWritten(const Op& op) const {
  const int bits = BitsOf(op);
  if (op.type() == "quantize_linear") {
    const std::optional<float> range = FindNumber(op, "Scale");
    if (!range) return std::nullopt;
    const int32_t largest = LargestCode(bits);
    const bool to_even = IntAttr(op.desc(), "round_type").value_or(0) == 0;
    return CodesWritten{
        {bits == 9 ? VarType::UINT8 : VarType::INT8, *range, largest, 0},
        MultiplierOfCodes(*range, largest,
                          to_even ? QuantSpec::HALF_TO_EVEN : QuantSpec::HALF_AWAY_FROM_ZERO)};
  }
  if (op.type() != kAffineWrite) return std::nullopt;
  const std::optional<float> step = FindNumber(op, "InScale");
  const std::optional<float> zero_point = FindNumber(op, "InZeroPoint");
  if (!step || !zero_point) return std::nullopt;
  const bool is_unsigned = BoolAttr(op.desc(), "unsigned_codes").value_or(false);
  const int32_t largest = LargestCode(is_unsigned ? bits + 1 : bits);
  return CodesWritten{
      {is_unsigned ? VarType::UINT8 : VarType::INT8, *step * static_cast<float>(largest), largest,
       static_cast<int32_t>(*zero_point)},
      1 / *step};
}

}  // namespace fixpoint
