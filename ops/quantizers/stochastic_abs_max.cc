// stochastic_abs_max: abs_max for gradients, with stochastic rounding.

#include <memory>
#include <vector>

#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "ops/quantizer.h"
#include "ops/stochastic_codes.h"

namespace fixpoint {
namespace {

class StochasticAbsMaxQuantizer final : public Quantizer {
 public:
  absl::string_view name() const override { return "stochastic_abs_max"; }
  absl::string_view doc() const override {
    return "For gradients: their own largest absolute value; codes are rounded up or down by "
           "chance.";
  }
  bool is_dynamic() const override { return true; }
  // What 16 bits of chance are fine enough for.
  int most_bits() const override { return 8; }

  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

  void AddQuantizeAttrs(const QuantSpec& spec, Era, OpBuilder& op) const override {
    op.IntAttr("bit_length", BitLength(spec));
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState&, const QuantSpec&) const override { return 0; }

  float Observe(const QuantSpec&, absl::Span<const float> values,
                absl::Span<const absl::Span<float>>, int64_t) const override {
    return AbsMax(values);
  }

 private:
  static std::vector<QuantizerRecipe> Recipes() {
    QuantizerRecipe fused;
    fused.form = QuantSpec::FUSED;
    fused.quantize_op = kQuantizeStochastically;
    fused.reference_runs_it = false;
    return {fused};
  }

  const std::vector<QuantizerRecipe> recipes_ = Recipes();
};

}  // namespace

std::unique_ptr<Quantizer> MakeStochasticAbsMax() {
  return std::make_unique<StochasticAbsMaxQuantizer>();
}

}  // namespace fixpoint
