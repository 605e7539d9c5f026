#include "tools/sample_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tools/network_ends.h"

DEFINE_string(params, "", "Parameters: a combined file, or a folder with a file for each.");
DEFINE_string(
    data, "",
    "Run on the training samples of mnist:FOLDER, cifar10:FOLDER, digits[:N] or "
    "color_digits[:N], or on your own: images:PATH, npz:FILE or npy:NAME=FILE,NAME=FILE.");
DEFINE_int64(samples, 300, "How many samples to run, if there are as many.");
DEFINE_string(output, "", "Where to write the result.");
DEFINE_bool(resume, false, "Go on from what a run that was killed has saved.");
DECLARE_uint64(seed);

namespace fixpoint {

absl::StatusOr<SampleFlags> ReadSampleFlags(const CommandLine& line, absl::string_view output) {
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("want one program; got ", line.arguments.size()));
  }
  if (FLAGS_data.empty()) return UsageError("want samples: --data=mnist:FOLDER or another");
  if (FLAGS_output.empty()) {
    return UsageError(absl::StrCat("want an output: --output=", output));
  }
  RETURN_IF_ERROR(CheckAtLeast("samples", FLAGS_samples, 1));
  SampleFlags flags;
  flags.program = line.arguments[0];
  flags.params = FLAGS_params;
  ASSIGN_OR_RETURN(flags.data, DataOfFlag("data", FLAGS_data));
  flags.data_name = FLAGS_data;
  flags.output = FLAGS_output;
  flags.samples = FLAGS_samples;
  flags.seed = FLAGS_seed;
  flags.resume = FLAGS_resume;
  return flags;
}

}  // namespace fixpoint
