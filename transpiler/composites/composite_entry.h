// The pieces of an entry of the map of composites, as expand_composites writes them.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_ENTRY_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_ENTRY_H_

#include <functional>
#include <string>

#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/composites/composite_map.pb.h"

namespace fixpoint {

// Has the entry be of the op.
void BeginEntry(const Op& op, CompositeMap::Composite* entry);

// Adds what an op of a block writes. `kind_of`: what a variable is in the composite.
void AddComponents(const OpDesc& component, int block,
                   const std::function<std::string(const std::string&)>& kind_of,
                   CompositeMap::Composite* entry);

// Adds the declarations of what the op writes and no component does. REQUIRES: those are added.
void AddDeclarations(const Op& op, CompositeMap::Composite* entry);

// What a result is in the composite: the slot in which the op writes it; "" if it writes it in
// none.
std::string SlotThatWrites(const OpDesc& op, const std::string& variable);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_ENTRY_H_
