// The step from floats to codes. After a product of codes it ends the epilogue; it is moved ahead
// of ops that only move values, because rounding keeps their order:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y) {epilogue=["relu"]}
//   pool2d(X=y) -> (Out=p) {pooling_type="max"}
//   quantize_linear(Scale=t, X=p, ZeroPoint=...) -> (Y=r) {bit_length=9}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y.quantized)
//     {epilogue=["relu", "multiply"], out_dtype=20, out_range=2.0, out_largest_code=255}
//   pool2d(X=y.quantized) -> (Out=r) {pooling_type="max"}
//
// A table gets codes for entries (table.h). Elsewhere it is an edge, integer_quantize, which goes
// ahead of ops that give the same elements another order or shape, so that these move bytes. Affine
// codes are the steps from their zero point, rounded, plus that:
//
//   fake_quantize_moving_average_min_max(X=y, InScale=s, InZeroPoint=z) -> (Out=r, ...)
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=r)
//     {epilogue=["multiply", "round", "add"], out_dtype=20, out_zero_point=64, ...}
//
// A multiplier and a shift before it, fake_requantize, are a stage too, of products on integers
// whose scales are the steps that it divides by, if the codes are those that it gives:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s, Bias=b) -> (Output=y) {epilogue=["relu"]}
//   fake_requantize(X=y, InputScale=..., WeightScale=..., OutputScale=t) -> (Out=z)
//   quantize_linear(Scale=t, X=z, ZeroPoint=...) -> (Y=r)
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=y.unscaled, Bias=b, Operands=[y.factors])
//     -> (Output=r) {epilogue=["relu", "requantize"], out_dtype=20, ...}

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/codes/declared_facts.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/requantization.h"
#include "ops/value_flow.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/found_quantization.h"
#include "transpiler/lower/rules/move.h"
#include "transpiler/lower/rules/requantized_product.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/lower/rules/table.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

Epilogue StagesOf(const Quantization& quantization, const Op* requantize, Era era) {
  const CodeType& type = quantization.type;
  Epilogue stages = {{Kind::kMultiply, quantization.multiplier}};
  if (requantize != nullptr) {
    const int roundings = ReadRequantization(*requantize, era)->roundings;
    stages = {{Kind::kRequantize, static_cast<float>(roundings)}};
  }
  if (type.zero_point != 0) {
    if (requantize == nullptr) stages.push_back({Kind::kRound});
    stages.push_back({Kind::kAdd, static_cast<float>(type.zero_point)});
  }
  const CodeRange all = CodesOfDtype(type.dtype);
  // What integers of 8 bits do by themselves is not said.
  if (quantization.smallest_code != all.smallest || type.largest_code != all.largest) {
    stages.push_back({Kind::kClip, static_cast<float>(quantization.smallest_code),
                      static_cast<float>(type.largest_code)});
  }
  return stages;
}

// The op whose outputs are its inputs' values, if this alone reads them.
const Op* FindMove(const Argument& input, const Lowering& lowering) {
  const Value* value = input.value();
  const Op* op = value != nullptr ? value->op() : nullptr;
  if (op == nullptr || DeclaredFacts(lowering.era()).OnlyReader(*value) != &input.op()) {
    return nullptr;
  }
  const bool moves = FindMovedTo(*op, lowering.era()) == value->written_by();
  return moves && lowering.IsInForm(*op) ? op : nullptr;
}

bool KeepsChannelsOf(const Op& requantize, const Op& move, Era era) {
  return KeepsChannels(move, ReadRequantization(requantize, era)->channel_axis, era);
}

// Whether what an input reads can be stored as codes by the products and tables that make it.
// `requantize`: if not null, what else the products have to do.
absl::StatusOr<bool> IsOpen(const Argument& input, const Op* requantize, Lowering& lowering) {
  std::vector<const Argument*> rest = {&input};
  while (!rest.empty()) {
    const Argument& next = *rest.back();
    rest.pop_back();
    if (const Op* const product = lowering.FindOpenProduct(next); product != nullptr) {
      if (requantize == nullptr) continue;
      ASSIGN_OR_RETURN(const auto factors,
                       FindRequantizationFactors(*product, *requantize, lowering));
      if (factors.empty()) return false;
      continue;
    }
    if (requantize == nullptr && lowering.FindOpenTable(next) != nullptr) continue;
    const Op* const move = FindMove(next, lowering);
    if (move == nullptr ||
        (requantize != nullptr && !KeepsChannelsOf(*requantize, *move, lowering.era()))) {
      return false;
    }
    const std::vector<const Argument*> moved = MovedInputs(*move);
    const bool can_move = std::all_of(moved.begin(), moved.end(), [](const Argument* x) {
      return x->variable() != nullptr && CanHoldCodes(*x->variable());
    });
    if (!can_move) return false;
    rest.insert(rest.end(), moved.begin(), moved.end());
  }
  return true;
}

