// The ops of lowered programs: sums of products of codes, scales and epilogues, in plain loops.
// Sums are integers; every operation after them is one of float.

#include "runtime/reference/kernels/lowered.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/fixed_point.h"
#include "ops/quant_math.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

using Kind = EpilogueStage::Kind;

// By integers alone.
float Requantized(float sum, float factor, int roundings) {
  constexpr auto kMost = static_cast<float>(kLargestRequantizedSum);
  const float n = sum > -kMost ? std::min(sum, kMost) : -kMost;
  return static_cast<float>(
      Requantize(static_cast<int64_t>(n), FixedPointMultiplierOf(factor, 32), roundings));
}

float Operated(const EpilogueStage& stage, float x, float operand) {
  switch (stage.kind) {
    case Kind::kAddChannel:
    case Kind::kAddElement:
      return x + operand;
    case Kind::kMultiplyChannel:
      return x * operand;
    case Kind::kRequantize:
      return Requantized(x, operand, static_cast<int>(stage.a));
    case Kind::kAddInt8:
    case Kind::kAddUint8:
      return std::fma(operand - stage.b, stage.a, x);
    case Kind::kMultiply:
      return x * stage.a;
    case Kind::kAdd:
      return x + stage.a;
    case Kind::kRound:
      return RoundHalfToEven(x);
    case Kind::kRelu:
      return x > 0 ? x : 0;
    case Kind::kLeakyRelu:
      return x > 0 ? x : x * stage.a;
    case Kind::kHardSwish: {
      const float line = x * stage.a + stage.b;
      return x * std::min(std::max(line, 0.0f), 1.0f);
    }
    case Kind::kClip:
      return x > stage.a ? std::min(x, stage.b) : stage.a;
  }
  return x;
}

absl::Status NoCodes(absl::string_view slot, absl::string_view want) {
  return absl::UnimplementedError(absl::StrCat(slot, " is no codes; want ", want));
}

// Error: the input is no codes, wide ones included.
absl::Status CheckAnyCodes(const OpRun& op, absl::string_view slot) {
  const VarType::Type dtype = op.Input(slot).dtype;
  if (IsCodeDtype(dtype) || IsWideCodeDtype(dtype)) return absl::OkStatus();
  return NoCodes(slot, "i8, u8 or i16");
}

// An integer has no -0.
double CodeOf(float x) { return RoundHalfToEven(x) + 0.0; }

// Stores a float as the nearest code, ties to even.
double Stored(float x, VarType::Type dtype) {
  if (dtype == VarType::FP32) return x;
  const CodeRange codes = CodesOfDtype(dtype);
  const auto smallest = static_cast<float>(codes.smallest);
  const auto largest = static_cast<float>(codes.largest);
  return CodeOf(x > smallest ? std::min(x, largest) : smallest);
}

