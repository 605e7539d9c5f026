// A quantization configuration, as a command line names it.

#ifndef FIXPOINT_TOOLS_NAMED_CONFIG_H_
#define FIXPOINT_TOOLS_NAMED_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/config/quant_config.pb.h"

namespace fixpoint {

struct NamedConfig {
  QuantConfig config;
  std::string name = "configuration";  // how messages refer to it
};

// Loads the configuration in a file, or an empty one if `path` is "", with the target `target`
// unless that is "". A path that ends in .json is a configuration of another tool
// (transpiler/exchange/foreign_config.h). Errors: a usage error if there is no such built-in
// target; those of LoadTextMessage and ParseForeignConfig.
absl::StatusOr<NamedConfig> LoadNamedConfig(const std::string& path, const std::string& target);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_CONFIG_H_
