// A plugin that calls what no library has.

#include "transpiler/extensions/plugin.h"

absl::Status DefinedNowhere(fixpoint::Extensions& extensions);

FIXPOINT_PLUGIN(DefinedNowhere);
