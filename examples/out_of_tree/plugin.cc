// Loaded by the tools as they are: transpile --plugin=extend.so.

#include "transpiler/extensions/plugin.h"

#include "extend.h"

FIXPOINT_PLUGIN(out_of_tree::Extend);