// Makes the products and tables after an input store codes, and what is between them move codes,
// to `codes`. REQUIRES: IsOpen of the same `requantize`.
absl::Status StoreAsCodes(const Argument& input, const Quantization& quantization,
                          const Op* requantize, const std::string& codes, Lowering& lowering) {
  const Epilogue stages = StagesOf(quantization, requantize, lowering.era());
  struct Stored {
    const Argument* input;
    std::string codes;
    const Op* move;                 // null: a product or a table stores them
    std::vector<std::string> from;  // that it moves
  };
  std::vector<Stored> all = {{&input, codes, nullptr, {}}};
  for (size_t i = 0; i < all.size(); ++i) {
    const Argument& read = *all[i].input;
    if (lowering.FindOpenProduct(read) != nullptr || lowering.FindOpenTable(read) != nullptr) {
      continue;
    }
    all[i].move = FindMove(read, lowering);
    for (const Argument* x : MovedInputs(*all[i].move)) {
      ASSIGN_OR_RETURN(std::string moved,
                       AddCodes(*x->variable(), quantization.type.dtype, lowering));
      all[i].from.push_back(moved);
      all.push_back({x, std::move(moved), nullptr, {}});
    }
  }
  // An op goes after what it reads, which is found by its reading it.
  for (auto stored = all.rbegin(); stored != all.rend(); ++stored) {
    if (stored->move != nullptr) {
      MoveCodes(*stored->move, stored->from, {stored->codes}, quantization.type, lowering);
      lowering.NoteMovesCodes(*stored->move);
      lowering.rewriter().Remove(*stored->move);
    } else if (const Op* product = lowering.FindOpenProduct(*stored->input); product != nullptr) {
      if (requantize == nullptr) {
        lowering.StoreCodes(*product, stored->codes, stages, quantization.type);
        continue;
      }
      ASSIGN_OR_RETURN(auto factors, FindRequantizationFactors(*product, *requantize, lowering));
      RETURN_IF_ERROR(lowering.StoreRequantized(*product, stored->codes, std::move(factors), stages,
                                                quantization.type));
    } else {
      RETURN_IF_ERROR(StoreInTable(*lowering.FindOpenTable(*stored->input), stored->codes,
                                   quantization, lowering));
    }
  }
  return absl::OkStatus();
}

// The op that reorders what an input reads, if `input` alone reads its result.
const Op* FindReorder(const Argument& input, const Lowering& lowering) {
  const Op* const move = FindMove(input, lowering);
  if (move == nullptr || !ReordersValues(*move, lowering.era())) return nullptr;
  const Variable& from = *MovedInputs(*move).front()->variable();
  return CanHoldCodes(from) && CanHoldCodes(*input.variable()) ? move : nullptr;
}

OpDesc EdgeTo(const std::string& codes, const Argument& x, const Quantization& quantization) {
  OpDesc edge = OpBuilder("integer_quantize")
                    .Input("X", x.name())
                    .Output("Out", codes)
                    .FloatAttr("multiplier", quantization.multiplier)
                    .IntAttr("smallest_code", quantization.smallest_code)
                    .Build();
  SetCodeType(quantization.type, &edge);
  return edge;
}

// Puts the edge in the place of the op, or ahead of what reorders its input.
absl::Status ReplaceByEdge(const Op& op, const Argument& x, std::string codes,
                           const Quantization& quantization, Lowering& lowering) {
  std::vector<const Op*> moves;
  const Argument* at = &x;
  while (const Op* const move = FindReorder(*at, lowering)) {
    moves.push_back(move);
    at = MovedInputs(*move).front();
  }
  std::vector<std::string> moved = {std::move(codes)};
  for (const Op* move : moves) {
    const Argument& from = *MovedInputs(*move).front();
    ASSIGN_OR_RETURN(std::string name,
                     AddCodes(*from.variable(), quantization.type.dtype, lowering));
    moved.push_back(std::move(name));
  }
  lowering.InsertBefore(moves.empty() ? op : *moves.back(),
                        EdgeTo(moved.back(), *at, quantization));
  for (size_t i = moves.size(); i-- > 0;) {
    MoveCodes(*moves[i], {moved[i + 1]}, {moved[i]}, quantization.type, lowering);
    lowering.NoteMovesCodes(*moves[i]);
    lowering.rewriter().Remove(*moves[i]);
  }
  lowering.rewriter().Remove(op);
  return absl::OkStatus();
}

std::vector<const Argument*> ReadersOf(const Value& value) {
  return {value.readers().begin(), value.readers().end()};
}

