#include "tools/plugin_flags.h"

#include <gflags/gflags.h>

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tools/command_line.h"
#include "transpiler/extensions/load_plugin.h"

DEFINE_string(plugin, "", "Libraries with ops, passes, quantizers and checks; may be given again.");

namespace fixpoint {

absl::Status LoadPlugins(Extensions* extensions) {
  std::set<std::filesystem::path> loaded;
  for (const std::string& path : SplitNames(FLAGS_plugin)) {
    std::error_code unknown;  // LoadPlugin says so
    if (!loaded.insert(std::filesystem::weakly_canonical(path, unknown)).second) {
      return UsageError(absl::StrCat("--plugin: ", path, " is named twice"));
    }
    RETURN_IF_ERROR(LoadPlugin(path, extensions));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
