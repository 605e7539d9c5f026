#include "runtime/kernels/instruction_set.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace fixpoint::kernels {
namespace {

bool May(dnnl::cpu_isa isa) {
  const int wanted = static_cast<int>(isa);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

// The sets with instructions that add products of 8 bits in 32. For some shapes oneDNN has
// implementations by other instructions, on the same machine: they add pairs of products in 16
// bits.
struct ExactSet {
  absl::string_view name;  // or how oneDNN's names of several begin
  dnnl::cpu_isa isa;       // the set, or one that all of them have
};

constexpr ExactSet kExactSets[] = {
    {"avx2_vnni", dnnl::cpu_isa::avx2_vnni},
    {"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni},
    {"avx512_core_bf16", dnnl::cpu_isa::avx512_core_bf16},
    {"avx512_core_fp16", dnnl::cpu_isa::avx512_core_fp16},
    {"avx512_core_amx", dnnl::cpu_isa::avx512_core_amx},
    {"avx10_", dnnl::cpu_isa::avx512_core_vnni},
};

}  // namespace

InstructionSet BestInstructionSet() {
  if (May(dnnl::cpu_isa::avx512_core)) return InstructionSet::kAvx512;
  return May(dnnl::cpu_isa::avx2) ? InstructionSet::kAvx2 : InstructionSet::kSse41;
}

bool HasExactIntegerProducts() {
  return std::any_of(std::begin(kExactSets), std::end(kExactSets),
                     [](const ExactSet& set) { return May(set.isa); });
}

bool AddsPairsOfProducts() { return BestInstructionSet() != InstructionSet::kSse41; }

bool AddsProductsExactly(absl::string_view instruction_set) {
  return std::any_of(std::begin(kExactSets), std::end(kExactSets), [&](const ExactSet& set) {
    return absl::StartsWith(instruction_set, set.name);
  });
}

bool HasAvx512Vnni() { return May(dnnl::cpu_isa::avx512_core_vnni); }

}  // namespace fixpoint::kernels
