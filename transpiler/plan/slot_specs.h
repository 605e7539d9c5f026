// How the value in a slot is quantized: the target's and the configuration's specs merged,
// completed from the program, and checked against what the quantizer and the target can do.

#ifndef FIXPOINT_TRANSPILER_PLAN_SLOT_SPECS_H_
#define FIXPOINT_TRANSPILER_PLAN_SLOT_SPECS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/never_negative.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/slot_plan.h"

namespace fixpoint {

class OpSchema;

// Whether a slot is the right operand of a product, and its codes are unsigned without a zero
// point: no product multiplies such codes as integers (ops/codes/coded_product.h).
bool IsUnsignedRightOperand(const SlotPlan& slot);

class SlotSpecs {
 public:
  // REQUIRES: all outlive this object.
  SlotSpecs(const Program& program, const QuantConfig& config, const Target& target,
            const QuantizerTable& quantizers)
      : config_(config),
        target_(target),
        quantizers_(quantizers),
        era_(EraOf(program)),
        never_negative_(era_) {}

  // The target's spec for the role, overridden by the configuration's, by that of the target's
  // entry for the op, and by the configuration's for the weights of fully connected layers. The
  // form is absent where only the target's spec for the role says it.
  QuantSpec Default(const Op& op, SlotRole::Role role, const QuantSpec& of_op) const;
  // Fills in what the quantizer (its form) and the program decide (signedness, axis), and complains
  // once about each spec that the quantizer or the target cannot do. Returns why the value cannot
  // be quantized that way, with `detail`.
  std::optional<Reason> Complete(const OpSchema& schema, SlotPlan& slot, std::string& detail);
  // Complains, once about each spec, if the quantizer or the target cannot do it.
  void Check(const SlotPlan& slot);
  // Complains if inputs of an op that share a scale are quantized in two ways.
  void CheckShared(const SlotPlan& first, const SlotPlan& other);
  // Complains if a quantizer cannot follow a range without quantizing, as it has to for the
  // observed "inputs" or "outputs" of an op.
  void CheckObserver(const QuantSpec& spec, absl::string_view slots, const Op& op);

  // Notes how a weight is quantized.
  void NoteWeight(const Op& op, const QuantSpec& spec);
  // Error (kInvalidArgument): rules replace the quantizer of the configuration's fc_weights in each
  // fully connected layer that was noted.
  absl::Status CheckFcWeights() const;

  // The complaints, in the order of the program.
  const std::vector<absl::Status>& complaints() const { return complaints_; }

 private:
  // Those for the role of a slot: "abs_max, lsq".
  std::string QuantizersOf(QuantSpec::Granularity granularity, SlotRole::Role role) const;
  // Complains, once about each spec, about an activation that should have a scale for each channel.
  void ComplainOfChannels(const SlotPlan& slot);

  const QuantConfig& config_;
  const Target& target_;
  const QuantizerTable& quantizers_;
  const Era era_;
  NeverNegative never_negative_;
  absl::btree_set<std::string> checked_;
  // Whether some layer has the quantizer of fc_weights, and whether some layer has not.
  bool is_fc_quantizer_taken_ = false;
  bool is_fc_quantizer_replaced_ = false;
  std::vector<absl::Status> complaints_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SLOT_SPECS_H_
