// A library with the stamp of this build, and nothing to call.

#include "transpiler/extensions/plugin_stamp.h"

__attribute__((section(".note.fixpoint"), aligned(4), used)) static const fixpoint::PluginNote note;
