// A bias that a target adds as an integer to the sums of products of codes, in their steps, or to
// the codes that these are rounded to before.

#ifndef FIXPOINT_TRANSPILER_PLAN_INTEGER_BIAS_H_
#define FIXPOINT_TRANSPILER_PLAN_INTEGER_BIAS_H_

#include <optional>
#include <string>

#include "ops/codes/coded_product.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_types.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/eligibility.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/site_facts.h"

namespace fixpoint {

// The bits of the codes that a target adds to sums for a bias (ops/bias_codes.h); nothing if it
// adds floats.
std::optional<int> BiasBitsOf(const Target& target);
// The spec of a bias; everything else in a spec of weights and activations is that of the product.
QuantSpec IntegerBiasSpec(int bits);

// The bias that an op adds: a parameter of one dimension; null if it adds none.
const Argument* FindBias(const Op& op, Eligibility* eligibility);
// The product to whose sums an input is added: for the bias of a product that product, for Y of a
// sum the one that writes X. Null if there is none.
const Op* ProductOfBias(const Argument& bias);

// The sites of what a product adds up; null where an operand has none of its role.
struct ProductSites {
  const Site* activation = nullptr;
  const Site* weight = nullptr;
  const Argument* weight_on_the_left = nullptr;

  bool are_both() const { return activation != nullptr && weight != nullptr; }
};
ProductSites SitesOfProduct(const Op& product, const SiteFacts& facts);

// The codes that hold what an operand of a product reads.
OperandOrReason OperandOfSite(const Argument& operand, const SiteFacts& facts,
                              const QuantizerTable& quantizers);

// What is computed where the operands of a product hold the codes of their sites.
ProductOrReason DecideProductOfSites(const Op& product, const OpAttributes& attributes,
                                     const SiteFacts& facts, const QuantizerTable& quantizers);

// The site of the codes that the sums of a product are rounded to before a bias is added; null
// where the bias is added to the sums.
const Site* SiteOfAddedSums(const Argument& bias, const SiteFacts& facts);

class IntegerBias {
 public:
  // REQUIRES: all outlive the object.
  IntegerBias(const Plan& plan, Era era, const QuantizerTable& quantizers, OpTypes* types)
      : facts_(plan, era, types), quantizers_(quantizers) {}

  // Why the bias of an op, or any other input that is to be one, stays float; nothing if it is
  // added as an integer.
  std::optional<std::string> WhyFloat(const Argument& bias) const;

 private:
  // Why a product does not add the bias to sums of integers.
  std::optional<std::string> WhyNotSums(const Op& product, const Argument& bias,
                                        const Argument& sums, const ProductSites& operands) const;
  // Why the bias is not added to the codes that a site makes of the sums.
  std::optional<std::string> WhyNotCodes(const Argument& bias, const Argument& sums,
                                         const Site& of_sums) const;

  const SiteFacts facts_;
  const QuantizerTable& quantizers_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_INTEGER_BIAS_H_
