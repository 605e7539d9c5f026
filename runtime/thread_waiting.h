// How threads wait for each other.

#ifndef FIXPOINT_RUNTIME_THREAD_WAITING_H_
#define FIXPOINT_RUNTIME_THREAD_WAITING_H_

namespace fixpoint {

// Lets waiting threads of this process spin for as long as the steps of a small network take, and
// then sleep: waking one that sleeps takes longer than many a step, but if other processes run on
// the same cores, a spinning thread holds up the one that it waits for. OpenMP reads how to wait
// when it is loaded, so this sets GOMP_SPINCOUNT and restarts the process with the same arguments;
// call it before anything else is done. It does nothing if the environment sets how to wait
// (OMP_WAIT_POLICY, GOMP_SPINCOUNT), or if the process cannot be restarted. `argv`: that of main.
void SpinBriefly(const char* const* argv);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_THREAD_WAITING_H_
