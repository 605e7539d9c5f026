// A product of two operands that are held as codes: whether its sums are computed on integers, and
// how its bias is added to them. In lowered programs integer ops say it; the executor plans it for
// every program.

#ifndef FIXPOINT_OPS_CODES_CODED_PRODUCT_H_
#define FIXPOINT_OPS_CODES_CODED_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/sums_of_codes.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

enum class IntegerReason;  // integer_reasons.h

// What a product adds up, by its form and the dimensions of its operands.
struct ProductSums {
  int channel_axis = 0;        // of the weight: the axis of the output's channels
  int64_t channel_groups = 1;  // an entry of that axis serves a channel of each group
  int64_t products = 0;        // of a sum; 0: not known
  bool is_plain = false;       // of rows of the activation and columns of one matrix, times 1
};

// What an op with a ProductTrait adds up where its operands have these dimensions, {} where they
// are not known; or why its sums are not those of integers.
using SumsOrReason = std::variant<ProductSums, IntegerReason>;
SumsOrReason SumsOfProduct(const Op& op, const OpAttributes& attributes, const Dims& activation,
                           const Dims& weight);

// Codes of 8 bits that the floats of an operand stand for.
struct OperandCodes {
  bool is_unsigned = false;
  bool has_zero_point = false;           // one of all codes
  std::optional<int> channel_axis = {};  // of the scales; nothing: one scale
  bool has_channel_zero_points = false;  // one for each entry of that axis
};

// What a product adds to its sums.
enum class BiasForm {
  kNone,
  kFloats,
  kCodesOfSums,  // int32, in the steps of the sums (ops/bias_codes.h)
  kOtherCodes,   // in other steps
};

// Where it is added.
enum class BiasKind {
  kNone,
  kToFloats,      // to the sums times their scales, as a stage
  kToSums,        // to the sums, as it is
  kRoundedToSums  // to the sums, after a run has rounded it to their steps, where int32 holds it
};

struct CodedProduct {
  ProductSums sums;
  OperandCodes activation;
  OperandCodes weight;

  bool has_weight_zero_points() const {
    return weight.has_zero_point || weight.has_channel_zero_points;
  }
  // One of its sums, with a bias of ops/bias_codes.h or without one.
  SumOfProducts Sum(bool has_bias = false) const;
  // Why its sums are not computed on integers; nothing: they are.
  std::optional<IntegerReason> WhyNotOnIntegers() const;
  // How a bias in a form is added to its sums.
  BiasKind KindOfBias(BiasForm form) const;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_CODED_PRODUCT_H_
