#include "runtime/kernels/fake_quantize_loops.h"

#include "runtime/kernels/instruction_set.h"

namespace fixpoint::kernels {
namespace {

#define FIXPOINT_ISA avx512
#define FIXPOINT_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "runtime/kernels/fake_quantize_loops.inc"

#define FIXPOINT_ISA avx2
#define FIXPOINT_TARGET __attribute__((target("avx2")))
#include "runtime/kernels/fake_quantize_loops.inc"

#define FIXPOINT_ISA sse41
#define FIXPOINT_TARGET __attribute__((target("sse4.1")))
#include "runtime/kernels/fake_quantize_loops.inc"

const Loops& FindBestLoops() {
  switch (BestInstructionSet()) {
    case InstructionSet::kAvx512:
      return avx512::kLoops;
    case InstructionSet::kAvx2:
      return avx2::kLoops;
    case InstructionSet::kSse41:
      break;
  }
  return sse41::kLoops;
}

}  // namespace

const Loops& BestLoops() {
  static const Loops& loops = FindBestLoops();
  return loops;
}

}  // namespace fixpoint::kernels
