#include "transpiler/lower/lowered_invariants.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "ops/state_codes.h"
#include "ops/value_flow.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "transpiler/lower/portable_codes.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

std::string ZeroPointText(int32_t zero_point) {
  return zero_point == 0 ? "" : absl::StrCat(" from ", zero_point);
}

std::string Text(const CodesWritten& codes) {
  return absl::StrCat(
      VarType::Type_Name(codes.type.dtype), " up to ", codes.type.largest_code,
      ZeroPointText(codes.type.zero_point), " for ", codes.type.range,
      codes.multiplier ? absl::StrCat(" times ", *codes.multiplier) : std::string());
}

std::string Text(const CodesRead& codes) {
  return absl::StrCat(codes.range, " for ", codes.largest_code, ZeroPointText(codes.zero_point));
}

// Attributes of ops on integers, which are the same in both eras; 0 where there is none.
float FloatOf(const Op& op, absl::string_view name) {
  const OpDesc::Attr* const attr = AttrOrDefault(op.desc(), name, Era::kPaddle2);
  const std::optional<double> value = attr != nullptr ? FloatValue(*attr) : std::nullopt;
  return value ? static_cast<float>(*value) : 0;
}

int32_t IntOf(const Op& op, absl::string_view name) {
  const OpDesc::Attr* const attr = AttrOrDefault(op.desc(), name, Era::kPaddle2);
  const std::optional<int64_t> value = attr != nullptr ? IntValue(*attr) : std::nullopt;
  return value ? static_cast<int32_t>(*value) : 0;
}

// Whether it is a product of matrices: its scales may have the factor of a matmul in them.
bool IsOfMatrices(const Op& op) {
  const std::optional<ProductTrait>& product = TraitsOf(op).product;
  return product && product->form == ProductTrait::Form::kMatrices;
}

// What the codes of an op are multiplied with; null if it adds up codes alone.
const Argument* WeightsOf(const Op& op) {
  const OpTraits& traits = TraitsOf(op);
  if (traits.multiplies_elements) return op.Input("Y");
  return traits.product ? op.Input(traits.product->weight) : nullptr;
}

// The codes that an op on integers declares to store; nothing if it stores floats.
std::optional<CodesWritten> StoredBy(const Op& op) {
  if (!IsOnIntegers(op) ||
      FindOpSchema(op.type())->FindAttr("out_dtype", Era::kPaddle2) == nullptr) {
    return std::nullopt;
  }
  const int32_t dtype = IntOf(op, "out_dtype");
  if (dtype == VarType::FP32) return std::nullopt;
  CodesWritten codes{{static_cast<VarType::Type>(dtype), FloatOf(op, "out_range"),
                      IntOf(op, "out_largest_code"), IntOf(op, "out_zero_point")},
                     std::nullopt};
  if (QuantOpOf(op) == QuantOp::kQuantize) codes.multiplier = FloatOf(op, "multiplier");
  if (const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.desc()); epilogue.ok()) {
    for (const EpilogueStage& stage : *epilogue) {
      if (stage.kind == EpilogueStage::Kind::kMultiply) codes.multiplier = stage.a;
    }
  }
  return codes;
}

class Check {
 public:
  Check(const Program& portable, const Program& lowered, const LowerContext& context)
      : portable_(portable),
        lowered_(lowered),
        context_(context),
        portable_codes_(portable, context.parameters) {}

  absl::Status Run() {
    CheckFeedsAndFetches();
    ForEachOp(lowered_, [this](const Op& op) { CheckOp(op); });
    ForEachOp(portable_, [this](const Op& op) { CheckQuantizer(op); });
    CheckAccount();
    if (violations_.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrJoin(violations_, "\n"));
  }

 private:
  template <typename Visit>
  static void ForEachOp(const Program& program, Visit visit) {
    for (const Op& op : program.ops()) visit(op);
  }

  template <typename... Parts>
  void Violated(int invariant, const Parts&... parts) {
    violations_.push_back(
        absl::StrCat("invariant ", invariant, " of lowered programs: ", parts...));
  }

