// What the measurements of a run depend on: a run goes on only from those of a run with the same.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_RUN_SETTINGS_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_RUN_SETTINGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/config/quant_config.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "transpiler/quantize/measurements.h"
#include "transpiler/quantize/quantize.h"

namespace fixpoint {

// They are named as the flags of `quantize` that set them; programs, parameters and samples are
// told apart by checksums. `config` has the target. Errors: those of SampleSet::Checksum and
// LoadTarget.
absl::StatusOr<std::vector<RunSetting>> SettingsOf(const Program& program, const Scope& parameters,
                                                   const QuantConfig& config,
                                                   const QuantizeData& data,
                                                   const QuantizeOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_RUN_SETTINGS_H_
