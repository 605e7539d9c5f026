// quantize_biases: a bias that training rounded to steps of the sums that it is added to becomes
// codes in a parameter of its own, beside the float one, which is removed if nothing else reads it:
//
//   fake_quantize_dequantize_bias(InputScale=s, WeightScale=w.int8.scale, X=b) -> (Out=d)
//     {input_largest_code=255, weight_largest_code=127}
//
//   fake_dequantize_bias(InputScale=s, WeightScale=w.int8.scale, X=b.int32) -> (Out=d)
//     {input_largest_code=255, weight_largest_code=127}
//
// The parameter is b.int16 where the op says bit_length=16.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/code_ops.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

class BiasQuantizer {
 public:
  BiasQuantizer(Program* program, FreezeContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        pass_(pass),
        rewriter_(program, pass),
        parameters_(*program, &context->parameters, &rewriter_) {}

  absl::Status QuantizeAll() {
    for (const Op& op : program_.ops()) {
      if (op.type() == kQuantizeBias) RETURN_IF_ERROR(Quantize(op));
    }
    if (clipped_ > 0) {
      context_.notes.push_back(
          absl::StrCat("elements of biases that are more steps of their sums than their integers "
                       "hold, so that they are clipped, as in training: ",
                       clipped_, " of ", quantized_, ", the first is in ", first_clipped_));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Quantize(const Op& op) {
    if (context_.form != FrozenForm::kPortable) {
      return absl::UnimplementedError(absl::StrCat(
          DescribeInFile(op),
          ": rounds a bias to integers, which the legacy forms have no op for; want the portable "
          "form"));
    }
    const std::optional<BiasCodeOp> read = ReadBiasCodeOp(op, EraOf(program_));
    if (!read) {
      return absl::InvalidArgumentError(absl::StrCat(
          DescribeInFile(op),
          ": wants X, InputScale, WeightScale and Out, one variable each, and input_largest_code "
          "and weight_largest_code, an INT each; without WeightScale the latter is 1"));
    }
    const std::string x(read->input->name());
    ASSIGN_OR_RETURN(const std::vector<float> bias, NumbersOf(*read->input));
    ASSIGN_OR_RETURN(const std::vector<float> input_range, RangesOf(*read->input_range));
    std::vector<float> ranges = {1};
    if (read->weight_ranges != nullptr) {
      ASSIGN_OR_RETURN(ranges, RangesOf(*read->weight_ranges));
    }
    if (bias.size() % ranges.size() != 0 || input_range.size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          DescribeInFile(op), ": \"", x, "\" has ", bias.size(), " elements, and there are ",
          input_range.size(), " and ", ranges.size(),
          " ranges; want one of the input, and of the weight one or one for each channel"));
    }
    std::vector<int32_t> codes;
    for (size_t c = 0; c < bias.size(); ++c) {
      const float step = read->Step(input_range[0], ranges[c % ranges.size()]);
      codes.push_back(BiasCode(bias[c], step, read->bits));
      const bool is_clipped = UnclampedBiasCode(bias[c], step) != static_cast<float>(codes.back());
      if (is_clipped && clipped_++ == 0) first_clipped_ = x;
    }
    quantized_ += bias.size();
    ASSIGN_OR_RETURN(const std::string parameter,
                     read->bits == 16 ? AddCodes<int16_t>(x, codes) : AddCodes<int32_t>(x, codes));
    OpBuilder dequantize(kDequantizeBias);
    dequantize.Input("InputScale", read->input_range->name());
    if (read->weight_ranges != nullptr) {
      dequantize.Input("WeightScale", read->weight_ranges->name());
    }
    dequantize.Input("X", parameter)
        .Output("Out", read->output->name())
        .IntAttr("input_largest_code", read->input_largest_code)
        .IntAttr("weight_largest_code", read->weight_largest_code);
    rewriter_.InsertBefore(op, InPlaceOf(op, pass_, dequantize.Build()));
    rewriter_.Remove(op);
    return absl::OkStatus();
  }

  // Adds codes as integers T, and returns the name.
  template <typename T>
  absl::StatusOr<std::string> AddCodes(const std::string& bias, const std::vector<int32_t>& codes) {
    const std::vector<T> values(codes.begin(), codes.end());
    return parameters_.Add(
        absl::StrCat(bias, ".int", 8 * sizeof(T)),
        Tensor::FromValues<T>({static_cast<int64_t>(values.size())}, absl::MakeConstSpan(values)));
  }

  // The values of a parameter: FP32, finite.
  absl::StatusOr<std::vector<float>> NumbersOf(const Argument& input) const {
    const auto wrong = [&](absl::StatusCode code, const auto&... parts) {
      return absl::Status(
          code, absl::StrCat(DescribeInFile(input.op()), ": ", std::string(input.slot_name()),
                             " \"", std::string(input.name()), "\" ", parts...));
    };
    const Variable* const variable = input.variable();
    if (variable == nullptr || !variable->persistable() ||
        input.value()->origin() != Value::Origin::kEntry) {
      return wrong(absl::StatusCode::kFailedPrecondition,
                   "is computed when the program runs; want a parameter");
    }
    const Scope::Value* value = context_.parameters.FindOrNull(variable->name());
    const Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (tensor == nullptr) return wrong(absl::StatusCode::kNotFound, "is not in the parameters");
    if (tensor->dtype() != VarType::FP32 || tensor->size() == 0) {
      return wrong(absl::StatusCode::kInvalidArgument, "is ", VarType::Type_Name(tensor->dtype()),
                   " ", DimsText(tensor->dims()), "; want FP32, and at least one");
    }
    const absl::Span<const float> numbers = tensor->data<float>();
    if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); })) {
      return wrong(absl::StatusCode::kInvalidArgument, "holds NaN or infinity");
    }
    return std::vector<float>(numbers.begin(), numbers.end());
  }

  absl::StatusOr<std::vector<float>> RangesOf(const Argument& input) const {
    const Value* const value = input.value();
    if (value != nullptr && value->origin() == Value::Origin::kWrite) {
      if (FindsItsRange(*value->op(), context_.quantizers)) {
        return absl::FailedPreconditionError(absl::StrCat(
            DescribeInFile(input.op()), ": rounds a bias to steps of a range, \"",
            std::string(input.name()),
            "\", that is found anew at every run, so that it has no codes to store; want one that "
            "training left"));
      }
      // In test mode other quantizers pass on what they read.
      ASSIGN_OR_RETURN(const StoredScale stored,
                       FindStoredScale(input, context_.parameters, context_.quantizers));
      return std::vector<float>{stored.value};
    }
    return NumbersOf(input);
  }

  Program& program_;
  FreezeContext& context_;
  const absl::string_view pass_;
  Rewriter rewriter_;
  ParameterWriter parameters_;
  size_t quantized_ = 0;
  size_t clipped_ = 0;
  std::string first_clipped_;
};

class QuantizeBiases final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "quantize_biases"; }
  absl::string_view doc() const override {
    return "Stores as integers the trained biases that are added to sums of codes.";
  }
  std::vector<std::string> Requires() const override {
    return {"scales_frozen", "weights_quantized", "trained_parameters"};
  }
  std::vector<std::string> Establishes() const override { return {"biases_quantized"}; }
  // Ops that computed the biases may be left over.
  std::vector<std::string> Consumes() const override { return {"pruned"}; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return BiasQuantizer(&program, &context, name()).QuantizeAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeQuantizeBiases() { return std::make_unique<QuantizeBiases>(); }

}  // namespace fixpoint
