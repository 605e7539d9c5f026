// The instructions that kernels use: those of the machine, as far as oneDNN is allowed to use them
// (ONEDNN_MAX_CPU_ISA).

#ifndef FIXPOINT_RUNTIME_KERNELS_INSTRUCTION_SET_H_
#define FIXPOINT_RUNTIME_KERNELS_INSTRUCTION_SET_H_

#include "absl/strings/string_view.h"

namespace fixpoint::kernels {

// oneDNN needs SSE4.1.
enum class InstructionSet { kSse41, kAvx2, kAvx512 };
inline constexpr int kInstructionSets = 3;
InstructionSet BestInstructionSet();

// Whether there are instructions that add products of 8 bits in 32 (VNNI). Without them oneDNN adds
// pairs of products in 16 bits, which saturate: its products of u8 and s8 are then not exact.
bool HasExactIntegerProducts();

// Whether there are instructions that add pairs of such products in 16 bits, with which sums are
// exact where no pair leaves 16 bits (paired_loops.h).
bool AddsPairsOfProducts();

// Whether those of a set, as oneDNN names the sets of its implementations ("avx512_core_vnni"), do.
bool AddsProductsExactly(absl::string_view instruction_set);

// Whether they are those of AVX-512, in vectors of 64 products.
bool HasAvx512Vnni();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INSTRUCTION_SET_H_
