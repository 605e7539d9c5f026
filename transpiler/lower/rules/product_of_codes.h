// What the rules for convolutions and products share.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_PRODUCT_OF_CODES_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_PRODUCT_OF_CODES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/epilogue.h"
#include "transpiler/lower/rules/bias_codes.h"
#include "transpiler/lower/rules/lowering.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {

// One that multiplies an activation with a parameter or with another activation.
struct ProductOfCodes {
  // What all sums are multiplied by.
  float alpha = 1;
  // The attributes of the op on integers.
  absl::string_view type;
  std::vector<OpDesc::Attr> attributes;
  // The op's own bias, where it is floats: the operand of the first stage of `epilogue`.
  const Argument* bias_numbers = nullptr;
  // What the op itself does after the product, and the variables of stages that have an operand.
  Epilogue epilogue;
  std::vector<std::string> operands;
  // The codes of its bias, which are added to the sums.
  std::optional<ParameterBiasCodes> bias;
};

// Copies of those attributes that an op has, for an op on integers with the same ones.
std::vector<OpDesc::Attr> CopyAttributes(const Op& op, std::initializer_list<const char*> names);

// Declares the scales of an op's sums as a parameter of what it gives, and gives their name. Error
// (kInvalidArgument): one is more than a float holds.
absl::StatusOr<std::string> AddScales(const Op& op, std::vector<float> scales, Lowering& lowering);

// Puts it in the place of the op, if both operands are codes: with a scale for each channel of a
// parameter, or one of two activations, of which the second has signed codes or a zero point.
absl::StatusOr<IntegerReason> LowerProductOfCodes(const Op& op, const ProductOfCodes& product,
                                                  Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_PRODUCT_OF_CODES_H_
