// A product of two operands that are held as codes: whether its sums are computed on integers, and
// how a bias is added to them. The planner asks before it makes a bias an int32, lowering writes
// the answer as an integer op, and the executor plans from it.

#ifndef FIXPOINT_OPS_CODES_CODED_PRODUCT_H_
#define FIXPOINT_OPS_CODES_CODED_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/functional/function_ref.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
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

// Codes that the floats of an operand stand for: of 8 bits, or wide ones (ops/code_dtype.h).
struct OperandCodes {
  bool is_unsigned = false;
  bool has_zero_point = false;           // one of all codes
  std::optional<int> channel_axis = {};  // of the scales; nothing: one scale
  bool has_channel_zero_points = false;  // one for each entry of that axis
  bool is_wide = false;                  // signed, without zero points
};

// An operand of a product that is held as codes, or why it is not.
struct CodedOperand {
  OperandCodes codes;
  Dims dims;  // some may be unknown; {}: all are
};
using OperandOrReason = std::variant<CodedOperand, IntegerReason>;

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
  OwnWork own;
  // Whether the op's output is exactly the scaled sums, so that an op after it can add to them.
  bool gives_sums = false;
  // Why lowering cannot write the op as one on integers; nothing: it can.
  std::optional<IntegerReason> why_not_lowered = std::nullopt;

  // Whether sums have 64 bits.
  bool is_wide() const { return activation.is_wide || weight.is_wide; }
  bool has_weight_zero_points() const {
    return weight.has_zero_point || weight.has_channel_zero_points;
  }
  // One of its sums, with a bias of ops/bias_codes.h or without one. REQUIRES: !is_wide().
  SumOfProducts Sum(bool has_bias = false) const;
  // How a bias in a form, of the op or of an op after it, is added to its sums.
  BiasKind KindOfBias(BiasForm form) const;
};

// What is computed where the operands of an op with a ProductTrait are codes, as `operand_of` says
// of each, or why its sums are not computed on integers. REQUIRES: CheckForm.
using ProductOrReason = std::variant<CodedProduct, IntegerReason>;
ProductOrReason DecideProduct(
    const Op& op, const OpAttributes& attributes,
    absl::FunctionRef<OperandOrReason(const Argument& operand)> operand_of);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_CODED_PRODUCT_H_
