#include "transpiler/lower/rules/rounded_sums.h"

#include <cstdint>

#include "ops/code_dtype.h"
#include "ops/codes/declared_facts.h"
#include "ops/power_of_two_range.h"
#include "ops/quant_math.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

// The op of a type that writes what an input alone reads.
const Op* FindWriter(const Argument* input, const char* type, const Lowering& lowering) {
  const Op* const op = DeclaredFacts(lowering.era()).WriterFor(input);
  return op != nullptr && op->type() == type ? op : nullptr;
}

}  // namespace

std::optional<RoundedSums> FindRoundedSums(const Argument& input, const Lowering& lowering) {
  RoundedSums sums;
  sums.dequantize = FindWriter(&input, "integer_dequantize", lowering);
  if (sums.dequantize == nullptr) return std::nullopt;
  sums.quantize = FindWriter(sums.dequantize->Input("X"), "integer_quantize", lowering);
  if (sums.quantize == nullptr) return std::nullopt;
  const bool are_wide = IsWideCodeDtype(
      static_cast<VarType::Type>(lowering.AttributesOf(*sums.quantize).Int("out_dtype")));
  sums.product = lowering.FindOpenProduct(*sums.quantize->Input("X"));
  if (!are_wide || sums.product == nullptr) return std::nullopt;
  return sums;
}

std::optional<Epilogue> StagesOfBias(const RoundedSums& sums, const ParameterBiasCodes& bias,
                                     const Lowering& lowering) {
  const OpAttributes rounded = lowering.AttributesOf(*sums.quantize);
  const OpAttributes read = lowering.AttributesOf(*sums.dequantize);
  const auto range = static_cast<float>(read.Float("range"));
  const auto largest_code = static_cast<int32_t>(read.Int("largest_code"));
  const float step = StepOf(range, largest_code);
  if (largest_code > kLargestCodeOfExactFloats || PowerOfTwoRange(range, largest_code) != range ||
      !bias.IsOfSums({&step, 1})) {
    return std::nullopt;
  }
  return Epilogue{{Kind::kMultiply, static_cast<float>(rounded.Float("multiplier"))},
                  {Kind::kRound},
                  {Kind::kClip, static_cast<float>(rounded.Int("smallest_code")),
                   static_cast<float>(rounded.Int("out_largest_code"))},
                  {Kind::kAddChannel},
                  {Kind::kMultiply, step}};
}

}  // namespace fixpoint
