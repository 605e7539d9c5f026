// dequantize_products: the legacy form computes products on codes, and dequantizes after the
// product, whose output keeps its name and value. For a convolution of an activation and a weight
// with one scale, 1.5:
//
//   fake_quantize_moving_average_abs_max(InScale=s, X=x) -> (Out=q, OutScale=s) {is_test=true}
//   fake_dequantize_max_abs(Scale=s, X=q) -> (Out=d) {max_range=127.0}
//   fake_dequantize_max_abs(Scale=w.codes.scale, X=w.codes) -> (Out=e) {max_range=127.0}
//   conv2d(Filter=e, Input=d) -> (Output=y)
//
//   fake_quantize_moving_average_abs_max(InScale=s, X=x) -> (Out=q, OutScale=s) {is_test=true}
//   conv2d(Filter=w.codes, Input=q) -> (Output=y.codes)
//   fake_dequantize_max_abs(Scale=s, X=y.codes) -> (Out=y) {max_range=10752.667}
//
// max_range is 127 * 127 / 1.5. A weight with a scale per channel gives
// fake_channel_wise_dequantize_max_abs with both scales. A product with more in it (a bias or an
// activation function inside, channels that are not the output's, another output that is read)
// stays as it is.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/freeze/weight_codes.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

// A quantized factor of a product.
struct Factor {
  const Argument* argument = nullptr;
  std::string codes;
  std::string scale;  // the variable
  int bits = 8;
  int axis = -1;                           // the channel axis of a weight, or -1
  std::optional<float> scale_value;        // if it is a single known value
  const QuantizationSite* site = nullptr;  // null for a weight
};

// Whether the op is nothing but the product of its two slots.
bool IsPlainProduct(const Op& op, Era era) {
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  if (!attributes || !TraitsOf(op).product) return false;
  const absl::StatusOr<OwnWork> own = OwnWorkOf(op, *attributes);
  return own.ok() && !own->any();
}

// Whether an op reads an output of `op` besides `result`: in a product of codes that output would
// not hold floats.
bool IsReadBeside(const Argument& result, const Op& op) {
  const auto outputs = op.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&result](const Argument* output) {
    return output != &result && output->value() != nullptr && !IsUnread(*output->value());
  });
}

bool IsReadSomewhere(const Variable& variable) {
  const std::vector<const Argument*> arguments = variable.arguments();
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument* argument) { return !argument->is_output(); });
}

bool HasOneWriter(const Variable& variable) {
  int writes = 0;
  for (const Argument* argument : variable.arguments()) writes += argument->is_output();
  return writes == 1;
}

class ProductDequantizer {
 public:
  ProductDequantizer(Program* program, FreezeContext* context, absl::string_view pass)
      : program_(*program), context_(*context), pass_(pass), rewriter_(program, pass) {}

  absl::Status DequantizeAll() {
    ASSIGN_OR_RETURN(sites_, FindQuantizationSites(program_, context_.quantizers));
    for (const QuantizationSite& site : sites_) {
      if (site.is_affine) continue;
      if (site.fused) by_result_[site.result->value()] = &site;
      for (const Op* op : site.dequantize) {
        by_result_[op->outputs().front()->value()] = &site;
      }
    }
    for (const Op& op : program_.ops()) RETURN_IF_ERROR(Dequantize(op));
    // An input that a loop lists and its block no longer reads must not keep the ops that compute
    // it.
    UpdateCaptures(program_, &rewriter_);
    RemoveUnreadDequantizeOps();
    if (context_.form == FrozenForm::kLegacyInt8) RETURN_IF_ERROR(StoreAsIntegers());
    for (const QuantizationSite& site : sites_) {
      if (codes_of_fused_.contains(&site) && site.result->value()->readers().empty()) {
        rewriter_.Remove(*site.quantize);
      }
    }
    UpdateCaptures(program_, &rewriter_);
    return absl::OkStatus();
  }

