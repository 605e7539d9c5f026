#include "runtime/kernels/onednn_implementations.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "runtime/kernels/instruction_set.h"

namespace fixpoint::kernels {
namespace {

using Names = absl::Span<const absl::string_view>;

constexpr absl::string_view kAny[] = {""};

bool IsAny(absl::string_view) { return true; }

bool IsAvx2(absl::string_view instruction_set) { return absl::StartsWith(instruction_set, "avx2"); }

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

// None is allowed for transposed convolutions of codes: of oneDNN 3.2's, some read beyond their
// inputs where the output is larger than the least that the shape allows, or the stride than the
// filter.

enum class Verdict { kAllowed, kRefused };

// A use with allowed implementations has no others; one with refused implementations has all
// others.
struct Rule {
  OnednnUse use;
  Verdict verdict;
  Names kinds;                                    // parts of what is in front of the last colon
  bool (*is_of_set)(absl::string_view set_name);  // what is after it
};

constexpr Rule kRules[] = {
    {OnednnUse::kSumsOfCodes, Verdict::kAllowed, kAny, AddsProductsExactly},
    {OnednnUse::kStoredSumsOfCodes, Verdict::kAllowed, kKindsThatStoreSums, AddsProductsExactly},
    {OnednnUse::kFloatsWithEpilogue, Verdict::kRefused, kReference, IsAny},
    {OnednnUse::kFloatsWithEpilogue, Verdict::kRefused, kGemm, IsAny},
    {OnednnUse::kGradientOfImages, Verdict::kRefused, kStrided, IsAny},
    {OnednnUse::kGradientOfSteppingFilters, Verdict::kRefused, kPointwise, IsAvx2},
};

bool Matches(const Rule& rule, absl::string_view kind, absl::string_view instruction_set) {
  return std::any_of(rule.kinds.begin(), rule.kinds.end(),
                     [&](absl::string_view part) { return absl::StrContains(kind, part); }) &&
         rule.is_of_set(instruction_set);
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
