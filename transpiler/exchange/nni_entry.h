// One entry of NNI's list of configurations, of version 1, 2 or 3, in our words.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_NNI_ENTRY_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_NNI_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config/quant_spec.pb.h"
#include "transpiler/exchange/document_reader.h"

namespace fixpoint {

struct NniEntry {
  // What it fits: layers of these types that have one of these names, but for those excluded.
  std::vector<std::string> op_types;  // ours; those of all modules where it names no types
  std::vector<std::string> names;     // of layers
  std::vector<std::string> patterns;  // globs over names, of regular expressions
  std::vector<std::string> excluded_names;
  std::vector<std::string> excluded_patterns;

  // What it says of them: they stay float, or how each target is quantized; one without a spec
  // stays float.
  bool excludes = false;
  std::optional<QuantSpec> weight;
  std::optional<QuantSpec> input;
  std::optional<QuantSpec> output;
  std::optional<int64_t> start_step;

  bool fits_all_names() const { return names.empty() && patterns.empty(); }
};

// Whether an entry has a scheme or a type of codes, as those of 2.5 and later may: then all entries
// of the list are read with the defaults of 2.5. Without one, both are left to the target.
bool HasScheme(const Node& entry);

// Errors: as of ParseForeignConfig.
absl::StatusOr<NniEntry> ReadNniEntry(const DocumentReader& reader, const Node& entry,
                                      bool has_schemes);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_NNI_ENTRY_H_
