// The sites of gradients: each that reaches the gradient op of a quantized product.

#ifndef FIXPOINT_TRANSPILER_PLAN_GRADIENT_SITES_H_
#define FIXPOINT_TRANSPILER_PLAN_GRADIENT_SITES_H_

#include "absl/status/status.h"
#include "ops/era.h"
#include "ops/gradient_links.h"
#include "ops/op_types.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/site_table.h"

namespace fixpoint {

// A spec with what it leaves out: 8 signed bits, FUSED, by stochastic_abs_max.
QuantSpec CompleteGradientSpec(const QuantSpec& asked, const QuantizerTable& quantizers);

// Errors: those of CheckSpec (ops/quantizer.h); kInvalidArgument: it has no such quantizer, or one
// that keeps state, computes ops beside its own or has a gradient; kFailedPrecondition: the
// target's era has no op of it, or the reference is to run it and cannot.
absl::Status CheckGradientSpec(const QuantSpec& spec, const Target& target,
                               const QuantizerTable& quantizers);

// What PlanGradients needs to know and adds to.
struct GradientPlanning {
  const Era era;
  const QuantizerTable& quantizers;
  const GradientLinks& links;
  OpTypes& types;
  SiteTable& sites;
  Plan& plan;
};

// Adds a site for each gradient of the result of a product that the plan quantizes. The decision
// about the product notes it, and which gradients of operands are then computed on integers, as far
// as the program says how many products a sum has. REQUIRES: CheckGradientSpec is ok, and all
// decisions are made.
void PlanGradients(const QuantSpec& spec, const GradientPlanning& planning);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_GRADIENT_SITES_H_
