// quantize_weights: trained weights become codes in a parameter of their own, beside the float one,
// which is removed if nothing else reads it. For a separate quantizer, and likewise for a fused
// one:
//
//   fake_channel_wise_quantize_abs_max(X=w) -> (Out=q, OutScale=s) {quant_axis=0}
//   fake_channel_wise_dequantize_max_abs(Scales=s, X=q) -> (Out=d) {quant_axis=0, quant_bits=[8]}
//
//   dequantize_linear(Scale=w.int8.scale, X=w.int8, ZeroPoint=w.int8.scale.zero_point) -> (Y=d)
//
// The legacy forms have the reference's older dequantize ops instead, and codes as FP32 values,
// `w.codes`, the only type that those take. In the portable form, codes of 9 to 16 bits are INT16
// and pass through a cast, because the reference's dequantize_linear does not take them. A dynamic
// quantizer's scale is that of the weight as it is now, whatever the last training step found. A
// weight that is cast to FP32 first has the codes of the cast's result, and is removed with it.
//
// Codes with a step and a zero point, for each row or for all, keep the dequantize op of their
// quantizer, which reads both as parameters:
//
//   fake_row_wise_dequantize(Scale=w.int8.scale, X=w.int8, ZeroPoint=w.int8.zero_point) -> (Out=d)

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/freeze/site_codes.h"
#include "transpiler/freeze/weight_codes.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

// The casts, and products with folded factors, that a weight passes through, the last one first.
std::vector<const Op*> CastsBefore(const Value& weight) {
  std::vector<const Op*> casts;
  const Value* at = &weight;
  while (at->origin() == Value::Origin::kWrite) {
    casts.push_back(at->op());
    at = at->op()->Input("X")->value();
  }
  return casts;
}

// Where the values of a weight come from.
struct WeightSource {
  const Variable* parameter = nullptr;
  bool is_cast = false;  // to FP32, which the parameter need not be
};

// Nothing if a cast on the way has a result other than FP32, or another op is on the way.
std::optional<WeightSource> SourceOf(const Value& weight, Era era) {
  WeightSource source;
  const Value* at = &weight;
  for (const Op* cast : CastsBefore(weight)) {
    const std::optional<OpAttributes> attributes = OpAttributes::Of(cast->desc(), era);
    if (cast->type() != "cast" || !attributes || attributes->Int("out_dtype") != VarType::FP32)
      return std::nullopt;
    source.is_cast = true;
    at = cast->Input("X")->value();
  }
  source.parameter = &at->variable();
  return source;
}

class WeightQuantizer {
 public:
  WeightQuantizer(Program* program, FreezeContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        pass_(pass),
        rewriter_(program, pass),
        parameters_(*program, &context->parameters, &rewriter_) {}

  absl::Status QuantizeAll() {
    ASSIGN_OR_RETURN(const std::vector<QuantizationSite> sites,
                     FindQuantizationSites(program_, context_.quantizers));
    named_ = NamesInAllAttributes(program_);
    Parameters weights;
    std::vector<const QuantizationSite*> weight_sites;
    for (const QuantizationSite& site : sites) {
      if (weights.IsWeight(*site.input->value())) weight_sites.push_back(&site);
    }
    for (const QuantizationSite* site : weight_sites) RETURN_IF_ERROR(Quantize(*site));
    RETURN_IF_ERROR(CheckReads(program_));
    UpdateCaptures(program_, &rewriter_);
    if (outdated_ > 0) {
      context_.notes.push_back(absl::StrCat(
          "weights whose stored scale is not that of their values, from which it is now computed: ",
          outdated_));
    }
    return absl::OkStatus();
  }

 private:
  // The codes of a weight depend on this alone.
  using Key = std::tuple<std::string, std::string, int, int, int, int, std::vector<float>>;
  struct Written {
    std::string codes;
    std::string scales;
    std::string zero_points;  // "": there are none
  };

  absl::Status Quantize(const QuantizationSite& site) {
    ASSIGN_OR_RETURN(const Written* written, Write(site));
    RETURN_IF_ERROR(rewriter_.RedirectReads(ScalesOfSums(site),
                                            *program_.Find(program_.block(0), written->scales)));
    if (site.fused) {
      RETURN_IF_ERROR(WriteDequantize(site, *written, *site.result));
    }
    for (const Op* op : site.dequantize) {
      RETURN_IF_ERROR(WriteDequantize(site, *written, *op->outputs().front()));
    }
    const std::vector<const Op*> casts = CastsBefore(*site.input->value());
    for (const Op* op : site.ops()) rewriter_.Remove(*op);
    for (const Op* cast : casts) {
      if (IsUsed(*cast)) break;
      rewriter_.Remove(*cast);
    }
    return absl::OkStatus();
  }

  bool IsUsed(const Op& op) const {
    const auto outputs = op.outputs();
    return std::any_of(outputs.begin(), outputs.end(), [this](const Argument* output) {
      return output->value() != nullptr &&
             (!IsUnread(*output->value()) || named_.contains(output->name()));
    });
  }

  // The quantizer that finds the scale anew, with its parameters; "" if the scale is stored.
  static std::string DynamicQuantizer(const QuantizationSite& site) {
    if (!site.is_dynamic || site.quantizer == nullptr) return "";
    return absl::StrCat(site.quantizer->name(), " ", site.parameters.ShortDebugString());
  }

  absl::StatusOr<const Written*> Write(const QuantizationSite& site) {
    const std::optional<WeightSource> source = SourceOf(*site.input->value(), EraOf(program_));
    if (!source.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat(DescribeInFile(*site.quantize), ": quantizes \"", site.input->name(),
                       "\", a parameter after a cast to another type than FP32; want the "
                       "parameter itself, or casts to FP32 alone"));
    }
    const Variable* weight = source->parameter;
    if (site.is_affine && context_.form != FrozenForm::kPortable) {
      return absl::UnimplementedError(
          absl::StrCat(DescribeInFile(*site.quantize), ": quantizes the weight \"", weight->name(),
                       "\" with a zero point; want a symmetric quantizer for weights, or the "
                       "portable form"));
    }
    ASSIGN_OR_RETURN(
        const WeightCodesOptions options,
        CodesOptionsOf(site, context_.parameters, context_.quantizers, EraOf(program_)));
    std::vector<float> stored = options.scales;
    if (options.affine) stored = {options.affine->step, options.affine->zero_point};
    const auto [it, is_new] = written_.try_emplace(
        Key(weight->name(), DynamicQuantizer(site), site.codes.smallest, site.codes.largest,
            site.codes.rounding, options.axis, std::move(stored)));
    if (is_new) {
      ASSIGN_OR_RETURN(it->second, WriteCodes(site, *source, options));
    }
    return &it->second;
  }

