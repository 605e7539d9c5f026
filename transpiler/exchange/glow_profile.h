// Glow's profile, as its tools write and read it (-dump-profile, -load-profile): three YAML
// documents, of which the last has the range of each output of a node.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_GLOW_PROFILE_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_GLOW_PROFILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/range_profile.pb.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

bool LooksLikeGlowProfile(absl::string_view text);

// A node's output "NAME:0" is the variable NAME. Histograms are checked and not taken: their bins
// are not those of a profile. Errors (kInvalidArgument), "name:line:column: what is wrong; what
// would be right"; those of ParseDocuments.
absl::StatusOr<RangeProfile> ReadGlowProfile(absl::string_view text, absl::string_view name);

// The ranges of all activations, with empty histograms and a graph's hash of 0. Floats have the
// digits from which they are read back to the bit. Errors: those of RangesByVariable;
// kUnimplemented: an activation with a range for each channel.
absl::StatusOr<std::string> WriteGlowProfile(const std::vector<LearnedRange>& ranges);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_GLOW_PROFILE_H_