// The op that requantizes what a quantize op alone reads to the codes of this, if the products
// before it can do it; null if there is none.
absl::StatusOr<const Op*> FindRequantize(const Argument& input, const Quantization& quantization,
                                         Lowering& lowering) {
  const Value* const value = input.value();
  const Op* const op = value != nullptr ? value->op() : nullptr;
  if (op == nullptr || op->type() != kRequantize || !lowering.IsInForm(*op) ||
      DeclaredFacts(lowering.era()).OnlyReader(*value) != &input.op()) {
    return nullptr;
  }
  ASSIGN_OR_RETURN(const bool gives_codes, GivesRequantizedCodes(quantization, *op, lowering));
  if (!gives_codes) return nullptr;
  ASSIGN_OR_RETURN(const bool is_open, IsOpen(*op->Input("X"), op, lowering));
  return is_open ? op : nullptr;
}

class QuantizeRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "quantize"; }
  absl::string_view doc() const override {
    return "A step to codes ends an epilogue or a table, even after ops that move values, and "
           "takes a multiplier and a shift before it along; elsewhere it is an edge, ahead of ops "
           "that reorder values.";
  }
  std::vector<std::string> op_types() const override {
    std::vector<std::string> types = StepsOfPortable(QuantOp::kQuantize);
    types.emplace_back(kRequantize);
    return types;
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    if (op.type() == kRequantize) return ReasonOfRequantize(op, lowering);
    IntegerReason reason = IntegerReason::kAttributes;
    ASSIGN_OR_RETURN(const std::optional<Quantization> quantization,
                     FindQuantization(op, lowering, &reason));
    if (!quantization) return reason;
    const CodeOp read = *lowering.CodeOpOf(op);
    const Argument* const x = read.input;
    const Argument* const y = read.output;
    const Variable& codes = *y->variable();
    lowering.SetElementType(codes, quantization->type.dtype);
    // Only products read wide codes, and none stores them.
    if (IsWideCodeDtype(quantization->type.dtype)) {
      CountRounding(read, lowering);
      lowering.Replace(op, EdgeTo(codes.name(), *x, *quantization));
      return IntegerReason::kAtEdge;
    }
    ASSIGN_OR_RETURN(const Op* const requantize, FindRequantize(*x, *quantization, lowering));
    if (requantize != nullptr) {
      RETURN_IF_ERROR(
          StoreAsCodes(*requantize->Input("X"), *quantization, requantize, codes.name(), lowering));
      lowering.rewriter().Remove(*requantize);
      lowering.rewriter().Remove(op);
      return IntegerReason::kInEpilogue;
    }
    CountRounding(read, lowering);
    ASSIGN_OR_RETURN(const bool is_open, IsOpen(*x, nullptr, lowering));
    if (is_open) {
      RETURN_IF_ERROR(StoreAsCodes(*x, *quantization, nullptr, codes.name(), lowering));
      lowering.rewriter().Remove(op);
      return IntegerReason::kInEpilogue;
    }
    if (const auto from = lowering.FindCodes(*x); from && GivesSameCodes(*from, *quantization)) {
      RETURN_IF_ERROR(
          lowering.rewriter().RedirectReads(ReadersOf(*y->value()), *from->codes->variable()));
      lowering.rewriter().Remove(op);
      return IntegerReason::kOnIntegers;
    } else if (from) {
      RETURN_IF_ERROR(RequantizeByTable(op, *from, codes.name(), *quantization, lowering));
      return IntegerReason::kOnIntegers;
    }
    RETURN_IF_ERROR(ReplaceByEdge(op, *x, codes.name(), *quantization, lowering));
    return IntegerReason::kAtEdge;
  }

 private:
  static void CountRounding(const CodeOp& read, Lowering& lowering) {
    if (read.codes.rounding == QuantSpec::HALF_AWAY_FROM_ZERO) {
      lowering.CountRoundingAwayFromZero();
    }
  }

  // It is in the epilogue once the quantize op that reads it is lowered.
  static absl::StatusOr<IntegerReason> ReasonOfRequantize(const Op& op, Lowering& lowering) {
    const Argument* const out = op.Output("Out");
    const Op* const reader = out != nullptr && out->value() != nullptr
                                 ? DeclaredFacts(lowering.era()).OnlyReader(*out->value())
                                 : nullptr;
    if (reader == nullptr || !lowering.CodeOpOf(*reader)) return IntegerReason::kNotAfterProduct;
    IntegerReason reason = IntegerReason::kNotAfterProduct;
    ASSIGN_OR_RETURN(const std::optional<Quantization> quantization,
                     FindQuantization(*reader, lowering, &reason));
    if (!quantization) return reason;
    if (IsWideCodeDtype(quantization->type.dtype)) return IntegerReason::kNotAfterProduct;
    ASSIGN_OR_RETURN(const bool gives_codes, GivesRequantizedCodes(*quantization, op, lowering));
    if (!gives_codes) return IntegerReason::kAttributes;
    ASSIGN_OR_RETURN(const Op* const requantize,
                     FindRequantize(*lowering.CodeOpOf(*reader)->input, *quantization, lowering));
    return requantize != nullptr ? IntegerReason::kInEpilogue : IntegerReason::kNotAfterProduct;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeQuantizeRule() { return std::make_unique<QuantizeRule>(); }

}  // namespace fixpoint
