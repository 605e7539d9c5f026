// Functions of codes, as tables of 256 entries.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODE_TABLE_H_
#define FIXPOINT_RUNTIME_KERNELS_CODE_TABLE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {

constexpr int64_t kTableSize = 256;

// out[i] = the entry of codes[i]: entries are in the order of codes, the smallest of which is 0 or
// -128. `table` has kTableSize entries, in the type of the output. REQUIRES: out is as large as
// codes.
void LookUp(absl::Span<const uint8_t> codes, CodeType type, const void* table, Output out);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODE_TABLE_H_