  absl::StatusOr<Written> WriteCodes(const QuantizationSite& site, const WeightSource& source,
                                     const WeightCodesOptions& options) {
    const Variable& weight = *source.parameter;
    const Scope::Value* value = context_.parameters.FindOrNull(weight.name());
    const Tensor* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (tensor == nullptr) {
      return absl::NotFoundError(absl::StrCat(DescribeInFile(*site.quantize),
                                              ": the parameters have no weight \"", weight.name(),
                                              "\""));
    }
    RETURN_IF_ERROR(CheckDims(*site.quantize, weight, *tensor));
    absl::StatusOr<WeightCodes> made = source.is_cast ? MakeCodesOfCast(site, *tensor, options)
                                                      : MakeSiteCodes(site, *tensor, options);
    if (!made.ok()) {
      return absl::Status(made.status().code(),
                          absl::StrCat(DescribeInFile(*site.quantize), ": the weight \"",
                                       weight.name(), "\" ", std::string(made.status().message())));
    }
    if (site.is_dynamic) CountOutdated(site, made->scales);
    ++context_.quantized_weights.count;
    context_.quantized_weights.float_bytes += tensor->bytes().size();
    std::string name = NameOfCodes(weight.name(), made->codes.dtype());
    if (context_.form != FrozenForm::kPortable) {
      ASSIGN_OR_RETURN(made->codes, AsFloat(made->codes));
      name = absl::StrCat(weight.name(), ".codes");
    }
    context_.quantized_weights.code_bytes += made->codes.bytes().size();
    Written written;
    ASSIGN_OR_RETURN(written.codes, parameters_.Add(name, std::move(made->codes)));
    ASSIGN_OR_RETURN(written.scales, parameters_.Add(absl::StrCat(written.codes, ".scale"),
                                                     std::move(made->scales)));
    if (made->zero_points) {
      ASSIGN_OR_RETURN(written.zero_points,
                       parameters_.Add(absl::StrCat(written.codes, ".zero_point"),
                                       *std::move(made->zero_points)));
    }
    return written;
  }

  static absl::StatusOr<WeightCodes> MakeCodesOfCast(const QuantizationSite& site,
                                                     const Tensor& parameter,
                                                     const WeightCodesOptions& options) {
    ASSIGN_OR_RETURN(const Tensor numbers, AsFloat(parameter));
    return MakeSiteCodes(site, numbers, options);
  }

