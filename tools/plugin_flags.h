// --plugin, for the tools whose work plugins can extend.

#ifndef FIXPOINT_TOOLS_PLUGIN_FLAGS_H_
#define FIXPOINT_TOOLS_PLUGIN_FLAGS_H_

#include "absl/status/status.h"
#include "transpiler/extensions/extensions.h"

namespace fixpoint {

// The name of the flag, for ToolHelp.
inline constexpr char kPluginFlag[] = "plugin";

// Loads the plugins that the command line names, in its order. Errors: a usage error for one that
// is named twice; those of LoadPlugin.
absl::Status LoadPlugins(Extensions* extensions);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PLUGIN_FLAGS_H_
