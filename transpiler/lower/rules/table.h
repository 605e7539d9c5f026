// Functions of codes, as tables:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=127}
//   sigmoid(X=x) -> (Out=y)
//
//   integer_table(X=q, Table=y.table) -> (Out=y) {never_negative=true}
//
// The table has the float for each code, as the executor computes it. Where y is quantized, and
// nothing else reads it, the table has the codes of those floats:
//
//   integer_table(X=q, Table=y.table_1) -> (Out=r) {out_dtype=20, out_range=1.0,
//     out_largest_code=255, never_negative=true}
//
// A quantizer of what codes stand for is such a table too.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_TABLE_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_TABLE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

// Whether an op is a function of one element that a table can hold: an activation, or a product
// with a number or a sum with one. REQUIRES: it is in form.
bool IsTableOfCodes(const Op& op, const Lowering& lowering);

// Replaces such an op by a table of floats, if it reads what codes stand for. Returns whether it
// does.
absl::StatusOr<bool> LowerToTable(const Op& op, Lowering& lowering);

// Turns a table of floats into one of codes, which are stored in a variable.
absl::Status StoreInTable(const Op& table, absl::string_view codes,
                          const Quantization& quantization, Lowering& lowering);

// Whether a quantizer of the same range, whose X is the floats of the codes `from`, gives these
// codes back: not where the range is so small or so large that floats do not hold the values or the
// multiplier.
bool GivesSameCodes(const ActivationCodes& from, const Quantization& quantization);

// Replaces a quantizer whose X is the floats of the codes `from` by a table of codes, which are
// stored in a variable.
absl::Status RequantizeByTable(const Op& op, const ActivationCodes& from, absl::string_view codes,
                               const Quantization& quantization, Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_TABLE_H_
