// Ops that move values to other places and compute none: reshape, transpose, concat, split, slice,
// maxima, a choice by a mask, padding by 0. They move codes of one kind instead, where nothing but
// steps to codes and functions of one element reads their results:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=127}
//   integer_dequantize(X=r) -> (Out=y) {range=2.0, largest_code=127}
//   concat(X=[x, y]) -> (Out=z) {axis=1}
//
//   concat(X=[q, r]) -> (Out=z.quantized) {axis=1}
//   integer_dequantize(X=z.quantized) -> (Out=z) {range=2.0, largest_code=127}
//
// so that a step to codes of z finds codes. Padding puts the code of 0.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_MOVE_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_MOVE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/lower/code_type.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

enum class IntegerReason;  // ops/codes/integer_reasons.h

// Whether the variable is declared as a tensor, so that codes can be declared like it.
bool CanHoldCodes(const Variable& variable);

// Declares a variable for the codes of another, and returns its name. REQUIRES:
// CanHoldCodes(numbers).
absl::StatusOr<std::string> AddCodes(const Variable& numbers, VarType::Type dtype,
                                     Lowering& lowering);

// Puts before an op one that moves the codes `from`, of each of MovedInputs, to `to`, of each of
// MovedOutputs (ops/value_flow.h).
void MoveCodes(const Op& move, const std::vector<std::string>& from,
               const std::vector<std::string>& to, const CodeType& type, Lowering& lowering);

// As above. Error: that of Rewriter::AddVariable.
absl::StatusOr<IntegerReason> LowerMove(const Op& op, Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_MOVE_H_
