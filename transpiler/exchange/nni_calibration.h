// NNI's calibration configuration, which its quantizers' export_model returns, as JSON: what was
// learned of the inputs, weights and outputs of modules. A module is a layer (program_layers.h).

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_NNI_CALIBRATION_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_NNI_CALIBRATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

enum class NniForm {
  // Fields of a layer ("tracked_min_input"): of 2.5 and later what quantization-aware training and
  // post-training quantization write, all in one.
  kFields,
  // An object for each target of a layer ("_input_0": {"tracked_min": ...}), as of 3.0.
  kTargets,
};

// The ranges of the variables that the layers of the program read and write. Reads both forms, and
// the fields of 2.4 and before. Weights with a range for each channel are left to the program's
// parameters, and so are bits to the configuration. Errors (kInvalidArgument), "name:line:column:
// what is wrong; what would be right"; those of ParseDocuments.
absl::StatusOr<RangeProfile> ReadNniCalibration(absl::string_view text, absl::string_view name,
                                                const Program& program);

// Floats have the digits from which they are read back to the bit. Errors (kFailedPrecondition): a
// range that is no layer's: its variable is neither the input, the weight nor the output of a layer
// that alone has its name; those of RangesByVariable.
absl::StatusOr<std::string> WriteNniCalibration(const std::vector<LearnedRange>& ranges,
                                                const Program& program, NniForm form);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_NNI_CALIBRATION_H_
