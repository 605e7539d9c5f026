// Makes a shared library a plugin, which tools load with --plugin (docs/plugins.md).
//
//   absl::Status Extend(fixpoint::Extensions& extensions) {
//     RETURN_IF_ERROR(extensions.AddPass(&MakeDropCallstacks));
//     return extensions.AddQuantizer(&MakeMovingAverageSigma);
//   }
//
//   FIXPOINT_PLUGIN(Extend)

#ifndef FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_H_
#define FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_H_

#include "absl/status/status.h"
#include "transpiler/extensions/extensions.h"
#include "transpiler/extensions/plugin_stamp.h"

// Outside of namespaces, once in a library. `extend`: an absl::Status(fixpoint::Extensions&), which
// a tool calls once, after it has read the stamp; an error ends the tool.
#define FIXPOINT_PLUGIN(extend)                                                   \
  __attribute__((section(".note.fixpoint"), aligned(4),                           \
                 used)) static const ::fixpoint::PluginNote fixpoint_plugin_note; \
  extern "C" __attribute__((visibility("default"))) void fixpoint_plugin(         \
      ::fixpoint::Extensions* extensions, ::absl::Status* status) {               \
    *status = extend(*extensions);                                                \
  }                                                                               \
  static_assert(true, "takes a semicolon")

#endif  // FIXPOINT_TRANSPILER_EXTENSIONS_PLUGIN_H_
