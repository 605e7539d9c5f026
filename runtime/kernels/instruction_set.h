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

// How products of codes are added: each by itself; in pairs, in 16 bits (tile_loops.h); or, with
// VNNI, four at a time, in 32.
enum class ProductSet { kNone, kPairsOfAvx2, kPairsOfAvx512, kAvxVnni, kAvx512Vnni };
inline constexpr int kProductSets = 5;
ProductSet BestProductSet();
bool HasVnni();

// AVX-VNNI, VNNI in vectors of 32 products, may be tried where a processor has only that of
// AVX-512: for the limit AVX2_VNNI our own loops then use the instructions of AVX-512 for such
// vectors. oneDNN has none.
bool MimicsAvxVnni();

// Whether oneDNN has VNNI. Without, it adds pairs of products in 16 bits, which saturate: its
// products of u8 and s8 are then not exact.
bool HasExactIntegerProducts();

// Whether those of a set, as oneDNN names the sets of its implementations ("avx512_core_vnni"), do.
bool AddsProductsExactly(absl::string_view instruction_set);

// Whether there is VNNI in vectors of 64 products, and whether there are products of whole tiles
// besides, which only oneDNN has.
bool HasAvx512Vnni();
bool HasAmx();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_INSTRUCTION_SET_H_