  void CheckFeedsAndFetches() {
    const auto ends = [](const Program& program) {
      std::vector<std::string> messages;
      ForEachOp(program, [&messages](const Op& op) {
        if (IsFeedOrFetch(op)) messages.push_back(op.desc().SerializeAsString());
      });
      return messages;
    };
    if (ends(portable_) != ends(lowered_)) {
      Violated(1, "the ops that feed and fetch are not those of the portable program");
    }
  }

  void CheckOp(const Op& op) {
    if (IsOnIntegers(op)) {
      CheckReads(op);
      CheckStored(op);
    } else if (!ReadsCodes(op) && op.sub_blocks().empty()) {  // blocks read codes that ops list
      CheckMove(op);
    }
    if (QuantOpOf(op) == QuantOp::kDequantize) CheckIsRead(op);
  }

  void CheckStored(const Op& op) {
    const std::optional<CodesWritten> codes = StoredBy(op);
    if (codes && op.outputs().size() == 1) Declare(op, *op.outputs().front(), *codes);
  }

  // Records what is written.
  void Declare(const Op& op, const Argument& output, const CodesWritten& codes) {
    const Variable* const variable = output.variable();
    if (output.value() == nullptr || variable == nullptr) return;
    if (variable->tensor() == nullptr || variable->tensor()->data_type() != codes.type.dtype) {
      Violated(2, Describe(op), " stores ", VarType::Type_Name(codes.type.dtype), " in \"",
               output.name(), "\", which is declared otherwise");
    }
    codes_.emplace(output.value(), codes);
  }

  const CodesWritten* FindCodes(const Argument& input) const {
    const auto found = codes_.find(input.value());
    return found == codes_.end() ? nullptr : &found->second;
  }

  // The codes that an op has written, or that were codes before any quantizer: integer inputs.
  std::optional<CodesWritten> CodesIn(const Argument& input) const {
    if (const CodesWritten* codes = FindCodes(input); codes != nullptr) return *codes;
    const Variable* const variable = input.variable();
    if (variable == nullptr || variable->persistable()) return std::nullopt;
    const Variable* const given =
        portable_.Find(portable_.block(variable->block().index()), input.name());
    const std::optional<CodesRead> read = portable_codes_.FindRead(input);
    if (given == nullptr || given->tensor() == nullptr || !read) return std::nullopt;
    const VarType::Type dtype = given->tensor()->data_type();
    if (!IsCodeDtype(dtype)) return std::nullopt;
    return CodesWritten{{dtype, read->range, read->largest_code, read->zero_point}, std::nullopt};
  }

  void CheckMove(const Op& op) {
    std::vector<const Argument*> inputs = MovedInputs(op);
    const auto moved = inputs.empty() ? std::nullopt : CodesIn(*inputs.front());
    if (!MovesValues(op, EraOf(lowered_), moved ? moved->type.zero_point : 0)) inputs.clear();
    for (const Argument* input : op.inputs()) {
      const bool is_moved = std::find(inputs.begin(), inputs.end(), input) != inputs.end();
      if (!is_moved && FindCodes(*input) != nullptr) {
        Violated(4, Describe(op), " reads the codes \"", input->name(), "\" as numbers");
        return;
      }
    }
    const bool all_alike = std::all_of(inputs.begin(), inputs.end(), [&](const Argument* input) {
      const std::optional<CodesWritten> codes = CodesIn(*input);
      return codes.has_value() == moved.has_value() && (!codes || codes->type == moved->type);
    });
    if (!all_alike) Violated(2, Describe(op), " moves codes of more than one kind");
    if (inputs.empty() || !moved) return;
    for (const Argument* out : MovedOutputs(op)) Declare(op, *out, *moved);
  }

