// Configurations of other tools, as ours (proto/config/quant_config.proto).

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_FOREIGN_CONFIG_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_FOREIGN_CONFIG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/quant_config.pb.h"
#include "transpiler/exchange/document_reader.h"

namespace fixpoint {

// Reads JSON: a list is NNI's, an object PaddlePaddle's. The result has no target. Errors
// (kInvalidArgument), "name:line:column: what is wrong; what would be right": those of
// ParseDocuments; a field or value that the tool does not have; (kUnimplemented): one that has no
// counterpart here.
absl::StatusOr<QuantConfig> ParseForeignConfig(absl::string_view text, absl::string_view name);

// NNI's list of configurations, of versions 1 to 3. An op is quantized as the last entry that fits
// it says, whole: what an earlier one says of it does not count. An op that no entry fits stays
// float. A name is that of a layer (transpiler/plan/layer_name.h); one that the program does not
// have is an error of the rules, where NNI warns.
absl::StatusOr<QuantConfig> NniConfig(const DocumentReader& reader, const Node& list);

// The dictionary that PaddlePaddle's quantization passes take. Absent keys are left to the target.
absl::StatusOr<QuantConfig> PaddleConfig(const DocumentReader& reader, const Node& object);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_FOREIGN_CONFIG_H_
