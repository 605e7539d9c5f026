// Long work that ends in order when it is interrupted.

#ifndef FIXPOINT_TOOLS_INTERRUPTION_H_
#define FIXPOINT_TOOLS_INTERRUPTION_H_

namespace fixpoint {

// From here on the first SIGINT or SIGTERM only says that the work is to end; a second one ends the
// process at once. A signal that the process was started to ignore stays ignored.
void DeferInterruption();

// Whether one has come.
bool IsInterrupted();

// Ends the process by the signal that was deferred, so that whoever waits for it sees that it was
// interrupted. Does nothing if none has come.
void EndIfInterrupted();

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INTERRUPTION_H_
