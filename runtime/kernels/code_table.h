// Functions of codes, as tables with an entry for each.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODE_TABLE_H_
#define FIXPOINT_RUNTIME_KERNELS_CODE_TABLE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

// out[i] = the entry of codes[i]: `table` has kCodesInByte entries (ops/code_range.h) in the order
// of codes, in the type of the output. REQUIRES: out is as large as codes.
void LookUp(absl::Span<const uint8_t> codes, CodeType type, const void* table, Output out);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODE_TABLE_H_
