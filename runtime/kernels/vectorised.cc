#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

std::string LoopsName() {
  switch (BestInstructionSet()) {
    case InstructionSet::kAvx512:
      return "loops:avx512";
    case InstructionSet::kAvx2:
      return "loops:avx2";
    case InstructionSet::kSse41:
      break;
  }
  return "loops:sse41";
}

}  // namespace fixpoint::kernels