 private:
  absl::Status Dequantize(const Op& op) {
    const OpSchema* schema = FindOpSchema(op.type());
    if (schema == nullptr || schema->quantizable_outputs().empty()) return absl::OkStatus();
    std::vector<Factor> factors;
    for (const QuantizableInput& input : schema->quantizable_inputs()) {
      if (input.role == SlotRole::ADDEND) continue;
      std::optional<Factor> factor = FactorOf(op.Input(input.slot));
      if (!factor.has_value()) return absl::OkStatus();
      factors.push_back(*std::move(factor));
    }
    const Argument* output = op.Output(schema->quantizable_outputs()[0]);
    if (factors.size() != 2 || output == nullptr || output->variable() == nullptr ||
        !IsPlainProduct(op, EraOf(program_)) || IsReadBeside(*output, op)) {
      return absl::OkStatus();
    }
    // The scale that the dequantize op reads, and the one that goes into its max_range, or is read
    // per channel.
    Factor* read = &factors[0];
    Factor* constant = &factors[1];
    const auto can_be_read = [](const Factor& factor) { return factor.site != nullptr; };
    const auto is_constant = [](const Factor& factor) {
      return factor.axis >= 0 || factor.scale_value.value_or(0) > 0;
    };
    if (!can_be_read(*read) || !is_constant(*constant)) std::swap(read, constant);
    if (!can_be_read(*read) || !is_constant(*constant)) return absl::OkStatus();
    std::optional<OpDesc> dequantize =
        constant->axis >= 0 ? PerChannel(op, *schema, *constant, *read, EraOf(program_))
                            : PerTensor(*constant, *read);
    if (!dequantize.has_value()) return absl::OkStatus();
    for (Factor* factor : {read, constant}) {
      if (factor->site != nullptr && factor->site->fused) {
        ASSIGN_OR_RETURN(factor->codes, CodesOfFused(*factor->site));
      }
    }
    return Rewrite(op, factors, *output, *std::move(dequantize));
  }

  std::optional<Factor> FactorOf(const Argument* argument) const {
    if (argument == nullptr || argument->value() == nullptr) return std::nullopt;
    const Value* value = argument->value();
    Factor factor;
    factor.argument = argument;
    if (const auto it = by_result_.find(value); it != by_result_.end()) {
      const QuantizationSite& site = *it->second;
      // Codes that are written again may have changed by the time of the product.
      if (!site.fused && !HasOneWriter(*site.result->variable())) return std::nullopt;
      if (site.axis >= 0) return std::nullopt;
      factor.site = &site;
      factor.codes = std::string(site.result->name());
      factor.scale = std::string(site.scale->name());
      factor.bits = site.codes.bits;
      if (!site.is_dynamic) factor.scale_value = ScaleValue(*site.scale);
      return factor;
    }
    if (value->origin() != Value::Origin::kWrite) return std::nullopt;
    return WeightFactor(*value->op(), std::move(factor));
  }

  // Returns nothing if it is unknown before the program runs.
  std::optional<float> ScaleValue(const Argument& scale) const {
    const auto made = context_.parameters.added.Find(scale.name());
    if (made.ok()) return (*made)->data<float>()[0];
    const auto stored = FindStoredScale(scale, context_.parameters, context_.quantizers);
    if (!stored.ok()) return std::nullopt;
    return stored->value;
  }

  // A weight that quantize_weights left after a dequantize op.
  std::optional<Factor> WeightFactor(const Op& op, Factor factor) const {
    const std::optional<CodeOp> read = ReadCodeOp(op, EraOf(program_));
    if (!read || read->kind != QuantOp::kDequantize || read->scales_are_steps ||
        op.outputs().size() != 1 ||
        context_.parameters.added.FindOrNull(read->input->name()) == nullptr) {
      return std::nullopt;
    }
    factor.codes = std::string(read->input->name());
    factor.scale = std::string(read->scale->name());
    factor.bits = read->codes.bits;
    if (read->axis) {
      factor.axis = *read->axis;
      return factor;
    }
    factor.scale_value = ScaleValue(*read->scale);
    if (!factor.scale_value.has_value()) return std::nullopt;
    return factor;
  }

