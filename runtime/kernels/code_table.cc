#include "runtime/kernels/code_table.h"

#include <glog/logging.h>
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "ops/code_range.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

constexpr int64_t kBytes = 64;  // of a vector

// The entries in the order of bytes; signed codes start in the middle.
template <typename Entry>
std::array<Entry, kCodesInByte> InOrderOfBytes(CodeType type, const Entry* table) {
  const int first = ShiftToUnsigned(type);
  std::array<Entry, kCodesInByte> ordered;
  for (int byte = 0; byte < kCodesInByte; ++byte)
    ordered[byte] = table[(byte + first) % kCodesInByte];
  return ordered;
}

bool HasBytePermutations() {
  static const bool has =
      BestInstructionSet() == InstructionSet::kAvx512 && __builtin_cpu_supports("avx512vbmi") != 0;
  return has;
}

// One permutation finds the entry in each half of the table, by the low 7 bits; the last bit says
// which of them it is.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void Permute(const uint8_t* codes,
                                                                    int64_t size,
                                                                    const uint8_t* table,
                                                                    uint8_t* out) {
  __m512i parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = _mm512_loadu_si512(table + i * kBytes);
  for (int64_t i = 0; i < size; i += kBytes) {
    const __mmask64 mask = size - i < kBytes ? (__mmask64{1} << (size - i)) - 1 : ~__mmask64{0};
    const __m512i places = _mm512_maskz_loadu_epi8(mask, codes + i);
    const __m512i low = _mm512_permutex2var_epi8(parts[0], places, parts[1]);
    const __m512i high = _mm512_permutex2var_epi8(parts[2], places, parts[3]);
    const __mmask64 is_high = _mm512_movepi8_mask(places);
    _mm512_mask_storeu_epi8(out + i, mask, _mm512_mask_blend_epi8(is_high, low, high));
  }
}

template <typename Entry>
void LookUpEntries(absl::Span<const uint8_t> codes, CodeType type, const void* table, Entry* out) {
  const auto ordered = InOrderOfBytes(type, static_cast<const Entry*>(table));
  ParallelFor(static_cast<int64_t>(codes.size()), 1 + sizeof(Entry),
              [=, codes = codes.data(), ordered = ordered.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) out[i] = ordered[codes[i]];
              });
}

}  // namespace

void LookUp(absl::Span<const uint8_t> codes, CodeType type, const void* table, Output out) {
  CHECK_EQ(out.size(), codes.size());
  if (out.type() == OutputType::kFloat) {
    return LookUpEntries(codes, type, table, static_cast<float*>(out.data()));
  }
  auto* const bytes = static_cast<uint8_t*>(out.data());
  if (!HasBytePermutations()) return LookUpEntries(codes, type, table, bytes);
  const auto ordered = InOrderOfBytes(type, static_cast<const uint8_t*>(table));
  const auto size = static_cast<int64_t>(codes.size());
  RunOnThreads(ThreadsFor(size, 2), CeilDivide(size, kBytes), [&](int, int64_t begin, int64_t end) {
    const int64_t first = begin * kBytes;
    Permute(codes.data() + first, std::min(size, end * kBytes) - first, ordered.data(),
            bytes + first);
  });
}

}  // namespace fixpoint::kernels
