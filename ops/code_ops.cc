#include "ops/code_ops.h"

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// What an op means that has no attribute for it, nor has its schema.
constexpr int kBits = 8;
constexpr QuantSpec::Rounding kRounding = QuantSpec::HALF_AWAY_FROM_ZERO;
constexpr int kNoChannelAxis = -1;

absl::StatusOr<int> ReadInt(const OpDesc& op, Era era, absl::string_view name, int otherwise) {
  const OpDesc::Attr* attr = AttrOrDefault(op, name, era);
  if (attr == nullptr) return otherwise;
  const std::optional<int64_t> value = IntValue(*attr);
  if (value.has_value() && *value == static_cast<int>(*value)) return static_cast<int>(*value);
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is not a whole number of 32 bits"));
}

bool ReadBool(const OpDesc& op, Era era, absl::string_view name, bool otherwise) {
  const OpDesc::Attr* attr = AttrOrDefault(op, name, era);
  const std::optional<bool> value = attr != nullptr ? BoolValue(*attr) : std::nullopt;
  return value.value_or(otherwise);
}

bool ScalesAreSteps(const std::string& type) {
  const OpSchema* const schema = FindOpSchema(type);
  return schema != nullptr && schema->traits().scales_are_steps;
}

// The argument of the first of these slots that an op has.
const Argument* FindInput(const Op& op, std::initializer_list<const char*> slots) {
  for (const char* slot : slots) {
    if (const Argument* argument = op.Input(slot); argument != nullptr) return argument;
  }
  return nullptr;
}

const Argument* FindOutput(const Op& op, std::initializer_list<const char*> slots) {
  for (const char* slot : slots) {
    if (const Argument* argument = op.Output(slot); argument != nullptr) return argument;
  }
  return nullptr;
}

