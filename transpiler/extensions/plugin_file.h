// What a library says of itself before any of its code runs.

#ifndef FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_FILE_H_
#define FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace fixpoint {

// Whether the file at `path` is a plugin of this build, for this machine. Errors, which begin with
// the path:
//   kNotFound            there is no such file
//   kInvalidArgument     it cannot be read; it is no shared library; it is cut off; it is no plugin
//   kFailedPrecondition  it is for another kind of machine; it has the stamp of another build
absl::Status CheckPluginFile(const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_FILE_H_
