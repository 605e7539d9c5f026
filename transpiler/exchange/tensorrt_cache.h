// TensorRT's calibration cache: text, of which line 1 names the version and the calibrator, and
// each other line a tensor and its step, as the eight hexadecimal digits of an FP32:
//
//   TRT-8601-EntropyCalibration2
//   conv2d_0.tmp_0: 3c010a14
//
// A step is the float that code 1 stands for: the range that code 127 stands for, over 127.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_TENSORRT_CACHE_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_TENSORRT_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/range_profile.pb.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

// Whether a file's first line is that of a cache, or nearly.
bool LooksLikeTensorRtCache(absl::string_view text);

// The ranges of its tensors, but for those of TensorRT's own unnamed layers. A range is the FP32
// nearest to 127 steps; of a cache that WriteTensorRtCache wrote it gives the same step again.
// Errors (kInvalidArgument), "name:line: what is wrong; what would be right".
absl::StatusOr<RangeProfile> ReadTensorRtCache(absl::string_view text, absl::string_view name);

// The steps of all activations, a line each; weights have no place in a cache. Errors:
// kUnimplemented: codes that TensorRT does not have: it has 8 bits with a sign, one scale for a
// tensor and no zero point; kFailedPrecondition: those of CheckAllAreKept; one tensor has two
// ranges; its name is one that a line cannot hold.
absl::StatusOr<std::string> WriteTensorRtCache(const std::vector<LearnedRange>& ranges);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_TENSORRT_CACHE_H_
