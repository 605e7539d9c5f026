#include "tools/interruption.h"

#include <csignal>

namespace fixpoint {
namespace {

volatile std::sig_atomic_t deferred_signal = 0;

void Defer(int signal) { deferred_signal = signal; }

}  // namespace

void DeferInterruption() {
  struct sigaction action = {};
  action.sa_handler = &Defer;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool IsInterrupted() { return deferred_signal != 0; }

void EndIfInterrupted() {
  if (deferred_signal == 0) return;
  std::signal(deferred_signal, SIG_DFL);
  std::raise(deferred_signal);
}

}  // namespace fixpoint
