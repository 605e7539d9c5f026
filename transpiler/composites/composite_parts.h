// The ops of one composite's components, found again in a program by its map of composites: as they
// were written, but for ops that quantize between them.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_PARTS_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_PARTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/composites/composite_map.pb.h"

namespace fixpoint {

struct CompositeParts {
  std::string result;  // the first variable that the composite and its components write
  // What they stand for. It reads an input as they do; where they do not all read it alike, as it
  // was before it was quantized.
  OpDesc composite;
  std::vector<const Op*> ops;  // in program order; empty: the program no longer has any of them
  std::vector<const Op*> quantizing;  // the ops that quantize and dequantize components
  // Those that do so to inputs that not all components read alike, writers before readers.
  std::vector<const Op*> quantizing_inputs;
  std::vector<const Op*> gradients;  // in program order
  const Op* place = nullptr;         // the composite comes before it
  // What ops say that quantize a component, in the order of the components; after them, inputs that
  // not all components read alike.
  std::vector<ComponentParameters> parameters;
};

// Errors: kInvalidArgument: the entry cannot be read, contradicts itself, or names a block that is
// not there; kFailedPrecondition, with the composite and the component: some of the ops are gone or
// were changed, as by lowering; something else reads a component, as a gradient op does that came
// later; a gradient op was changed; a result is read before all inputs are written.
absl::StatusOr<CompositeParts> FindCompositeParts(const CompositeMap::Composite& entry,
                                                  const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_PARTS_H_
