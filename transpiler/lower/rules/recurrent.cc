// An op with a hidden state that it rounds to codes multiplies these by the codes of its weights:
//
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=1}
//   lstm(Bias=b, Input=x, Weight=w) -> (Cell=c, Hidden=h) {state_bits=8}
//
//   integer_lstm(Bias=b, Input=x, Scales=h.scales, Weight=w.int8) -> (Cell=c, Hidden=h)
//     {state_bits=8}
//
// A scale is the step of the state, or of the input, times that of the column's weights. The input
// of an rnn, which the op multiplies itself, is codes too.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/codes/integer_reasons.h"
#include "ops/quant_math.h"
#include "ops/recurrent_state.h"
#include "ops/sums_of_codes.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

// A matrix of weights: what multiplies it, and where its columns are.
struct Matrix {
  const Argument* weights;
  int column_axis;  // -1: its numbers are no matrix
  int64_t columns;
  float step;
};

// The codes of a matrix and the scales of its columns, or why there are none.
struct LoweredMatrix {
  IntegerReason reason = IntegerReason::kOnIntegers;
  std::string codes;
  std::vector<float> scales;
};

absl::StatusOr<LoweredMatrix> LowerMatrix(const Matrix& matrix, Lowering& lowering) {
  LoweredMatrix lowered;
  ASSIGN_OR_RETURN(const std::optional<ParameterCodes> codes,
                   lowering.FindParameterCodes(*matrix.weights, &lowered.reason));
  if (!codes) return lowered;
  lowered.reason = codes->is_wide ? IntegerReason::kTooManyBits : IntegerReason::kOnIntegers;
  if (codes->channel_axis != -1 && codes->channel_axis != matrix.column_axis) {
    lowered.reason = IntegerReason::kGranularity;
  }
  if (lowered.reason != IntegerReason::kOnIntegers) return lowered;
  lowered.codes = std::string(codes->codes->name());
  for (int64_t c = 0; c < matrix.columns; ++c) {
    lowered.scales.push_back(matrix.step *
                             codes->step(c % static_cast<int64_t>(codes->ranges.size())));
  }
  return lowered;
}

// The declared extent of a weight along an axis; 0: it is not known.
int64_t ExtentOf(const Argument& argument, int axis) {
  const VarType::TensorDesc* const tensor =
      argument.variable() != nullptr ? argument.variable()->tensor() : nullptr;
  return tensor != nullptr && tensor->dims_size() == 2 ? tensor->dims(axis) : 0;
}

// Whether nothing reads an output that the op on integers does not have.
bool HasNoOtherReaders(const Op& op, std::initializer_list<absl::string_view> kept) {
  for (const Argument* output : op.outputs()) {
    if (std::find(kept.begin(), kept.end(), output->slot_name()) != kept.end()) continue;
    if (output->value() != nullptr && !output->value()->readers().empty()) return false;
  }
  return true;
}

void Copy(const Op& op, std::initializer_list<const char*> inputs,
          std::initializer_list<const char*> outputs, OpBuilder& integers) {
  for (const char* slot : inputs) {
    for (const Argument* argument : op.Inputs(slot)) integers.Input(slot, argument->name());
  }
  for (const char* slot : outputs) {
    for (const Argument* argument : op.Outputs(slot)) integers.Output(slot, argument->name());
  }
}

class RecurrentRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "recurrent"; }
  absl::string_view doc() const override {
    return "A recurrent layer multiplies the codes of its state, and of its input, by those of its "
           "weights.";
  }
  std::vector<std::string> op_types() const override { return {"gru", "lstm", "rnn"}; }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const OpAttributes attributes = lowering.AttributesOf(op);
    const absl::StatusOr<int> bits = StateBitsOf(attributes);
    if (!bits.ok()) return IntegerReason::kAttributes;
    if (*bits == 0) return IntegerReason::kNotQuantized;
    return op.type() == "rnn" ? LowerRnn(op, attributes, *bits, lowering)
                              : LowerGated(op, attributes, *bits, lowering);
  }

 private:
  static absl::StatusOr<IntegerReason> LowerGated(const Op& op, const OpAttributes& attributes,
                                                  int bits, Lowering& lowering) {
    const Argument* const weight = op.Input("Weight");
    if (weight == nullptr || !HasNoOtherReaders(op, {"Hidden", "Cell"})) {
      return IntegerReason::kAttributes;
    }
    const int64_t width = ExtentOf(*weight, 0);
    const int64_t columns = ExtentOf(*weight, 1);
    if (width < 1 || columns < 1) return IntegerReason::kUnknownShape;
    if (!StateSumsFit(bits, width)) return IntegerReason::kSumsTooLarge;
    const Matrix matrix = {weight, op.type() == "lstm" ? 1 : -1, columns,
                           StepOf(kStateRange, LargestCode(bits))};
    ASSIGN_OR_RETURN(LoweredMatrix lowered, LowerMatrix(matrix, lowering));
    if (lowered.reason != IntegerReason::kOnIntegers) return lowered.reason;
    const std::string type = absl::StrCat("integer_", op.type());
    OpBuilder integers(type);
    Copy(op, {"Input", "H0", "C0", "Bias"}, {"Hidden", "Cell"}, integers);
    ASSIGN_OR_RETURN(const std::string scales, AddScales(op, std::move(lowered.scales), lowering));
    integers.Input("Weight", lowered.codes).Input("Scales", scales);
    for (const OpDesc::Attr& attribute : AttributesFor(
             type, attributes,
             op.type() == "lstm"
                 ? std::initializer_list<const char*>{"use_peepholes", "is_reverse",
                                                      "gate_activation", "cell_activation",
                                                      "candidate_activation", kStateBitsAttr}
                 : std::initializer_list<const char*>{"activation", "gate_activation", "is_reverse",
                                                      "origin_mode", kStateBitsAttr})) {
      integers.Attr(attribute);
    }
    lowering.Replace(op, integers.Build());
    return IntegerReason::kOnIntegers;
  }

  static absl::StatusOr<IntegerReason> LowerRnn(const Op& op, const OpAttributes& attributes,
                                                int bits, Lowering& lowering) {
    const Argument* const input = op.Input("Input");
    const auto weights = op.Inputs("WeightList");
    const int64_t directions = attributes.Bool("is_bidirec") ? 2 : 1;
    const int64_t layers = attributes.Int("num_layers");
    const bool drops = attributes.Float("dropout_prob") != 0 && !attributes.Bool("is_test");
    if (input == nullptr || layers < 1 || drops ||
        static_cast<int64_t>(weights.size()) != 4 * layers * directions ||
        !HasNoOtherReaders(op, {"Out", "State"})) {
      return IntegerReason::kAttributes;
    }
    const std::optional<ActivationCodes> activation = lowering.FindCodes(*input);
    if (!activation) return IntegerReason::kNotQuantized;
    OpBuilder integers("integer_rnn");
    integers.Input("Input", activation->codes->name());
    Copy(op, {"PreState", "SequenceLength"}, {"Out", "State"}, integers);
    std::vector<LoweredMatrix> matrices;
    for (int64_t i = 0; i < 2 * layers * directions; ++i) {
      const bool is_of_input = i % 2 == 0 && i < 2 * directions;
      const int64_t inner = ExtentOf(*weights[i], 1);
      const int64_t columns = ExtentOf(*weights[i], 0);
      if (inner < 1 || columns < 1) return IntegerReason::kUnknownShape;
      SumOfProducts sum;
      sum.products = inner;
      sum.is_unsigned = activation->is_unsigned;
      sum.has_zero_point = activation->zero_point.has_value();
      if (is_of_input ? !SumsFit(sum) : !StateSumsFit(bits, inner)) {
        return IntegerReason::kSumsTooLarge;
      }
      const float step = is_of_input ? activation->step() : StepOf(kStateRange, LargestCode(bits));
      ASSIGN_OR_RETURN(LoweredMatrix lowered,
                       LowerMatrix({weights[i], /*column_axis=*/0, columns, step}, lowering));
      if (lowered.reason != IntegerReason::kOnIntegers) return lowered.reason;
      matrices.push_back(std::move(lowered));
    }
    for (LoweredMatrix& matrix : matrices) {
      ASSIGN_OR_RETURN(const std::string scales, AddScales(op, std::move(matrix.scales), lowering));
      integers.Input("WeightList", matrix.codes).Input("Scales", scales);
    }
    for (size_t i = matrices.size(); i < weights.size(); ++i) {
      integers.Input("WeightList", weights[i]->name());
    }
    for (const OpDesc::Attr& attribute : AttributesFor(
             "integer_rnn", attributes,
             {"is_bidirec", "input_size", "hidden_size", "num_layers", "mode", kStateBitsAttr})) {
      integers.Attr(attribute);
    }
    activation->AddZeroPoint(integers);
    lowering.Replace(op, integers.Build());
    return IntegerReason::kOnIntegers;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeRecurrentRule() { return std::make_unique<RecurrentRule>(); }

}  // namespace fixpoint
