#include "runtime/kernels/instruction_set.h"

#include "oneapi/dnnl/dnnl.hpp"

namespace fixpoint::kernels {
namespace {

bool May(dnnl::cpu_isa isa) {
  const int wanted = static_cast<int>(isa);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace

InstructionSet BestInstructionSet() {
  if (May(dnnl::cpu_isa::avx512_core)) return InstructionSet::kAvx512;
  return May(dnnl::cpu_isa::avx2) ? InstructionSet::kAvx2 : InstructionSet::kSse41;
}

bool HasExactIntegerProducts() {
  return May(dnnl::cpu_isa::avx512_core_vnni) || May(dnnl::cpu_isa::avx2_vnni);
}

bool HasAvx512Vnni() { return May(dnnl::cpu_isa::avx512_core_vnni); }

}  // namespace fixpoint::kernels
