// Quantizers as text, as a command line names them.

#ifndef FIXPOINT_TOOLS_NAMED_QUANTIZERS_H_
#define FIXPOINT_TOOLS_NAMED_QUANTIZERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"

namespace fixpoint {

// Adds the quantizers of the files in `paths`, comma separated (docs/quantizer_text.md), to a
// table. Errors: those of ReadInputFile and ReadQuantizers; kInvalidArgument: a name is taken.
absl::StatusOr<QuantizerTable> LoadQuantizers(const std::string& paths, QuantizerTable table);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_QUANTIZERS_H_
