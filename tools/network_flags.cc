#include "tools/network_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/loop_bound.h"
#include "runtime/thread_count.h"
#include "tools/command_line.h"

DEFINE_string(images, "", "The input variable of images; by default the only one of floats.");
DEFINE_string(labels, "", "The input variable of labels; by default the only one of integers.");
DEFINE_string(loss, "",
              "The loss; by default what the backward pass begins with, if there is one.");
DEFINE_string(scores, "",
              "The variable [N,classes] whose largest is the answer; by default what the cross "
              "entropy reads, or the only one that is fetched.");
DEFINE_string(measure, "",
              "Variables that hold a number for each batch, to average over the samples besides, "
              "comma separated.");
DEFINE_int64(batch_size, 64, "Images in a batch.");
DEFINE_uint64(seed, 0,
              "Seed of random ops and, in training, of initial values and the order of data.");
DEFINE_string(backend, "onednn",
              "What runs the program: onednn, or reference, which is plain loops and slow.");
DEFINE_int32(threads, 1, "How many threads the backend may use.");
DEFINE_bool(check_finite, false,
            "Check every value, and end at the first op that writes one that is not finite.");
DEFINE_int64(max_iterations, fixpoint::kDefaultMaxIterations,
             "How many iterations the loops of one run may make, all together.");
DEFINE_bool(dump_plan, false, "Print the steps that the backend has planned.");
DEFINE_bool(profile, false, "Measure each step of the backend, and print where the time went.");

namespace fixpoint {

absl::StatusOr<NetworkFlags> ReadNetworkFlags() {
  RETURN_IF_ERROR(CheckAtLeast("batch_size", FLAGS_batch_size, 1));
  RETURN_IF_ERROR(CheckAtLeast("max_iterations", FLAGS_max_iterations, 1));
  if (!CheckThreadCount(FLAGS_threads).ok()) {
    return UsageError(absl::StrCat("--threads=", FLAGS_threads, "; want 1 to ", kMostThreads));
  }
  NetworkFlags flags;
  flags.variables = {FLAGS_images, FLAGS_labels, FLAGS_loss, FLAGS_scores,
                     SplitNames(FLAGS_measure)};
  flags.batch_size = FLAGS_batch_size;
  const absl::StatusOr<BackendKind> backend = BackendOfName(FLAGS_backend);
  if (!backend.ok()) return UsageError(absl::StrCat("--backend: ", backend.status().message()));
  flags.backend = *backend;
  flags.backend_options.seed = FLAGS_seed;
  flags.backend_options.threads = FLAGS_threads;
  flags.backend_options.profile = FLAGS_profile;
  flags.backend_options.check_finite = FLAGS_check_finite;
  flags.backend_options.max_iterations = FLAGS_max_iterations;
  flags.dump_plan = FLAGS_dump_plan;
  return flags;
}

}  // namespace fixpoint
