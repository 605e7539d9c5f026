// The step from numbers to codes. Behind a product of codes it ends the epilogue; behind ops that
// move values and make none it goes before them, because rounding keeps their order:
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y) {epilogue=["relu"]}
//   pool2d(X=y) -> (Out=p) {pooling_type="max"}
//   quantize_linear(Scale=t, X=p, ZeroPoint=...) -> (Y=r) {bit_length=9}
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y.quantized)
//     {epilogue=["relu", "multiply"], out_dtype=20, out_range=2.0, out_largest_code=255}
//   pool2d(X=y.quantized) -> (Out=r) {pooling_type="max"}
//
// A table gets codes for entries (table.h). Elsewhere it is an edge, integer_quantize.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/quant_math.h"
#include "proto/attributes.h"
#include "proto/op_builder.h"
#include "proto/status_macros.h"
#include "transpiler/lowering/rule.h"
#include "transpiler/lowering/table.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

Epilogue StagesOf(const Quantization& quantization) {
  const CodeType& type = quantization.type;
  Epilogue stages = {{Kind::kMultiply, quantization.multiplier}};
  const bool is_unsigned = type.dtype == VarType::UINT8;
  // What integers of 8 bits do by themselves is not said.
  if (quantization.smallest_code != (is_unsigned ? 0 : -128) ||
      type.largest_code != (is_unsigned ? 255 : 127)) {
    stages.push_back({Kind::kClip, static_cast<float>(quantization.smallest_code),
                      static_cast<float>(type.largest_code)});
  }
  return stages;
}

// The op whose outputs are its inputs' values, if this alone reads them.
const Op* FindMove(const Argument& input) {
  const Value* value = input.value();
  const Op* op = value != nullptr ? value->op() : nullptr;
  if (op == nullptr || value->written_by() == nullptr || value->readers().size() != 1 ||
      value->variable().values().size() != 1 || &op->block() != &input.op().block()) {
    return nullptr;
  }
  const OpSchema* schema = FindOpSchema(op->type());
  const bool moves = schema != nullptr &&
                     (schema->KeepsRange(op->desc()) || op->type() == "concat") &&
                     !op->Inputs("X").empty() && op->Output("Out") == value->written_by();
  return moves ? op : nullptr;
}

// Whether what an input reads can be stored as codes by the products and tables that make it.
bool IsOpen(const Argument& input, const Lowering& lowering) {
  std::vector<const Argument*> rest = {&input};
  while (!rest.empty()) {
    const Argument& next = *rest.back();
    rest.pop_back();
    if (lowering.FindOpenProduct(next) != nullptr) continue;
    if (lowering.FindOpenTable(next) != nullptr) continue;
    const Op* const move = FindMove(next);
    if (move == nullptr) return false;
    const auto moved = move->Inputs("X");
    rest.insert(rest.end(), moved.begin(), moved.end());
  }
  return true;
}

// Declares the codes of what an input reads.
absl::StatusOr<std::string> AddCodes(const Argument& input, VarType::Type dtype,
                                     Rewriter& rewriter) {
  VarDesc desc = *input.variable()->desc();
  desc.set_name(rewriter.FreshName(absl::StrCat(desc.name(), ".quantized")));
  desc.mutable_type()->mutable_lod_tensor()->mutable_tensor()->set_data_type(dtype);
  ASSIGN_OR_RETURN(const Variable* codes,
                   rewriter.AddVariable(input.variable()->block(), std::move(desc)));
  return std::string(codes->name());
}

// Makes an op move the codes `from`, one of each X, to `to`.
void MoveCodes(const Op& move, const std::vector<std::string>& from, const std::string& to,
               VarType::Type dtype, Lowering& lowering) {
  OpDesc moved = move.desc();
  for (OpDesc::Var& slot : *moved.mutable_inputs()) {
    if (slot.parameter() != "X") continue;
    for (int i = 0; i < slot.arguments_size(); ++i) slot.set_arguments(i, from[i]);
  }
  for (const Argument* output : move.outputs()) {
    if (output->slot_name() == "Out") {
      moved.mutable_outputs(output->slot())->set_arguments(0, to);
    } else if (output->variable() != nullptr && output->variable()->desc() != nullptr) {
      lowering.SetElementType(*output->variable(), dtype);
    }
  }
  lowering.NoteMovesCodes(move);
  lowering.rewriter().InsertBefore(move, moved);
  lowering.rewriter().Remove(move);
}

// Makes the products and tables behind an input store codes, and what is between them move codes,
// to `codes`.
absl::Status StoreAsCodes(const Argument& input, const Quantization& quantization,
                          const std::string& codes, Lowering& lowering) {
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
    all[i].move = FindMove(read);
    for (const Argument* x : all[i].move->Inputs("X")) {
      ASSIGN_OR_RETURN(std::string moved,
                       AddCodes(*x, quantization.type.dtype, lowering.rewriter()));
      all[i].from.push_back(moved);
      all.push_back({x, std::move(moved), nullptr, {}});
    }
  }
  // An op goes behind what it reads, which is found by its reading it.
  for (auto stored = all.rbegin(); stored != all.rend(); ++stored) {
    if (stored->move != nullptr) {
      MoveCodes(*stored->move, stored->from, stored->codes, quantization.type.dtype, lowering);
    } else if (const Op* product = lowering.FindOpenProduct(*stored->input); product != nullptr) {
      lowering.StoreCodes(*product, stored->codes, StagesOf(quantization), quantization.type);
    } else {
      RETURN_IF_ERROR(StoreInTable(*lowering.FindOpenTable(*stored->input), stored->codes,
                                   quantization, lowering));
    }
  }
  return absl::OkStatus();
}

