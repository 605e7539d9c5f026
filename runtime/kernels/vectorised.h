// Loops for the best instructions that the machine has, from one source. In
//
//   Vectorised([=] {
//   #pragma GCC ivdep  // y may be x
//     for (int64_t i = 0; i < size; ++i) y[i] = a * x[i];
//   });
//
// the loop and all that it calls is inlined into one function for each instruction set, which the
// compiler vectorises; so it calls only what is defined in a header or its own file. A library of
// such loops is a vectorised_library (vectorised.bzl). All instruction sets give the same bits:
// nothing is contracted or added in another order than is written.

#ifndef FIXPOINT_RUNTIME_KERNELS_VECTORISED_H_
#define FIXPOINT_RUNTIME_KERNELS_VECTORISED_H_

#include <string>

#include "runtime/kernels/instruction_set.h"

namespace fixpoint::kernels {
namespace internal {

// Takes the loop by value, so that no store to memory can change what it captured.
template <typename Loop>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), flatten, noinline)) void RunAvx512(
    Loop loop) {
  loop();
}

template <typename Loop>
__attribute__((target("avx2,fma"), flatten, noinline)) void RunAvx2(Loop loop) {
  loop();
}

template <typename Loop>
__attribute__((target("sse4.1"), flatten, noinline)) void RunSse41(Loop loop) {
  loop();
}

}  // namespace internal

template <typename Loop>
void Vectorised(Loop loop) {
  static const InstructionSet best = BestInstructionSet();
  switch (best) {
    case InstructionSet::kAvx512:
      return internal::RunAvx512(loop);
    case InstructionSet::kAvx2:
      return internal::RunAvx2(loop);
    case InstructionSet::kSse41:
      return internal::RunSse41(loop);
  }
}

// The name of a kernel of such loops, in the form of oneDNN's names: "loops:avx512".
std::string LoopsName();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_VECTORISED_H_
