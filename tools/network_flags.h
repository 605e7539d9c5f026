// The flags that train and infer share: what to feed and measure, and what runs the program.

#ifndef FIXPOINT_TOOLS_NETWORK_FLAGS_H_
#define FIXPOINT_TOOLS_NETWORK_FLAGS_H_

#include <gflags/gflags_declare.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backends.h"
#include "runtime/training/network_variables.h"

// main sets how threads wait before anything else is done.
DECLARE_int32(threads);

namespace fixpoint {

struct NetworkFlags {
  NetworkVariables variables;  // "" where a flag is not given
  int64_t batch_size = 0;
  BackendKind backend = kDefaultBackend;
  BackendOptions backend_options;
  bool dump_plan = false;
};

// Usage errors: there is no such backend; the batch, iterations or threads are less than 1, or
// there are more threads than kMostThreads.
absl::StatusOr<NetworkFlags> ReadNetworkFlags();

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NETWORK_FLAGS_H_
