// Values whose codes a target makes of sums of products by a multiplier and a shift
// (ops/requantization.h): the result of a product of codes, with a bias in its steps, after a relu,
// and of ops that keep its channels, as maxima do, where nothing else reads what is between.

#ifndef FIXPOINT_TRANSPILER_PLAN_REQUANTIZED_SUMS_H_
#define FIXPOINT_TRANSPILER_PLAN_REQUANTIZED_SUMS_H_

#include <string>
#include <variant>

#include "ops/quantizer_table.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/site_facts.h"

namespace fixpoint {

struct RequantizedSums {
  ProductSites operands;
  int channel_axis = 0;  // of the value
};

// The sums that the value of a site stands for, or why its codes are those of floats: "it is no sum
// of products of codes". REQUIRES: the site is one of an activation.
std::variant<RequantizedSums, std::string> FindRequantizedSums(const Site& site,
                                                               const SiteFacts& facts,
                                                               const QuantizerTable& quantizers,
                                                               Era target);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_REQUANTIZED_SUMS_H_