  // The op without its X and Out.
  static OpDesc PerTensor(const Factor& constant, const Factor& read) {
    const double codes = static_cast<double>(LargestCode(constant.bits)) * LargestCode(read.bits);
    return OpBuilder("fake_dequantize_max_abs")
        .Input("Scale", read.scale)
        .Attr(MakeFloatAttr("max_range", static_cast<float>(codes / *constant.scale_value)))
        .Build();
  }

  // Returns nothing if the op cannot find the weight's channels in the output.
  static std::optional<OpDesc> PerChannel(const Op& op, const OpSchema& schema,
                                          const Factor& weight, const Factor& activation, Era era) {
    const absl::string_view slot = weight.argument->slot_name();
    if (schema.WeightAxis(op, slot, era) != weight.axis) return std::nullopt;
    OpBuilder dequantize("fake_channel_wise_dequantize_max_abs");
    dequantize.Input("Scales", weight.scale)
        .Attr(MakeIntAttr("quant_axis", weight.axis))
        .Attr(MakeIntsAttr("quant_bits", {weight.bits, activation.bits}));
    const ProductTrait& product = *schema.traits().product;
    const OpAttributes attributes(op, schema, era);
    const VarType::TensorDesc* output = op.Output(product.output)->variable()->tensor();
    const int rank = output != nullptr ? output->dims_size() : 0;
    if (slot != product.weight || (!product.gives_images() && rank < 2)) return std::nullopt;
    const int output_axis = product.ChannelAxis(attributes, rank);
    if (product.gives_images()) {
      // The op looks for the channels of images where NCHW has them, and a grouped transposed
      // convolution has fewer scales than output channels.
      const bool is_transposed = product.form == ProductTrait::Form::kTransposedConvolution;
      if (output_axis != 1 || (is_transposed && attributes.Int("groups") != 1)) {
        return std::nullopt;
      }
    }
    return dequantize.Input("Scales", activation.scale)
        .Attr(MakeIntAttr("x_num_col_dims", output_axis))
        .Build();
  }

  // The codes of a fused quantizer, computed by the same quantizer's separate op, inserted before
  // it.
  absl::StatusOr<std::string> CodesOfFused(const QuantizationSite& site) {
    std::string& name = codes_of_fused_[&site];
    if (!name.empty()) return name;
    const QuantizerTable::Match match = context_.quantizers.FindByQuantizeOp(site.quantize->desc());
    OpDesc op = site.quantize->desc();
    for (const QuantizerRecipe& recipe : match.quantizer->recipes()) {
      if (!recipe.dequantize_op.empty()) op.set_type(recipe.quantize_op);
    }
    VarDesc desc = *site.result->variable()->desc();
    desc.set_name(rewriter_.FreshName(absl::StrCat(site.input->name(), ".quantized")));
    name = desc.name();
    for (OpDesc::Var& slot : *op.mutable_outputs()) {
      if (slot.parameter() == site.result->slot_name()) slot.set_arguments(0, name);
    }
    RETURN_IF_ERROR(
        rewriter_.AddVariable(site.result->variable()->block(), std::move(desc)).status());
    rewriter_.InsertBefore(*site.quantize, std::move(op));
    return name;
  }

  absl::Status Rewrite(const Op& op, const std::vector<Factor>& factors, const Argument& output,
                       OpDesc dequantize) {
    for (const Factor& factor : factors) {
      if (factor.site == nullptr) weight_codes_.insert(factor.codes);
      if (factor.site != nullptr && factor.site->fused) continue;
      const Op* replaced = factor.argument->value()->op();
      if (seen_.insert(replaced).second) replaced_.push_back(replaced);
    }
    const std::string out(output.name());
    VarDesc desc = *output.variable()->desc();
    desc.set_name(rewriter_.FreshName(absl::StrCat(out, ".codes")));
    desc.clear_persistable();
    const std::string codes = desc.name();
    RETURN_IF_ERROR(rewriter_.AddVariable(output.variable()->block(), std::move(desc)).status());
    OpDesc::Var* x = dequantize.add_inputs();
    x->set_parameter("X");
    x->add_arguments(codes);
    OpDesc::Var* result = dequantize.add_outputs();
    result->set_parameter("Out");
    result->add_arguments(out);
    for (const Factor& factor : factors) rewriter_.SetArgument(*factor.argument, factor.codes);
    rewriter_.SetArgument(output, codes);
    rewriter_.InsertAfter(op, InPlaceOf(op, pass_, std::move(dequantize)));
    return absl::OkStatus();
  }

