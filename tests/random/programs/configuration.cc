#include "tests/random/programs/configuration.h"

#include <string>

#include "ops/quantizer_table.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "transpiler/plan/target.h"

namespace fixpoint::random_cases {
namespace {

int SomeBits(CaseMaker& c) { return c.OneIn(2) ? 8 : c.Between(2, 8); }

QuantSpec::Rounding SomeRounding(CaseMaker& c) {
  return c.OneIn(3) ? QuantSpec::HALF_AWAY_FROM_ZERO : QuantSpec::HALF_TO_EVEN;
}

// The fused ops of 1.x give other floats than the portable program (docs/numerics.md, Freezing).
QuantSpec::Form SomeForm(CaseMaker& c) {
  return c.is_2x() && c.OneIn(3) ? QuantSpec::FUSED : QuantSpec::SEPARATE;
}

void DrawActivations(CaseMaker& c, bool is_trained, QuantSpec* spec) {
  spec->set_bits(SomeBits(c));
  if (c.OneIn(3)) {
    spec->set_quantizer("moving_average_min_max");
    spec->set_signedness(c.OneOf({QuantSpec::UNSIGNED, QuantSpec::SIGNED}));
    spec->set_rounding(SomeRounding(c));
    return;
  }
  spec->set_quantizer(c.OneOf<std::string>({"moving_average_abs_max", "moving_average_abs_max",
                                            "range_abs_max", "window_mean_abs_max", "fixed_abs_max",
                                            is_trained ? "lsq" : "moving_average_abs_max",
                                            is_trained ? "lsq" : "moving_average_abs_max"}));
  spec->set_signedness(c.OneOf({QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE,
                                QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE, QuantSpec::SIGNED}));
  spec->set_rounding(SomeRounding(c));
  if (spec->quantizer() == "lsq") {
    spec->set_form(QuantSpec::FUSED);
  } else if (spec->quantizer() == "moving_average_abs_max") {
    spec->set_form(SomeForm(c));
  } else if (spec->quantizer() == "fixed_abs_max" && is_trained) {
    // Steps of 1 / 32 have ties among the values of a grid.
    const double ties = ((1 << (spec->bits() - 1)) - 1) / 32.0;
    (*spec->mutable_parameters())["range"] = c.OneIn(2) ? ties : c.Between(0.5f, 4.0f);
  }
}

void DrawWeights(CaseMaker& c, bool is_trained, QuantSpec* spec) {
  spec->set_bits(SomeBits(c));
  spec->set_rounding(SomeRounding(c));
  const bool is_learned = is_trained && c.OneIn(3);
  const bool has_channels = c.OneIn(2);
  if (is_learned) spec->set_form(QuantSpec::FUSED);
  if (has_channels) {
    spec->set_quantizer(is_learned ? "channel_wise_lsq" : "channel_wise_abs_max");
  } else {
    spec->set_quantizer(is_learned ? "lsq" : c.OneIn(3) ? "moving_average_min_max" : "abs_max");
    spec->set_granularity(QuantSpec::PER_TENSOR);
  }
}

// Steps are powers of two where the quantizers can have such.
void DrawStepsOfTarget(CaseMaker& c, RandomConfiguration* drawn) {
  const QuantizerTable quantizers;
  const auto draw = [&](const QuantSpec& spec, Target::Abilities* abilities) {
    const bool may_be = CanHavePowerOfTwoSteps(*quantizers.Find(spec.quantizer()));
    if (may_be && c.OneIn(3)) abilities->set_power_of_two_steps(true);
  };
  draw(drawn->config.activations(), drawn->target.mutable_activation_abilities());
  if (drawn->config.has_fc_weights()) return;
  draw(drawn->config.weights(), drawn->target.mutable_weight_abilities());
}

// Whatever there is.
RandomConfiguration DrawOfOneDnn(CaseMaker& c, bool is_trained) {
  RandomConfiguration drawn;
  drawn.target = *BuiltInTarget("onednn_int8");
  drawn.target.mutable_weight_abilities()->clear_roundings();
  drawn.target.mutable_activation_abilities()->clear_roundings();
  drawn.target.mutable_ops(0)->add_types("depthwise_conv2d_transpose");
  if (c.OneIn(2)) drawn.target.set_bias(c.OneIn(3) ? Target::INT16 : Target::INT32);
  if (drawn.target.bias() == Target::INT32 && c.OneIn(2)) {
    drawn.target.set_requantization(Target::MULTIPLIER_AND_SHIFT);
    drawn.target.set_requantization_multiplier_bits(c.OneIn(3) ? 16 : 32);
    if (drawn.target.requantization_multiplier_bits() == 32) {
      drawn.target.set_requantization_roundings(c.Between(1, 2));
    }
  }
  DrawActivations(c, is_trained, drawn.config.mutable_activations());
  DrawWeights(c, is_trained, drawn.config.mutable_weights());
  if (c.OneIn(3)) {
    QuantSpec* const rows = drawn.config.mutable_fc_weights();
    rows->set_quantizer("row_wise_min_max");
    rows->set_form(QuantSpec::SEPARATE);
  }
  DrawStepsOfTarget(c, &drawn);
  for (const char* type : {"pool2d", "elementwise_mul", "slice", "layer_norm"}) {
    if (c.OneIn(2)) drawn.config.add_also_quantize(type);
  }
  // They share a scale, which is observed.
  if (drawn.config.activations().quantizer() == "moving_average_abs_max") {
    for (const char* type : {"elementwise_add", "concat"}) {
      if (c.OneIn(2)) drawn.config.add_also_quantize(type);
    }
  }
  return drawn;
}

// The specs that the reference has ops for.
RandomConfiguration DrawOfReference(CaseMaker& c, const std::string& name) {
  RandomConfiguration drawn;
  drawn.target = *BuiltInTarget(name);
  QuantSpec* const activations = drawn.config.mutable_activations();
  activations->set_quantizer(
      c.OneOf<std::string>({"moving_average_abs_max", "moving_average_abs_max", "range_abs_max"}));
  activations->set_bits(SomeBits(c));
  drawn.config.mutable_weights()->set_bits(SomeBits(c));
  if (name == "paddle_2_6") {
    activations->set_rounding(SomeRounding(c));
    drawn.config.mutable_weights()->set_rounding(SomeRounding(c));
  }
  // Most of what is quantized on request is fused.
  if (c.is_2x()) {
    for (const char* type : {"elementwise_add", "pool2d", "concat", "matmul", "matmul_v2"}) {
      if (c.OneIn(2)) drawn.config.add_also_quantize(type);
    }
  }
  if (name == "paddle_1_8") {
    for (const char* type : {"conv2d_transpose", "matmul"}) drawn.config.add_also_quantize(type);
  }
  drawn.config.set_observe_outputs(c.OneIn(3));
  return drawn;
}

RandomConfiguration DrawOfTensorRt(CaseMaker& c) {
  RandomConfiguration drawn;
  drawn.target = *BuiltInTarget("tensorrt_int8");
  for (const char* type : {"elementwise_add", "pool2d"}) {
    if (c.OneIn(2)) drawn.config.add_also_quantize(type);
  }
  return drawn;
}

// One type of ops has other bits, or stays float.
void DrawRule(CaseMaker& c, QuantConfig* config) {
  QuantRule* const rule = config->add_rules();
  rule->set_optional(true);
  // A rule requests a matmul, which paddle_2_6 fuses.
  rule->set_op_type(
      c.OneOf<std::string>({"conv2d", "depthwise_conv2d", "mul", c.is_2x() ? "matmul" : "mul"}));
  if (c.OneIn(3)) {
    rule->set_skip(true);
  } else {
    rule->mutable_spec()->set_bits(c.Between(2, 8));
  }
}

}  // namespace

RandomConfiguration DrawConfiguration(CaseMaker& c, bool is_trained) {
  const int kind = c.Between(0, 7);
  if (kind == 0) return DrawOfTensorRt(c);
  RandomConfiguration drawn = kind == 1   ? DrawOfReference(c, "paddle_1_8")
                              : kind == 2 ? DrawOfReference(c, "paddle_2_6")
                                          : DrawOfOneDnn(c, is_trained);
  if (c.OneIn(5)) DrawRule(c, &drawn.config);
  return drawn;
}

}  // namespace fixpoint::random_cases