// The codes that a dequantize op reads; nothing where what it divides by is not a largest code.
std::optional<CodeRange> CodesToRead(const OpDesc& op, Era era) {
  const auto largest = ReadLargestCode(op, era, LargestCode(kBits));
  if (!largest.ok()) return std::nullopt;
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    if (LargestCode(bits) == *largest) return SymmetricCodes(bits, QuantSpec::HALF_TO_EVEN);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int> ReadBits(const OpDesc& op, Era era, int otherwise, int least_bits) {
  ASSIGN_OR_RETURN(const int bits, ReadInt(op, era, "bit_length", otherwise));
  RETURN_IF_ERROR(CheckBits("bit_length", bits, least_bits));
  return bits;
}

absl::StatusOr<CodeRange> ReadCodeRange(const OpDesc& op, Era era, int least_bits) {
  ASSIGN_OR_RETURN(const int bits, ReadBits(op, era, kBits, least_bits));
  ASSIGN_OR_RETURN(const int round_type, ReadInt(op, era, "round_type", RoundTypeOf(kRounding)));
  ASSIGN_OR_RETURN(const QuantSpec::Rounding rounding, RoundingOfType(round_type));
  if (!ScalesAreSteps(op.type())) return SymmetricCodes(bits, rounding);
  return AffineCodes(bits, ReadBool(op, era, "unsigned_codes", false), rounding);
}

absl::StatusOr<int> ReadChannelAxis(const OpDesc& op, Era era) {
  const OpSchema* const schema = FindOpSchema(op.type());
  const bool has_axis = schema == nullptr || schema->FindAttr("quant_axis", era) != nullptr;
  return has_axis ? ReadInt(op, era, "quant_axis", kNoChannelAxis) : kNoChannelAxis;
}

absl::StatusOr<double> ReadLargestCode(const OpDesc& op, Era era, double otherwise) {
  if (const OpDesc::Attr* attr = AttrOrDefault(op, "max_range", era); attr != nullptr) {
    const bool is_given = FindAttr(op, "max_range") != nullptr;
    const auto largest = FloatValue(*attr);
    if (largest && (is_given || *largest != 0)) return static_cast<float>(*largest);
  }
  if (const OpDesc::Attr* attr = AttrOrDefault(op, "quant_bits", era); attr != nullptr) {
    if (const auto bits = IntsValue(*attr); bits && !bits->empty()) {
      RETURN_IF_ERROR(CheckBits("quant_bits", bits->front()));
      return LargestCode(static_cast<int>(bits->front()));
    }
  }
  if (AttrOrDefault(op, "bit_length", era) == nullptr) return otherwise;
  ASSIGN_OR_RETURN(const int bits, ReadBits(op, era, kBits));
  return LargestCode(bits);
}

bool IsStepOfPortable(const Op& op) { return FindCodeArguments(op).zero_point != nullptr; }

std::vector<std::string> StepsOfPortable(QuantOp kind) {
  std::vector<std::string> types;
  for (const OpSchema* schema : AllOpSchemas()) {
    const bool has_zero_point = schema->FindInput("ZeroPoint", Era::kPaddle2) != nullptr ||
                                schema->FindInput("InZeroPoint", Era::kPaddle2) != nullptr;
    if (schema->quant_op() == kind && has_zero_point) types.push_back(schema->type());
  }
  return types;
}

CodeArguments FindCodeArguments(const Op& op) {
  return {op.Input("X"), FindOutput(op, {"Y", "Out"}),
          FindInput(op, {"Scale", "InScale", "Scales"}),
          FindInput(op, {"ZeroPoint", "InZeroPoint"})};
}

std::optional<CodeOp> ReadCodeOp(const Op& op, Era era, int least_bits) {
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr || schema->quant_op() == QuantOp::kNone ||
      !OpAttributes::Of(op.desc(), *schema, era)) {
    return std::nullopt;
  }
  const OpDesc& desc = op.desc();
  const bool is_dequantize = schema->quant_op() == QuantOp::kDequantize;
  CodeOp read;
  read.kind = schema->quant_op();
  const CodeArguments arguments = FindCodeArguments(op);
  read.input = arguments.input;
  read.output = arguments.output;
  read.scale = arguments.scale;
  read.zero_point = arguments.zero_point;
  read.scales_are_steps = schema->traits().scales_are_steps;
  read.only_observes = ReadBool(desc, era, "only_observer", false);
  const bool has_found = schema->FindOutput("OutScale", era) != nullptr ||
                         schema->FindOutput("OutScales", era) != nullptr;
  read.finds_scale =
      !is_dequantize && has_found && (read.scale == nullptr || IsTest(desc, era) == false);
  read.multiplies_by_step = era == Era::kFluid && schema->traits().multiplies_by_step_in_fluid;
  const absl::StatusOr<int> axis = ReadChannelAxis(desc, era);
  if (axis.ok() && *axis != -1) read.axis = *axis;
  std::optional<CodeRange> codes;
  if (is_dequantize) {
    codes = CodesToRead(desc, era);
  } else if (const auto made = ReadCodeRange(desc, era, least_bits); made.ok()) {
    codes = *made;
  }
  const bool lacks_zero_point = read.scales_are_steps && read.zero_point == nullptr;
  if (!axis.ok() || !codes || read.input == nullptr || read.output == nullptr ||
      (is_dequantize && (read.scale == nullptr || lacks_zero_point))) {
    return std::nullopt;
  }
  read.codes = *codes;
  return read;
}

std::optional<BiasCodeOp> ReadBiasCodeOp(const Op& op, Era era) {
  if (op.type() != kQuantizeBias && op.type() != kDequantizeBias) return std::nullopt;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  BiasCodeOp read;
  read.input = op.Input("X");
  read.output = op.Output("Out");
  read.input_range = op.Input("InputScale");
  read.weight_ranges = op.Input("WeightScale");
  if (!attributes || read.input == nullptr || read.output == nullptr ||
      read.input_range == nullptr) {
    return std::nullopt;
  }
  read.input_largest_code = static_cast<int32_t>(attributes->Int("input_largest_code"));
  read.weight_largest_code = static_cast<int32_t>(attributes->Int("weight_largest_code"));
  if (op.type() == kQuantizeBias) {
    read.bits = static_cast<int>(attributes->Int("bit_length"));
    if (!AreBiasBits(read.bits)) return std::nullopt;
  }
  if (read.weight_ranges == nullptr && read.weight_largest_code != 1) return std::nullopt;
  return read;
}

}  // namespace fixpoint