  void RemoveUnreadDequantizeOps() {
    if (replaced_.empty()) return;
    const absl::flat_hash_set<std::string> named = NamesInAllAttributes(program_);
    for (const Op* op : replaced_) {
      const Argument& output = *op->outputs().front();
      // An op of a loop may stand before the one that writes what it reads.
      if (IsUnread(*output.value()) && !IsReadSomewhere(*output.variable()) &&
          !named.contains(output.name())) {
        rewriter_.Remove(*op);
      }
    }
  }

  // Codes that only products read become INT8, or INT16 if they are larger: a dequantize op needs
  // FP32.
  absl::Status StoreAsIntegers() {
    ParameterWriter parameters(program_, &context_.parameters, &rewriter_);
    for (const std::string& name : weight_codes_) {
      const Variable& codes = *program_.Find(program_.block(0), name);
      const std::vector<const Argument*> readers = codes.arguments();
      const auto dequantizes = [](const Argument* reader) {
        return QuantOpOf(reader->op()) == QuantOp::kDequantize;
      };
      if (std::any_of(readers.begin(), readers.end(), dequantizes)) continue;
      ASSIGN_OR_RETURN(const Tensor* numbers, context_.parameters.added.Find(name));
      const absl::Span<const float> values = numbers->data<float>();
      const CodeRange byte = CodesOfByte(/*is_unsigned=*/false);
      const bool fit = std::all_of(values.begin(), values.end(),
                                   [&byte](float code) { return IsCode(code, byte); });
      ASSIGN_OR_RETURN(Tensor integers, fit ? As<int8_t>(*numbers) : As<int16_t>(*numbers));
      context_.quantized_weights.code_bytes += integers.bytes().size();
      context_.quantized_weights.code_bytes -= numbers->bytes().size();
      const absl::string_view base = absl::StripSuffix(name, ".codes");
      const std::string named = NameOfCodes(base, integers.dtype());
      ASSIGN_OR_RETURN(const std::string stored, parameters.Add(named, std::move(integers)));
      RETURN_IF_ERROR(rewriter_.RedirectReads(readers, *program_.Find(program_.block(0), stored)));
    }
    return absl::OkStatus();
  }

  template <typename T>
  static absl::StatusOr<Tensor> As(const Tensor& numbers) {
    ASSIGN_OR_RETURN(Tensor integers, Tensor::Allocate(DataTypeOf<T>(), numbers.dims()));
    const absl::Span<const float> values = numbers.data<float>();
    std::copy(values.begin(), values.end(), integers.mutable_data<T>().begin());
    return integers;
  }

  Program& program_;
  FreezeContext& context_;
  const absl::string_view pass_;
  Rewriter rewriter_;
  std::vector<QuantizationSite> sites_;
  absl::flat_hash_map<const Value*, const QuantizationSite*> by_result_;
  absl::flat_hash_map<const QuantizationSite*, std::string> codes_of_fused_;
  // Dequantize ops of factors whose codes products now read.
  std::vector<const Op*> replaced_;
  absl::flat_hash_set<const Op*> seen_;
  absl::btree_set<std::string> weight_codes_;
};

class DequantizeProducts final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "dequantize_products"; }
  absl::string_view doc() const override {
    return "Computes products on codes and dequantizes their results.";
  }
  std::vector<std::string> Requires() const override {
    return {"scales_frozen", "weights_quantized"};
  }
  std::vector<std::string> Establishes() const override { return {"products_dequantized"}; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return ProductDequantizer(&program, &context, name()).DequantizeAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeDequantizeProducts() { return std::make_unique<DequantizeProducts>(); }

}  // namespace fixpoint
