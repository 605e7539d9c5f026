#include "transpiler/extensions/load_plugin.h"

#include <dlfcn.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "transpiler/extensions/plugin_file.h"

namespace fixpoint {
namespace {

// What FIXPOINT_PLUGIN defines.
constexpr char kEntry[] = "fixpoint_plugin";
using Entry = void (*)(Extensions* extensions, absl::Status* status);

}  // namespace

absl::Status LoadPlugin(const std::string& path, Extensions* extensions) {
  RETURN_IF_ERROR(CheckPluginFile(path));
  // A name without a folder would be looked for among the system's libraries.
  const std::string file = absl::StrContains(path, '/') ? path : absl::StrCat("./", path);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(path, " cannot be loaded: ", dlerror()));
  }
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntry));
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has the stamp of a plugin and no entry \"", kEntry, "\""));
  }
  absl::Status status;
  entry(extensions, &status);
  return status.ok() ? status
                     : absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace fixpoint
