#include "runtime/kernels/fake_quantize_loops.h"

#include "oneapi/dnnl/dnnl.hpp"

namespace fixpoint::kernels {
namespace {

#define FIXPOINT_ISA avx512
#define FIXPOINT_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "runtime/kernels/fake_quantize_loops.inc"

#define FIXPOINT_ISA avx2
#define FIXPOINT_TARGET __attribute__((target("avx2")))
#include "runtime/kernels/fake_quantize_loops.inc"

// The least that oneDNN needs.
#define FIXPOINT_ISA sse41
#define FIXPOINT_TARGET __attribute__((target("sse4.1")))
#include "runtime/kernels/fake_quantize_loops.inc"

const Loops& FindBestLoops() {
  const auto isa = dnnl::get_effective_cpu_isa();
  const auto includes = [isa](dnnl::cpu_isa wanted) {
    return (static_cast<int>(isa) & static_cast<int>(wanted)) == static_cast<int>(wanted);
  };
  if (includes(dnnl::cpu_isa::avx512_core)) return avx512::kLoops;
  if (includes(dnnl::cpu_isa::avx2)) return avx2::kLoops;
  return sse41::kLoops;
}

}  // namespace

const Loops& BestLoops() {
  static const Loops& loops = FindBestLoops();
  return loops;
}

}  // namespace fixpoint::kernels
