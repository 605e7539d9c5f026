// Loads plugins (plugin.h).

#ifndef FIXPOINT_TRANSPILER_EXTENSIONS_LOAD_PLUGIN_H_
#define FIXPOINT_TRANSPILER_EXTENSIONS_LOAD_PLUGIN_H_

#include <string>

#include "absl/status/status.h"
#include "transpiler/extensions/extensions.h"

namespace fixpoint {

// Loads the library at `path` until the process ends, and adds what it registers. Its code runs
// with all rights of the process, and not before its stamp was found to be that of this build.
// Errors, which begin with the path: those of CheckPluginFile; kFailedPrecondition: it lacks a
// library or a symbol; kInvalidArgument: it has no entry; those of what it adds, and its own.
absl::Status LoadPlugin(const std::string& path, Extensions* extensions);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXTENSIONS_LOAD_PLUGIN_H_
