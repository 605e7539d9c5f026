#include "tools/interruption.h"

#include <csignal>

namespace fixpoint {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

volatile std::sig_atomic_t deferred_signal = 0;

void Defer(int signal) {
  deferred_signal = signal;
  for (const int next : kSignals) std::signal(next, SIG_DFL);
}

}  // namespace

void DeferInterruption() {
  struct sigaction action = {};
  action.sa_handler = &Defer;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    struct sigaction inherited = {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool IsInterrupted() { return deferred_signal != 0; }

void EndIfInterrupted() {
  if (deferred_signal == 0) return;
  std::signal(deferred_signal, SIG_DFL);
  std::raise(deferred_signal);
}

}  // namespace fixpoint
