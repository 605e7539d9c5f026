// A bias that a target adds as an int32 to the sums of products of codes, in their steps.

#ifndef FIXPOINT_TRANSPILER_PLAN_INTEGER_BIAS_H_
#define FIXPOINT_TRANSPILER_PLAN_INTEGER_BIAS_H_

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "ops/codes/coded_product.h"
#include "ops/era.h"
#include "ops/never_negative.h"
#include "ops/op_types.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/eligibility.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// The spec of a bias; everything else in a spec of weights and activations is that of the product.
QuantSpec IntegerBiasSpec();

// The product to whose sums an input is added: for the bias of a product that product, for Y of a
// sum the one that writes X. Null if there is none.
const Op* ProductOfBias(const Argument& bias);

// The sites of a plan by their quantized readers.
class OperandSites {
 public:
  // REQUIRES: the plan outlives the object, and gets no more sites.
  explicit OperandSites(const Plan& plan);

  struct Operands {
    const Site* activation = nullptr;
    const Site* weight = nullptr;
    const Argument* weight_argument = nullptr;

    // Whether products of them are added up.
    bool are_of_product() const { return activation != nullptr && weight != nullptr; }
  };
  Operands Of(const Op& product) const;

 private:
  absl::flat_hash_map<const Argument*, const Site*> sites_;
};

class IntegerBias {
 public:
  // REQUIRES: all outlive the object.
  IntegerBias(const Plan& plan, Era era, const QuantizerTable& quantizers, OpTypes* types,
              Eligibility* eligibility)
      : sites_(plan),
        era_(era),
        quantizers_(quantizers),
        types_(*types),
        eligibility_(*eligibility),
        never_negative_(era) {}

  // The bias that an op adds: a parameter of one dimension; null if it adds none.
  const Argument* Find(const Op& op);
  // Why it stays float; nothing if it is added as an int32.
  std::optional<std::string> WhyFloat(const Argument& bias);

 private:
  bool IsOfChannels(const Argument& bias) const;
  // The codes of 8 bits that hold the values of a site; nothing where none do.
  std::optional<OperandCodes> CodesOf(const Site& site);
  // Why a product does not add the bias to sums of integers.
  std::optional<std::string> WhyNotSums(const Op& product, const OperandSites::Operands& operands);
  bool IsOnlyReader(const Argument& result);
  bool GivesSums(const Op& product) const;

  const OperandSites sites_;
  const Era era_;
  const QuantizerTable& quantizers_;
  OpTypes& types_;
  Eligibility& eligibility_;
  NeverNegative never_negative_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_INTEGER_BIAS_H_