  void CheckReads(const Op& op) {
    if (QuantOpOf(op) == QuantOp::kQuantize) return;
    if (TraitsOf(op).looks_up_rows) return CheckRows(op);
    if (op.FindAttr(kStateBitsAttr) != nullptr) return CheckStates(op);
    const bool is_sum = op.type() == "integer_add";
    const std::optional<ProductTrait>& product = TraitsOf(op).product;
    const Argument* const input = op.Input(product ? product->activation : is_sum ? "Y" : "X");
    if (input == nullptr || !CodesIn(*input)) {
      Violated(4, Describe(op), " has no codes to read");
      return;
    }
    if (TraitsOf(op).multiplies_elements && !CodesIn(*WeightsOf(op))) {
      Violated(4, Describe(op), " has no codes to multiply with");
    }
    CheckAddedCodes(op);
    const std::optional<CodesRead> expected = portable_codes_.FindRead(*input);
    if (!expected) return;
    if (is_sum || QuantOpOf(op) == QuantOp::kDequantize) {
      const CodesRead read{FloatOf(op, "range"), IntOf(op, "largest_code"),
                           IntOf(op, "zero_point")};
      if (read == *expected) return;
      Violated(4, Describe(op), " reads \"", input->name(), "\" as ", Text(read), "; want ",
               Text(*expected));
    } else if (op.Input("Scales") != nullptr) {
      CheckScales(op, *expected);
    }
  }

