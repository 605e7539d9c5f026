// Quantizers as text, as a command line names them.

#ifndef FIXPOINT_TOOLS_NAMED_QUANTIZERS_H_
#define FIXPOINT_TOOLS_NAMED_QUANTIZERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"

namespace fixpoint {

// Quantizers, and the files that some of them are read from.
struct NamedQuantizers {
  QuantizerTable table;
  std::string texts;  // the files, one after the other
};

// Adds those of the files in `paths`, comma separated (docs/quantizer_text.md), to a table. Errors:
// those of ReadInputFile and ReadQuantizers; kInvalidArgument: a name is taken.
absl::StatusOr<NamedQuantizers> LoadQuantizers(const std::string& paths, QuantizerTable table);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_QUANTIZERS_H_
