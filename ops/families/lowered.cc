// The ops of lowered programs between floats and codes, and on codes alone. Sums of products of
// codes are defined beside the ops that they come from: integer_conv2d, integer_mul, ...

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/dims.h"
#include "ops/families/integer_ops.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

absl::Status InferQuantize(InferContext& op) {
  const int32_t smallest = CodesOfDtype(static_cast<VarType::Type>(op.Int("out_dtype"))).smallest;
  const int64_t code = op.Int("smallest_code");
  if (code < smallest || code > op.Int("out_largest_code")) {
    return absl::InvalidArgumentError(
        absl::StrCat("smallest_code is ", code, "; want ", smallest, " to out_largest_code"));
  }
  if (const double multiplier = op.Float("multiplier");
      !(multiplier > 0 && std::isfinite(multiplier))) {
    return absl::InvalidArgumentError(
        absl::StrCat("multiplier is ", multiplier, "; want a finite number above 0"));
  }
  op.SetOutputLike("Out", op.Input("X"));
  return absl::OkStatus();
}

absl::Status InferDequantize(InferContext& op) {
  TensorInfo x = op.Input("X");
  x.dtype = VarType::FP32;
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

absl::Status InferAdd(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo y = op.Input("Y");
  if (x.has_dims() && y.has_dims() && !MayBeEqual(x.dims, y.dims)) {
    return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x.dims), " and Y ",
                                                   DimsText(y.dims), "; want equal dimensions"));
  }
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

absl::Status InferTable(InferContext& op) {
  const TensorInfo table = op.Input("Table");
  if (table.has_dims() && (table.rank() != 1 || !MayBeEqual(table.dims[0], kCodesInByte))) {
    return absl::InvalidArgumentError(absl::StrCat("Table is ", DimsText(table.dims), "; want [",
                                                   kCodesInByte, "], an entry for each code"));
  }
  op.SetOutputLike("Out", op.Input("X"));
  return absl::OkStatus();
}

// Floats that are never negative have codes that are never negative.
bool StoresZeroAsNoNegativeCode(const OpAttributes& op) { return op.Int("out_zero_point") >= 0; }

// Codes that are never negative stand for floats that are not.
bool IsSymmetric(const OpAttributes& op) { return FindAttr(op.op(), "zero_point") == nullptr; }

bool SaysNeverNegative(const OpAttributes& op) { return op.Bool("never_negative"); }

}  // namespace

std::vector<OpSchema> LoweredOps() {
  OpList ops;
  DefineStored(ops.Define("integer_quantize(X) -> (Out)"))
      .Doc(
          "The codes of X, as integers: X * multiplier, rounded half to even, plus out_zero_point, "
          "between smallest_code and out_largest_code, INT8, UINT8 or INT16.")
      .Quantizes(QuantOp::kQuantize)
      .IsOfSamples()
      .KeepsSignIf(StoresZeroAsNoNegativeCode)
      .Attr("multiplier", Required(FLOAT))
      .Attr("smallest_code", Required(INT))
      .Infer(InferStored(InferQuantize, "Out", StoredTypes::kCodes));
  ops.Define("integer_dequantize(X) -> (Out)")
      .Doc(
          "The floats that the codes X, as integers, stand for: X * range / largest_code; for "
          "affine codes, which have the attribute zero_point, (X - zero_point) * (range / "
          "largest_code).")
      .Quantizes(QuantOp::kDequantize)
      .IsOnIntegers()
      .KeepsSignIf(IsSymmetric)
      .Attr("range", Required(FLOAT))
      .Attr("largest_code", Required(INT))
      .Attr("zero_point", Int(0))
      .Infer(InferDequantize);
  ops.Define("integer_add(X, Y) -> (Out)")
      .Doc(
          "X, in float, plus what the codes Y, as integers, stand for: fma(Y - zero_point, range / "
          "largest_code, X), the quotient as FP32.")
      .IsOnIntegers()
      .IsOfSamples()
      .KeepsSignIf(IsSymmetric)
      .Attr("range", Required(FLOAT))
      .Attr("largest_code", Required(INT))
      .Attr("zero_point", Int(0))
      .Infer(InferAdd);
  DefineStored(ops.Define("integer_table(X, Table) -> (Out)"))
      .Doc(
          "A function of the codes X, INT8 or UINT8: Out is the entry of Table [256] for each "
          "code. Entries are in the order of codes, of type out_dtype. never_negative: no entry is "
          "below 0.")
      .NeverNegativeIf(SaysNeverNegative)
      .IsOfSamples()
      .Attr("never_negative", Bool(false))
      .Infer(InferStored(InferTable, "Out"));
  return ops.Build();
}

}  // namespace fixpoint
