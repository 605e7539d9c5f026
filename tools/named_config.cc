#include "tools/named_config.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "tools/command_line.h"
#include "transpiler/exchange/foreign_config.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

absl::StatusOr<QuantConfig> LoadConfig(const std::string& path) {
  if (absl::EndsWith(path, ".json")) {
    ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMostTextBytes));
    return ParseForeignConfig(text, InputName(path));
  }
  QuantConfig config;
  RETURN_IF_ERROR(LoadTextMessage(path, &config));
  return config;
}

}  // namespace

absl::StatusOr<NamedConfig> LoadNamedConfig(const std::string& path, const std::string& target) {
  NamedConfig named;
  if (!path.empty()) {
    named.name = InputName(path);
    ASSIGN_OR_RETURN(named.config, LoadConfig(path));
  }
  if (target.empty()) return named;
  if (!IsTargetFile(target)) {
    const absl::Status status = BuiltInTarget(target).status();
    if (!status.ok()) return UsageError(absl::StrCat("--target: ", status.message()));
  }
  named.config.set_target(target);
  return named;
}

}  // namespace fixpoint