absl::Status Quantize(OpRun& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("out_dtype"));
  const auto multiplier = static_cast<float>(op.Float("multiplier"));
  const auto smallest = static_cast<float>(op.Int("smallest_code"));
  const auto largest = static_cast<float>(op.Int("out_largest_code"));
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "out_zero_point", dtype));
  Array out = op.Input("X");
  out.dtype = dtype;
  for (double& x : out.values) {
    const float scaled = static_cast<float>(x) * multiplier;
    const double code = CodeOf(scaled) + zero_point;
    x = std::isnan(code) ? zero_point : std::min<double>(std::max<double>(code, smallest), largest);
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Dequantize(OpRun& op) {
  RETURN_IF_ERROR(CheckAnyCodes(op, "X"));
  const auto range = static_cast<float>(op.Float("range"));
  const auto largest = static_cast<float>(op.Int("largest_code"));
  Array out = op.Input("X");
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "zero_point", out.dtype));
  const bool is_affine = op.attributes().IsGiven("zero_point");
  out.dtype = VarType::FP32;
  for (double& x : out.values) {
    const auto code = static_cast<float>(x);
    x = is_affine ? (code - zero_point) * (range / largest) : code * range / largest;
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Add(OpRun& op) {
  RETURN_IF_ERROR(CheckCodes(op, "Y"));
  const Array& codes = op.Input("Y");
  Array out = op.Input("X");
  RETURN_IF_ERROR(op.CheckSize("Y", out.size()));
  const float step =
      static_cast<float>(op.Float("range")) / static_cast<float>(op.Int("largest_code"));
  ASSIGN_OR_RETURN(const float zero_point, ZeroPointOf(op, "zero_point", codes.dtype));
  for (int64_t i = 0; i < out.size(); ++i) {
    const float above = static_cast<float>(codes[i]) - zero_point;
    out[i] = std::fma(above, step, static_cast<float>(out[i]));
  }
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// The entries are in the order of codes.
absl::Status LookUp(OpRun& op) {
  RETURN_IF_ERROR(CheckCodes(op, "X"));
  RETURN_IF_ERROR(op.CheckSize("Table", kCodesInByte));
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("out_dtype"));
  const Array& table = op.Input("Table");
  if (table.dtype != dtype) {
    return absl::UnimplementedError(
        absl::StrCat("Table is ", TypeName(table.dtype), "; want ", TypeName(dtype)));
  }
  Array out = op.Input("X");
  const int32_t smallest = CodesOfDtype(out.dtype).smallest;
  for (double& x : out.values) x = table[static_cast<int64_t>(x) - smallest];
  out.dtype = dtype;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<float> ZeroPointOf(const OpRun& op, absl::string_view attribute,
                                  VarType::Type dtype) {
  const int64_t zero_point = op.Int(attribute);
  const CodeRange codes = CodesOfDtype(dtype);
  if (IsCode(zero_point, codes)) return static_cast<float>(zero_point);
  return absl::InvalidArgumentError(absl::StrCat(std::string(attribute), " is ", zero_point,
                                                 "; want a code, ", codes.smallest, " to ",
                                                 codes.largest));
}

absl::Status CheckCodes(const OpRun& op, absl::string_view slot) {
  const VarType::Type dtype = op.Input(slot).dtype;
  if (IsCodeDtype(dtype)) return absl::OkStatus();
  return NoCodes(slot, "i8 or u8");
}

absl::Status CheckSums(const OpRun& op, absl::string_view input, absl::string_view weights,
                       int64_t channels) {
  RETURN_IF_ERROR(CheckAnyCodes(op, input));
  RETURN_IF_ERROR(CheckAnyCodes(op, weights));
  if (op.HasInputSlot("Bias") && op.FindInput("Bias") != nullptr) {
    RETURN_IF_ERROR(op.CheckSize("Bias", channels));
  }
  return op.Input("Scales").size() == 1 ? absl::OkStatus() : op.CheckSize("Scales", channels);
}

absl::Status CheckBias(const OpRun& op) {
  const Array* const bias = op.FindInput("Bias");
  if (bias == nullptr) return absl::OkStatus();
  if (bias->dtype != VarType::INT32 && bias->dtype != VarType::INT16) {
    return absl::UnimplementedError(
        absl::StrCat("Bias is ", TypeName(bias->dtype), "; want i16 or i32"));
  }
  for (const double code : bias->values) {
    RETURN_IF_ERROR(CheckBiasCode(static_cast<int32_t>(code), "a bias is"));
  }
  return absl::OkStatus();
}

namespace {

absl::Status CheckOperand(const EpilogueStage& stage, const Array& operand) {
  if (stage.is_of_codes()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNumbersType(stage, operand.dtype));
  for (const double x : operand.values) {
    if (operand.dtype == VarType::INT32) {
      RETURN_IF_ERROR(CheckBiasCode(static_cast<int32_t>(x), "a bias is"));
    } else if (stage.kind == Kind::kRequantize) {
      RETURN_IF_ERROR(CheckRequantizationFactor(static_cast<float>(x)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Array StoreAfter(const Epilogue& epilogue, absl::Span<const Array* const> operands,
                 VarType::Type dtype, int channel_axis, Array numbers) {
  numbers.dtype = dtype;
  ForEachLine(ViewAround(numbers.dims, channel_axis),
              [&](int64_t start, int64_t stride, int64_t channels) {
                for (int64_t c = 0; c < channels; ++c) {
                  const int64_t at = start + c * stride;
                  float x = static_cast<float>(numbers[at]);
                  for (size_t i = 0; i < epilogue.size(); ++i) {
                    const Array* operand = operands[i];
                    const double of_stage =
                        operand == nullptr ? 0 : (*operand)[epilogue[i].is_of_channels() ? c : at];
                    x = Operated(epilogue[i], x, static_cast<float>(of_stage));
                  }
                  numbers[at] = Stored(x, dtype);
                }
              });
  return numbers;
}

absl::StatusOr<Array> StoreNumbers(const OpRun& op, Array numbers, int channel_axis) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("out_dtype"));
  ASSIGN_OR_RETURN(const Epilogue epilogue, EpilogueOf(op.attributes().op()));
  const std::vector<const Array*> inputs = op.Inputs("Operands");
  std::vector<const Array*> operands;
  size_t used = 0;
  for (const EpilogueStage& stage : epilogue) {
    operands.push_back(nullptr);
    if (!stage.has_operand()) continue;
    const int64_t wanted = stage.is_of_channels() ? numbers.dims[channel_axis] : numbers.size();
    if (used == inputs.size() || inputs[used]->size() != wanted) {
      return absl::InvalidArgumentError(
          absl::StrCat("Operands[", used, "] is absent or not of ", wanted, " elements; want it"));
    }
    RETURN_IF_ERROR(CheckOperand(stage, *inputs[used]));
    operands.back() = inputs[used++];
  }

  return StoreAfter(epilogue, operands, dtype, channel_axis, std::move(numbers));
}

absl::StatusOr<Array> StoreSums(const OpRun& op, Array sums, int channel_axis) {
  const Array& scales = op.Input("Scales");
  const Array* const bias = op.HasInputSlot("Bias") ? op.FindInput("Bias") : nullptr;
  ForEachLine(
      ViewAround(sums.dims, channel_axis), [&](int64_t start, int64_t stride, int64_t channels) {
        for (int64_t c = 0; c < channels; ++c) {
          double& x = sums[start + c * stride];
          if (bias != nullptr) x += (*bias)[c];
          x = static_cast<float>(x) * static_cast<float>(scales[scales.size() == 1 ? 0 : c]);
        }
      });
  return StoreNumbers(op, std::move(sums), channel_axis);
}

Kernels LoweredKernels() {
  return {{"integer_quantize", Quantize},
          {"integer_dequantize", Dequantize},
          {"integer_add", Add},
          {"integer_table", LookUp}};
}

}  // namespace fixpoint::reference
