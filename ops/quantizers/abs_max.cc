// abs_max: the range is the tensor's own largest absolute value, found anew at every step.
// The reference's fake_quantize_abs_max and fake_quantize_dequantize_abs_max.

#include <memory>
#include <vector>

#include "ops/quant_math.h"
#include "ops/quantizer.h"
#include "ops/quantizers/abs_max_attrs.h"
#include "ops/quantizers/power_of_two_steps.h"

namespace fixpoint {
namespace {

class AbsMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "abs_max"; }
  absl::string_view doc() const override {
    return "The tensor's own largest absolute value, found anew at every step.";
  }
  bool is_dynamic() const override { return true; }

  absl::Span<const QuantizerParameter> parameters() const override { return parameters_; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricQuantizeAttrs(spec, op);
    AddPowerOfTwoAttr(*this, spec, op);
  }
  void AddDequantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    AddSymmetricDequantizeAttrs(spec, op);
  }
  void ReadParameters(const OpDesc& quantize, QuantSpec* spec) const override {
    ReadPowerOfTwoAttr(quantize, spec);
  }
  double InitialValue(const QuantizerState&, const QuantSpec&) const override { return 0; }

  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>>, int64_t) const override {
    return WidenedRange(*this, spec, AbsMax(values));
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe separate;
    separate.quantize_op = "fake_quantize_abs_max";
    separate.dequantize_op = "fake_dequantize_max_abs";
    QuantizerRecipe fused;
    fused.form = QuantSpec::FUSED;
    fused.quantize_op = "fake_quantize_dequantize_abs_max";
    fused.eras = Eras::kPaddle2;
    return {separate, fused};
  }

  const std::vector<QuantizerParameter> parameters_ = {PowerOfTwoStepsParameter()};
  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeAbsMax() { return std::make_unique<AbsMaxQuantizer>(); }

}  // namespace fixpoint
