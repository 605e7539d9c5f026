#include "tests/random/generators/epilogues.h"

#include <cmath>
#include <vector>

#include "ops/epilogue.h"

namespace fixpoint::random_cases {
namespace {

using Kind = EpilogueStage::Kind;

int SomeBits(CaseMaker& c) { return c.OneIn(3) ? c.Between(2, 8) : 8; }

// What a stage reads, as an argument of Operands; "" where it reads nothing.
std::string OperandOf(CaseMaker& c, Kind kind, const Dims& dims, int axis) {
  switch (kind) {
    case Kind::kAddChannel:
    case Kind::kMultiplyChannel:
      return c.Numbers({dims[axis]});
    case Kind::kRequantize:
      return c.Numbers({dims[axis]}, 0.001f, 4);
    case Kind::kAddElement:
      return c.Numbers(dims);
    case Kind::kAddInt8:
      return c.Codes(VarType::INT8, dims, -128, 127);
    case Kind::kAddUint8:
      return c.Codes(VarType::UINT8, dims, 0, 255);
    default:
      return "";
  }
}

// Stages on floats: the bias, batch norm, the residual, the activation.
Epilogue SomeStages(CaseMaker& c) {
  Epilogue stages;
  if (c.OneIn(2)) stages.push_back({Kind::kAddChannel, 0, 0});
  if (c.OneIn(4)) {
    stages.push_back({Kind::kMultiplyChannel, 0, 0});
    stages.push_back({Kind::kAddChannel, 0, 0});
  }
  switch (c.Between(0, 5)) {
    case 0:
      stages.push_back({Kind::kAddElement, 0, 0});
      break;
    case 1:
      stages.push_back({Kind::kAddInt8, c.Between(0.001f, 0.02f), 0});
      break;
    case 2:
      stages.push_back({Kind::kAddUint8, c.Between(0.001f, 0.02f),
                        static_cast<float>(c.OneIn(2) ? 0 : c.Between(0, 255))});
      break;
    default:
      break;
  }
  switch (c.Between(0, 7)) {
    case 0:
    case 1:
      stages.push_back({Kind::kRelu, 0, 0});
      break;
    case 2:
      stages.push_back({Kind::kLeakyRelu, c.Between(0.0f, 0.5f), 0});
      break;
    case 3:
      stages.push_back({Kind::kClip, 0, c.Between(0.5f, 6.0f)});
      break;
    case 4:
      stages.push_back({Kind::kHardSwish, 1.0f / 6, 0.5f});
      break;
    case 5:
      stages.push_back({Kind::kMultiply, c.Between(-2.0f, 2.0f), 0});
      if (c.OneIn(2)) stages.push_back({Kind::kAdd, c.Between(-2.0f, 2.0f), 0});
      break;
    default:
      break;
  }
  return stages;
}

}  // namespace

Coding SomeCoding(CaseMaker& c, bool may_be_affine) {
  Coding coding;
  const int bits = SomeBits(c);
  const bool is_unsigned = c.OneIn(2);
  coding.dtype = is_unsigned ? VarType::UINT8 : VarType::INT8;
  coding.high = is_unsigned ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
  coding.low = is_unsigned ? 0 : c.OneIn(3) ? -coding.high - 1 : -coding.high;
  if (may_be_affine && c.OneIn(2)) coding.zero_point = c.Between(coding.low, coding.high);
  return coding;
}

Coding SomeWeightCoding(CaseMaker& c) {
  Coding coding;
  coding.high = (1 << (SomeBits(c) - 1)) - 1;
  coding.low = c.OneIn(3) ? -coding.high - 1 : -coding.high;
  return coding;
}

std::string SomeScales(CaseMaker& c, int64_t channels, int64_t taps, bool may_be_one) {
  const bool has_ties = c.OneIn(3);
  const float step = 1 / (50 * 50 * std::sqrt(static_cast<float>(taps)));
  std::vector<float> scales(may_be_one && c.OneIn(3) ? 1 : channels);
  for (float& scale : scales) {
    scale = has_ties ? std::pow(2.0f, static_cast<float>(c.Between(-14, -8)))
                     : step * c.Between(0.5f, 2.0f);
  }
  const auto size = static_cast<int64_t>(scales.size());
  std::string text = absl::StrCat(", Scales=", c.Floats({size}, scales));
  if (c.OneIn(3)) {
    const int largest = c.OneOf({100, 1 << 20, 1 << 24});
    absl::StrAppend(&text, ", Bias=", c.Integers(VarType::INT32, {channels}, -largest, largest));
  }
  return text;
}

SomeEpilogue DrawEpilogue(CaseMaker& c, const Dims& dims, int axis) {
  Epilogue stages = SomeStages(c);
  SomeEpilogue drawn;
  Coding stored;
  const bool stores_codes = !c.OneIn(3);
  if (stores_codes) {
    stored = SomeCoding(c, /*may_be_affine=*/true);
    const float multiplier = c.OneIn(3) ? 16 : c.Between(5.0f, 60.0f);
    stages.push_back({Kind::kMultiply, multiplier, 0});
    if (c.OneIn(4)) {
      stages.push_back({Kind::kRound, 0, 0});
      stages.push_back({Kind::kRequantize, static_cast<float>(c.Between(1, 2)), 0});
    }
    if (stored.zero_point != 0) {
      stages.push_back({Kind::kRound, 0, 0});
      stages.push_back({Kind::kAdd, static_cast<float>(stored.zero_point), 0});
    }
    const bool is_whole_type = stored.high == (stored.dtype == VarType::INT8 ? 127 : 255);
    if (!is_whole_type || stored.low == -127) {
      stages.push_back(
          {Kind::kClip, static_cast<float>(stored.low), static_cast<float>(stored.high)});
    }
  }
  std::vector<std::string> names;
  std::vector<std::string> operands;
  std::vector<float> a;
  std::vector<float> b;
  for (const EpilogueStage& stage : stages) {
    names.push_back(absl::StrCat("\"", StageName(stage.kind), "\""));
    a.push_back(stage.a);
    b.push_back(stage.b);
    std::string operand = OperandOf(c, stage.kind, dims, axis);
    if (!operand.empty()) operands.push_back(std::move(operand));
  }
  if (!operands.empty()) drawn.operands = absl::StrCat(", Operands=", ListText(operands));
  if (!stages.empty()) {
    drawn.attributes = absl::StrCat(", epilogue=", ListText(names), ", epilogue_a=", FloatsText(a),
                                    ", epilogue_b=", FloatsText(b));
  }
  if (stores_codes) {
    absl::StrAppend(&drawn.attributes, ", out_dtype=", static_cast<int>(stored.dtype),
                    ", out_range=1.0, out_largest_code=", stored.high,
                    ", out_zero_point=", stored.zero_point);
  }
  return drawn;
}

}  // namespace fixpoint::random_cases
