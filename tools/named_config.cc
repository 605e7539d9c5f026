#include "tools/named_config.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/file/text_message.h"
#include "tools/command_line.h"
#include "transpiler/plan/target.h"

namespace fixpoint {

absl::StatusOr<NamedConfig> LoadNamedConfig(const std::string& path, const std::string& target) {
  NamedConfig named;
  if (!path.empty()) {
    RETURN_IF_ERROR(LoadTextMessage(path, &named.config));
    named.name = InputName(path);
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