// Whether nothing reads the codes but what makes numbers of them.
bool AreDequantizedOnly(const Value& codes) {
  return std::all_of(codes.readers().begin(), codes.readers().end(), [](const Argument* reader) {
    const OpSchema* schema = FindOpSchema(reader->op().type());
    return schema != nullptr && schema->quant_op() == QuantOp::kDequantize;
  });
}

class QuantizeRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "quantize"; }
  absl::string_view doc() const override {
    return "The step to codes ends an epilogue or a table, also behind ops that move values; else "
           "it is an edge.";
  }
  std::vector<std::string> op_types() const override { return {"quantize_linear"}; }

  absl::StatusOr<LoweringReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    const Argument* const y = op.Output("Y");
    if (x == nullptr || y == nullptr || y->variable() == nullptr || y->value() == nullptr ||
        BoolAttr(op.desc(), "only_observer").value_or(false)) {
      return LoweringReason::kAttributes;
    }
    const Variable& codes = *y->variable();
    if (codes.values().size() != 1) return LoweringReason::kRewritten;
    if (!AreDequantizedOnly(*y->value())) return LoweringReason::kCodesAreRead;
    if (codes.desc() == nullptr || !codes.desc()->type().has_lod_tensor()) {
      return LoweringReason::kUnknownShape;
    }
    LoweringReason reason;
    ASSIGN_OR_RETURN(const std::optional<Quantization> quantization,
                     QuantizationOf(op, lowering, &reason));
    if (!quantization) return reason;
    lowering.SetElementType(codes, quantization->type.dtype);
    if (IsOpen(*x, lowering)) {
      RETURN_IF_ERROR(StoreAsCodes(*x, *quantization, codes.name(), lowering));
      lowering.rewriter().Remove(op);
      return LoweringReason::kInEpilogue;
    }
    OpDesc edge = OpBuilder("integer_quantize")
                      .Input("X", x->name())
                      .Output("Out", codes.name())
                      .FloatAttr("multiplier", quantization->multiplier)
                      .IntAttr("smallest_code", quantization->smallest_code)
                      .Build();
    SetCodeType(quantization->type, &edge);
    lowering.Replace(op, std::move(edge));
    return LoweringReason::kAtEdge;
  }

 private:
  static absl::StatusOr<std::optional<Quantization>> QuantizationOf(const Op& op,
                                                                    Lowering& lowering,
                                                                    LoweringReason* reason) {
    *reason = LoweringReason::kGranularity;
    if (IntAttr(op.desc(), "quant_axis").value_or(-1) != -1 || op.Input("Scale") == nullptr) {
      return std::nullopt;
    }
    ASSIGN_OR_RETURN(const Tensor* range, lowering.FindParameter(*op.Input("Scale")));
    if (range == nullptr || range->dtype() != VarType::FP32 || range->size() != 1) {
      return std::nullopt;
    }
    RETURN_IF_ERROR(CheckRanges(op, range->data<float>()));
    *reason = LoweringReason::kZeroPoint;
    if (const Argument* zero_point = op.Input("ZeroPoint"); zero_point != nullptr) {
      ASSIGN_OR_RETURN(const Tensor* zeros, lowering.FindParameter(*zero_point));
      if (zeros == nullptr) return std::nullopt;
      for (const uint8_t byte : zeros->bytes()) {
        if (byte != 0) return std::nullopt;
      }
    }
    *reason = LoweringReason::kTooManyBits;
    const int64_t bits = IntAttr(op.desc(), "bit_length").value_or(8);
    // What signed codes hold is held so, as in training (runtime/executor/ops/quantized.h).
    const bool is_unsigned = bits == 9;
    if (bits < 2 || bits > 9) return std::nullopt;
    if (is_unsigned && !lowering.IsNeverNegative(*op.Input("X"))) return std::nullopt;
    const int32_t largest = LargestCode(static_cast<int>(bits));
    const bool to_even = IntAttr(op.desc(), "round_type").value_or(1) == 0;
    Quantization found;
    found.type.dtype = is_unsigned ? VarType::UINT8 : VarType::INT8;
    found.type.range = range->data<float>()[0];
    found.type.largest_code = largest;
    found.multiplier = static_cast<float>(largest) * InverseRange(found.type.range);
    found.smallest_code = is_unsigned ? 0 : to_even ? -largest - 1 : -largest;
    if (!to_even) lowering.CountRoundingAwayFromZero();
    return found;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeQuantizeRule() { return std::make_unique<QuantizeRule>(); }

}  // namespace fixpoint
