// The threads that kernels run on: those of OpenMP, which oneDNN's are.

#ifndef FIXPOINT_RUNTIME_KERNELS_THREADS_H_
#define FIXPOINT_RUNTIME_KERNELS_THREADS_H_

namespace fixpoint::kernels {

// Kernels that this thread runs from now on use so many threads. The same number gives the same
// bits. REQUIRES: 1 or more.
void UseThreads(int count);

// How many processors this process may use: as many as it may run on, and no more than the quota of
// its control group pays for. At least 1.
int GrantedThreads();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_THREADS_H_
