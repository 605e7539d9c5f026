// What the rules for convolutions and products share.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_PRODUCT_OF_CODES_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_PRODUCT_OF_CODES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/codes/coded_product.h"
#include "ops/epilogue.h"
#include "ops/op_form.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/affine_parameter.h"
#include "transpiler/lower/rules/bias_codes.h"
#include "transpiler/lower/rules/lowering.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {

// What a product multiplies its activation with: the codes of a parameter, or of another
// activation.
struct WeightOperand {
  const Argument* codes = nullptr;
  bool is_parameter = false;
  CodedOperand form;
  std::vector<float> steps;                  // one, or one for each channel
  std::optional<int32_t> zero_point;         // of all codes
  std::optional<AffineParameterCodes> rows;  // those of a parameter with zero points of columns
};

// The codes that an input stands for, or why it stands for none. Errors: those of
// FindAffineParameterCodes and of Lowering::FindParameterCodes.
using WeightOrReason = std::variant<WeightOperand, IntegerReason>;
absl::StatusOr<WeightOrReason> FindWeightOperand(const Argument& input, Lowering& lowering);

// A product that is computed on integers, with what its op on integers says.
struct ProductOfCodes {
  CodedProduct decided;
  ActivationCodes activation;
  WeightOperand weight;
  // The op on integers, and the attributes that it has from the portable one.
  absl::string_view type;
  std::vector<OpDesc::Attr> attributes;
  // What all sums are multiplied by.
  float factor = 1;
  // The op's own bias: its codes, or the floats.
  std::optional<ParameterBiasCodes> bias = std::nullopt;
  const Tensor* bias_numbers = nullptr;

  struct OwnEpilogue {
    Epilogue stages;
    std::vector<std::string> operands;

    // The op on integers, with it.
    OpDesc BuildInto(OpBuilder& integers) const;
  };
  // What the op does itself after its sums. `adds_bias`: it adds a bias that is floats.
  OwnEpilogue own_epilogue(bool adds_bias) const;
};

// Whether ops of `type`, which are on integers, mean that where they lack the attribute.
bool IsDefault(absl::string_view type, const OpDesc::Attr& attribute);

// The attributes with which an op of `type` means what an op means by those of the same names: the
// ones that the op has itself, and its defaults where those of `type` are others.
std::vector<OpDesc::Attr> AttributesFor(absl::string_view type, const OpAttributes& attributes,
                                        std::initializer_list<const char*> names);

// Declares the scales of an op's sums as a parameter of what it gives, and gives their name. Error
// (kInvalidArgument): one is more than a float holds.
absl::StatusOr<std::string> AddScales(const Op& op, std::vector<float> scales, Lowering& lowering);

// Puts the op on integers in the place of the op: with a scale for each channel of a parameter, or
// one of two activations. Errors: those of AddScales.
absl::StatusOr<IntegerReason> LowerProductOfCodes(const Op& op, const ProductOfCodes& product,
                                                  Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_PRODUCT_OF_CODES_H_