  // Whether the parameters hold what `variable` is declared to hold.
  static absl::Status CheckDims(const Op& op, const Variable& variable, const Tensor& held) {
    if (variable.tensor() == nullptr) return absl::OkStatus();
    const Dims declared(variable.tensor()->dims().begin(), variable.tensor()->dims().end());
    if (declared.empty() || MayBeEqual(declared, held.dims())) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(op), ": the weight \"",
                                                   variable.name(), "\" is ", DimsText(held.dims()),
                                                   "; the program declares ", DimsText(declared)));
  }

  // Counts scales that training stored before its last update of the weight, or never.
  void CountOutdated(const QuantizationSite& site, const Tensor& scales) {
    const Scope::Value* value = context_.parameters.FindOrNull(site.scale->name());
    const Tensor* stored = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (stored == nullptr || stored->dtype() != VarType::FP32 || stored->size() != scales.size()) {
      return;
    }
    outdated_ += stored->data<float>() != scales.data<float>();
  }

  // The op that dequantizes the codes to `numbers`, in the place of the op that did so in training.
  absl::Status WriteDequantize(const QuantizationSite& site, const Written& written,
                               const Argument& numbers) {
    const Op& place = numbers.op();
    const absl::string_view out = numbers.name();
    ASSIGN_OR_RETURN(const Tensor* held, context_.parameters.added.Find(written.codes));
    RETURN_IF_ERROR(CheckDims(place, *numbers.variable(), *held));
    OpDesc op;
    if (!written.zero_points.empty()) {
      op = site.fused
               ? MakeDequantizeAffine(written.codes, written.scales, written.zero_points, out)
               : MakeOwnDequantize(site, written, out);
    } else if (context_.form == FrozenForm::kPortable) {
      std::string codes = written.codes;
      if (!FitByte(site.codes)) {
        ASSIGN_OR_RETURN(codes, WriteCast(written, place));
      }
      ASSIGN_OR_RETURN(const std::string zero_point, parameters_.ZeroPointOf(written.scales));
      op = MakeDequantizeLinear(site, codes, written.scales, zero_point, out);
    } else {
      op = MakeLegacyDequantize(site, written.codes, written.scales, out);
    }
    rewriter_.InsertBefore(place, InPlaceOf(place, pass_, std::move(op)));
    return absl::OkStatus();
  }

  // The dequantize op of an affine quantizer.
  OpDesc MakeOwnDequantize(const QuantizationSite& site, const Written& written,
                           absl::string_view out) const {
    const QuantizerRecipe& recipe =
        *context_.quantizers.FindByQuantizeOp(site.quantize->desc()).recipe;
    QuantSpec spec = site.parameters;
    spec.set_axis(site.axis);
    OpBuilder op(recipe.dequantize_op);
    op.Input(recipe.scale_input_of_dequantize, written.scales)
        .Input("X", written.codes)
        .Input(recipe.zero_point_input_of_dequantize, written.zero_points)
        .Output("Out", out);
    site.quantizer->AddDequantizeAttrs(spec, EraOf(program_), op);
    return op.Build();
  }

  // The codes as FP32.
  absl::StatusOr<std::string> WriteCast(const Written& written, const Op& place) {
    ASSIGN_OR_RETURN(const Tensor* codes, context_.parameters.added.Find(written.codes));
    ASSIGN_OR_RETURN(const Variable* as_float,
                     rewriter_.AddTensor(place.block(),
                                         rewriter_.FreshName(absl::StrCat(written.codes, ".float")),
                                         VarType::FP32, codes->dims()));
    rewriter_.InsertBefore(place, InPlaceOf(place, pass_,
                                            OpBuilder("cast")
                                                .Input("X", written.codes)
                                                .Output("Out", as_float->name())
                                                .Attr(MakeIntAttr("in_dtype", codes->dtype()))
                                                .Attr(MakeIntAttr("out_dtype", VarType::FP32))
                                                .Build()));
    return as_float->name();
  }

  Program& program_;
  FreezeContext& context_;
  const absl::string_view pass_;
  Rewriter rewriter_;
  ParameterWriter parameters_;
  absl::flat_hash_set<std::string> named_;  // in attributes
  absl::btree_map<Key, Written> written_;
  int outdated_ = 0;
};

class QuantizeWeights final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "quantize_weights"; }
  absl::string_view doc() const override {
    return "Stores trained weights as codes, with an op that dequantizes them.";
  }
  std::vector<std::string> Requires() const override { return {"test_mode", "trained_parameters"}; }
  std::vector<std::string> Establishes() const override { return {"weights_quantized"}; }
  // Ops that computed the ranges of weights may be left over.
  std::vector<std::string> Consumes() const override { return {"pruned"}; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return WeightQuantizer(&program, &context, name()).QuantizeAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeQuantizeWeights() { return std::make_unique<QuantizeWeights>(); }

}  // namespace fixpoint
