#include "runtime/kernels/onednn_implementations.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

using Names = absl::Span<const absl::string_view>;

constexpr absl::string_view kAny[] = {""};

// Their instructions add products of 8 bits in 32. oneDNN has implementations by other instructions
// for some shapes, on the same machine: these add pairs of products in 16 bits, which saturates.
constexpr absl::string_view kExactSets[] = {"avx2_vnni",        "avx512_core_vnni",
                                            "avx512_core_bf16", "avx512_core_fp16",
                                            "avx512_core_amx",  "avx10_"};

// They store what they have added up. Other kinds convert it to floats first, INT32 results too.
constexpr absl::string_view kKindsThatStoreSums[] = {"brg", "brdgmm"};

// These compute an epilogue element by element,
constexpr absl::string_view kReference[] = {"ref"};
// and these give other bits with one than without.
constexpr absl::string_view kGemm[] = {"gemm"};

// oneDNN 3's first choice for strides, half as fast as its second.
constexpr absl::string_view kStrided[] = {"brgconv_strided"};

// oneDNN 3.2's copies the pixels that a filter reads, eight channels at a time, to memory that ends
// after the last channel.
constexpr absl::string_view kPointwise[] = {"jit_1x1"};
constexpr absl::string_view kAvx2[] = {"avx2"};

// None is allowed for transposed convolutions of codes: of oneDNN 3.2's, some read beyond their
// inputs where the output is larger than the least that the shape allows, or the stride than the
// filter.

enum class Verdict { kAllowed, kRefused };

// A use with allowed implementations has no others; one with refused implementations has all
// others.
struct Rule {
  OnednnUse use;
  Verdict verdict;
  Names kinds;             // parts of what is in front of the last colon
  Names instruction_sets;  // beginnings of what is after it
};

constexpr Rule kRules[] = {
    {OnednnUse::kSumsOfCodes, Verdict::kAllowed, kAny, kExactSets},
    {OnednnUse::kStoredSumsOfCodes, Verdict::kAllowed, kKindsThatStoreSums, kExactSets},
    {OnednnUse::kFloatsWithEpilogue, Verdict::kRefused, kReference, kAny},
    {OnednnUse::kFloatsWithEpilogue, Verdict::kRefused, kGemm, kAny},
    {OnednnUse::kGradientOfImages, Verdict::kRefused, kStrided, kAny},
    {OnednnUse::kGradientOfSteppingFilters, Verdict::kRefused, kPointwise, kAvx2},
};

bool Matches(const Rule& rule, absl::string_view kind, absl::string_view instruction_set) {
  return std::any_of(rule.kinds.begin(), rule.kinds.end(),
                     [&](absl::string_view part) { return absl::StrContains(kind, part); }) &&
         std::any_of(rule.instruction_sets.begin(), rule.instruction_sets.end(),
                     [&](absl::string_view set) { return absl::StartsWith(instruction_set, set); });
}

}  // namespace

bool IsAllowed(OnednnUse use, absl::string_view implementation) {
  const size_t colon = std::min(implementation.rfind(':'), implementation.size());
  const absl::string_view kind = implementation.substr(0, colon);
  const absl::string_view instruction_set =
      implementation.substr(std::min(colon + 1, implementation.size()));
  bool are_others_allowed = true;
  for (const Rule& rule : kRules) {
    if (rule.use != use) continue;
    const bool is_allowed = rule.verdict == Verdict::kAllowed;
    if (Matches(rule, kind, instruction_set)) return is_allowed;
    are_others_allowed = !is_allowed;
  }
  return are_others_allowed;
}

}  // namespace fixpoint::kernels
