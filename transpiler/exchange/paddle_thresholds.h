// Ranges in PaddlePaddle's form: a program whose ops have them as attributes (op_thresholds.h), as
// its passes and PaddleSlim save one for inference, and as TensorRT's and oneDNN's conversions
// there read them.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_PADDLE_THRESHOLDS_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_PADDLE_THRESHOLDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

// Whether bytes are those of a program, in any form, rather than of another file of ranges.
bool LooksLikeProgram(absl::string_view bytes);

// A variable's range is that of the attribute, with both signs. Errors: those of ParseProgramBytes,
// Program::Create and ThresholdsOf; kInvalidArgument: ops give one variable several ranges, or none
// gives any.
absl::StatusOr<RangeProfile> ReadPaddleThresholds(absl::string_view bytes, absl::string_view name);

// The program with the ranges of its activations: on the op that writes the value or, for one that
// no op of the block writes, on the op that quantizes it. Errors: those of RangesByVariable;
// kUnimplemented: a range with a zero point, or one for each channel. REQUIRES: the ranges are the
// program's.
absl::StatusOr<ProgramDesc> WithPaddleThresholds(const std::vector<LearnedRange>& ranges,
                                                 const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_PADDLE_THRESHOLDS_H_
