#include "runtime/kernels/instruction_set.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/strings/match.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace fixpoint::kernels {
namespace {

bool May(dnnl::cpu_isa isa) {
  const int wanted = static_cast<int>(isa);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

// The sets of oneDNN with instructions that add products of 8 bits in 32. For some shapes oneDNN
// has implementations by other instructions, on the same machine: they add pairs of products in 16
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

bool MimicsAvxVnni() {
  static const bool mimics = [] {
    const char* const limit = std::getenv("ONEDNN_MAX_CPU_ISA");
    return limit != nullptr && absl::EqualsIgnoreCase(limit, "AVX2_VNNI") &&
           !May(dnnl::cpu_isa::avx2_vnni) && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("avx512vnni") != 0;
  }();
  return mimics;
}

ProductSet BestProductSet() {
  if (May(dnnl::cpu_isa::avx512_core_vnni)) return ProductSet::kAvx512Vnni;
  if (May(dnnl::cpu_isa::avx512_core)) return ProductSet::kPairsOfAvx512;
  if (May(dnnl::cpu_isa::avx2_vnni) || MimicsAvxVnni()) return ProductSet::kAvxVnni;
  return May(dnnl::cpu_isa::avx2) ? ProductSet::kPairsOfAvx2 : ProductSet::kNone;
}

bool AddsProductsExactly(absl::string_view instruction_set) {
  return std::any_of(std::begin(kExactSets), std::end(kExactSets), [&](const ExactSet& set) {
    return absl::StartsWith(instruction_set, set.name);
  });
}

bool HasVnni() {
  return BestProductSet() == ProductSet::kAvxVnni || BestProductSet() == ProductSet::kAvx512Vnni;
}

bool HasAvx512Vnni() { return BestProductSet() == ProductSet::kAvx512Vnni; }

bool HasAmx() { return May(dnnl::cpu_isa::avx512_core_amx); }

}  // namespace fixpoint::kernels
