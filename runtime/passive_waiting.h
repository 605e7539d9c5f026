// How threads wait for each other.

#ifndef FIXPOINT_RUNTIME_PASSIVE_WAITING_H_
#define FIXPOINT_RUNTIME_PASSIVE_WAITING_H_

namespace fixpoint {

// Lets threads of this process that wait for work sleep, instead of spinning: where other processes
// run on the same cores, one that spins holds up the one that it waits for. OpenMP reads how to
// wait when it is loaded, so this sets OMP_WAIT_POLICY and begins the process anew, with the same
// arguments; call it before anything is done. It does nothing where the environment says how to
// wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT), and where the process cannot be begun anew. `argv`: that
// of main.
void WaitPassively(const char* const* argv);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_PASSIVE_WAITING_H_
