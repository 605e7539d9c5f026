// What the rules for convolutions and products share.

#ifndef FIXPOINT_TRANSPILER_LOWERING_PRODUCT_OF_CODES_H_
#define FIXPOINT_TRANSPILER_LOWERING_PRODUCT_OF_CODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transpiler/lowering/lowering.h"
#include "transpiler/lowering/rule.h"

namespace fixpoint {

// One that multiplies an activation with a parameter.
struct ProductOfCodes {
  absl::string_view activation_slot;
  absl::string_view parameter_slot;
  int channel_axis;        // of the parameter: that of the output's channels
  int64_t channel_groups;  // how often entries of that axis serve other channels, group by group
  absl::string_view type;  // of the op on integers
  std::vector<const char*> attributes;  // that it has in common with the op
};

// Puts it in the place of the op, if both operands are codes.
absl::StatusOr<LoweringReason> LowerProductOfCodes(const Op& op, const ProductOfCodes& product,
                                                   Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWERING_PRODUCT_OF_CODES_H_