  // The codes that a stage of an epilogue adds.
  void CheckAddedCodes(const Op& op) {
    const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.desc());
    const absl::Span<const Argument* const> operands = op.Inputs("Operands");
    size_t index = 0;
    for (const EpilogueStage& stage : epilogue.ok() ? *epilogue : Epilogue()) {
      if (!stage.has_operand() || index == operands.size()) continue;
      const Argument& operand = *operands[index++];
      if (!stage.is_of_codes()) continue;
      const VarType::Type dtype = CodeDtype(stage.is_of_unsigned_codes());
      const std::optional<CodesWritten> codes = CodesIn(operand);
      if (!codes || codes->type.dtype != dtype) {
        Violated(4, Describe(op), " adds \"", operand.name(), "\" as ", VarType::Type_Name(dtype),
                 ", which they are not");
      }
      const std::optional<CodesRead> expected = portable_codes_.FindRead(operand);
      const auto zero_point = static_cast<int32_t>(stage.b);
      if (!expected || (stage.a == expected->step() && zero_point == expected->zero_point))
        continue;
      Violated(4, Describe(op), " adds \"", operand.name(), "\" by steps of ", stage.a,
               ZeroPointText(zero_point), "; want ", expected->step(),
               ZeroPointText(expected->zero_point));
    }
  }

  // The codes that are looked up.
  void CheckRows(const Op& op) {
    CheckZeroPoints(op, *op.Input("W"));
    const Tensor* const scales = FindScales(op);
    if (scales == nullptr) return;
    const absl::Span<const float> values = scales->data<float>();
    for (size_t row = 0; row < values.size(); ++row) {
      const float step = StepOf(values[row], IntOf(op, "largest_code"));
      const std::optional<float> expected = portable_codes_.FindStep(*op.Input("W"), row);
      if (!expected || *expected == step) continue;
      Violated(4, Describe(op), " reads row ", row, " by steps of ", step, "; want ", *expected);
      return;
    }
  }

  // The codes of a recurrent layer: of its weights, of its state and, in an rnn, of its input.
  void CheckStates(const Op& op) {
    const Argument* const input = op.Input("Input");
    const bool multiplies_input = op.Input("WeightList") != nullptr;
    std::optional<CodesRead> read;
    if (multiplies_input) {
      if (!CodesIn(*input)) Violated(4, Describe(op), " has no codes to read");
      read = portable_codes_.FindRead(*input);
      if (read && IntOf(op, "input_zero_point") != read->zero_point) {
        Violated(4, Describe(op), " has the zero point ", IntOf(op, "input_zero_point"), "; want ",
                 read->zero_point);
      }
    }
    const float step = StepOf(kStateRange, LargestCode(IntOf(op, kStateBitsAttr)));
    const size_t directions = BoolAttr(op.desc(), "is_bidirec").value_or(false) ? 2 : 1;
    const auto scales = op.Inputs("Scales");
    const auto weights = op.Inputs(multiplies_input ? "WeightList" : "Weight");
    for (size_t i = 0; i < std::min(scales.size(), weights.size()); ++i) {
      const bool is_of_input = multiplies_input && i % 2 == 0 && i < 2 * directions;
      if (is_of_input && !read) continue;
      CheckScalesOfMatrix(op, *scales[i], *weights[i], is_of_input ? read->step() : step);
    }
  }

  void CheckScalesOfMatrix(const Op& op, const Argument& argument, const Argument& weights,
                           float step) {
    const Tensor* const scales = FindNumbers(context_.parameters, argument.name());
    if (scales == nullptr) {
      Violated(5, Describe(op), " has no scales");
      return;
    }
    const absl::Span<const float> values = scales->data<float>();
    for (size_t c = 0; c < values.size(); ++c) {
      const std::optional<float> of_weights = portable_codes_.FindStep(weights, c);
      if (!of_weights || step * *of_weights == values[c]) continue;
      Violated(4, Describe(op), " has the scale ", values[c], " in channel ", c, " of \"",
               weights.name(), "\"; want ", step * *of_weights);
      return;
    }
  }

  // The zero points of a parameter's channels.
  void CheckZeroPoints(const Op& op, const Argument& parameter) {
    const Argument* const offsets = op.Input("Offsets");
    const std::string name(offsets == nullptr ? "" : offsets->name());
    const std::optional<std::string> expected = portable_codes_.FindZeroPoints(parameter);
    if (!expected || name == *expected) return;
    Violated(4, Describe(op), " has the zero points \"", name, "\"; want \"", *expected, "\"");
  }

  // The one zero point of a product's weights, or of its second factor.
  void CheckZeroPointOfWeights(const Op& op) {
    const Argument* const weights = WeightsOf(op);
    if (weights == nullptr || op.Input("Offsets") != nullptr) return;
    const std::optional<CodesRead> expected = portable_codes_.FindRead(*weights);
    const int32_t zero_point = IntOf(op, "weight_zero_point");
    if (!expected || zero_point == expected->zero_point) return;
    Violated(4, Describe(op), " has weights with the zero point ", zero_point, "; want ",
             expected->zero_point);
  }

  // The op's scales, finite, and not negative except by the factor of a matmul; null if there are
  // none.
  const Tensor* FindScales(const Op& op) {
    const Tensor* const scales = FindNumbers(context_.parameters, op.Input("Scales")->name());
    if (scales == nullptr) {
      Violated(5, Describe(op), " has no scales");
      return nullptr;
    }
    const absl::Span<const float> values = scales->data<float>();
    const bool has_factor = IsOfMatrices(op);
    if (!std::all_of(values.begin(), values.end(), [has_factor](float scale) {
          return std::isfinite(scale) && (scale >= 0 || has_factor);
        })) {
      Violated(5, Describe(op), " has a scale that is negative, or no finite number");
    }
    return scales;
  }

  // The scales of the sums of codes.
  void CheckScales(const Op& op, const CodesRead& read) {
    if (const int32_t zero_point = IntOf(op, "input_zero_point"); zero_point != read.zero_point) {
      Violated(4, Describe(op), " has the zero point ", zero_point, "; want ", read.zero_point);
    }
    if (op.Input("Y") != nullptr) CheckZeroPoints(op, *op.Input("Y"));
    CheckZeroPointOfWeights(op);
    const Tensor* const scales = FindScales(op);
    if (scales == nullptr) return;
    const absl::Span<const float> values = scales->data<float>();
    // What requantizes sums reads them as integers.
    const bool requantizes = Requantizes(op);
    for (size_t c = 0; c < values.size(); ++c) {
      const std::optional<float> step = StepOfSums(op, read, c);
      if (!step) continue;
      const float wanted = requantizes ? 1 : *step;
      if (wanted == values[c]) continue;
      Violated(4, Describe(op), " has the scale ", values[c], " in channel ", c, "; want ", wanted);
      return;
    }
    CheckBias(op, [&](size_t channel) {
      return requantizes ? StepOfSums(op, read, channel)
                         : std::optional(values[values.size() == 1 ? 0 : channel]);
    });
  }

  static bool Requantizes(const Op& op) {
    const absl::StatusOr<Epilogue> stages = EpilogueOf(op.desc());
    return stages.ok() && std::any_of(stages->begin(), stages->end(), [](const auto& stage) {
             return stage.kind == EpilogueStage::Kind::kRequantize;
           });
  }

  // Checks that sums have the steps of a bias that is added to them, if the portable program reads
  // that bias as floats.
  template <typename StepOf>
  void CheckBias(const Op& op, const StepOf& step_of_sums) {
    const Argument* const bias = op.Input("Bias");
    if (bias == nullptr) return;
    const VarType::TensorDesc* const tensor = bias->variable()->tensor();
    for (int64_t c = 0; tensor != nullptr && c < tensor->dims(0); ++c) {
      const std::optional<float> step = portable_codes_.FindBiasStep(*bias, c);
      const std::optional<float> wanted = step_of_sums(static_cast<size_t>(c));
      if (!step || !wanted || *step == *wanted) continue;
      Violated(4, Describe(op), " adds a bias in steps of ", *step, " in channel ", c, "; want ",
               *wanted);
      return;
    }
  }

  // The factor of a channel's sums; nothing if the portable op may have more in it: the factor of a
  // matmul, or the codes of another activation.
  std::optional<float> StepOfSums(const Op& op, const CodesRead& read, size_t channel) const {
    if (op.type() == "integer_average_pool2d") return read.step();
    const Argument* const weights = WeightsOf(op);
    if (weights == nullptr || IsOfMatrices(op)) return std::nullopt;
    const std::optional<float> step = portable_codes_.FindStep(*weights, channel);
    if (!step) return std::nullopt;
    return read.step() * *step;
  }

  // Checks, for an op of the portable program, that the lowered one has the same codes.
  void CheckQuantizer(const Op& op) {
    const std::optional<CodeOp> read = ReadCodeOp(op, EraOf(portable_));
    if (!read || read->kind != QuantOp::kQuantize) return;
    const Argument* const y = read->output;
    const Variable* const variable = lowered_.Find(lowered_.block(op.block().index()), y->name());
    if (variable == nullptr || variable->values().size() != 1) return;
    const auto written = codes_.find(variable->values().front());
    if (written == codes_.end()) return;
    const CodesWritten& codes = written->second;
    const std::optional<CodesWritten> expected = portable_codes_.FindWritten(op, codes.type.dtype);
    if (!expected) return;
    const bool has_multiplier = !codes.multiplier || codes.multiplier == expected->multiplier;
    if (codes.type == expected->type && has_multiplier) return;
    Violated(3, "\"", y->name(), "\" is ", Text(codes), "; want ", Text(*expected));
  }

  void CheckIsRead(const Op& op) {
    if (op.outputs().empty() || !IsUnread(op)) return;
    Violated(6, Describe(op), " writes \"", op.outputs().front()->name(),
             "\", which nothing reads");
  }

  void CheckAccount() {
    const std::vector<LoweredOp>& account = context_.lowered;
    size_t next = 0;
    ForEachOp(portable_, [this, &account, &next](const Op& op) {
      if (IsFeedOrFetch(op)) return;
      const bool is_next = next < account.size() && account[next].block == op.block().index() &&
                           account[next].op == op.Index() && account[next].type == op.type();
      if (is_next) {
        ++next;
      } else {
        Violated(7, "the account lacks ", Describe(op));
      }
    });
    if (next < account.size()) {
      Violated(7, "the account has ", account.size() - next, " ops too many, from ",
               account[next].type, " on");
    }
  }

  const Program& portable_;
  const Program& lowered_;
  const LowerContext& context_;
  const PortableCodes portable_codes_;
  absl::flat_hash_map<const Value*, CodesWritten> codes_;
  std::vector<std::string> violations_;
};

}  // namespace

absl::Status CheckLoweredProgram(const Program& portable, const Program& lowered,
                                 const LowerContext& context) {
  return Check(portable, lowered, context).Run();
}

}  // namespace fixpoint
