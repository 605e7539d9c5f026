// What a composite op consists of: a pattern (docs/patterns.md) from the op to its components, or
// the program of a loop, written for the op's own shapes and attributes. Ops whose components
// depend on neither have built-in patterns instead (transpiler/patterns/shipped).

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPONENTS_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPONENTS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/op_form.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

bool IsComposite(absl::string_view op_type);

// The op types that can have components, in alphabetical order.
std::vector<std::string> ExpandableTypes();

// The built-in pattern files whose patterns lead from composites to components.
std::vector<std::string> ComponentPatterns();

struct Components {
  std::string before;  // lines of a pattern
  std::string after;
};

// Components in a loop, as a program (docs/program_text.md) of which block 1 is the loop's. The
// name of a slot stands for the op's argument there, and other names are those of components; the
// while lists nothing in X and Out, which follows from the block.
struct LoopComponents {
  std::string text;
  std::vector<std::string> results;  // the slots of the op that its components write
};

// Why an op has no components: "X [-1,-1] has no known extent on axis 1".
struct NoComponents {
  std::string reason;
};

using ComponentsOrReason = std::variant<Components, LoopComponents, NoComponents>;

// How the pattern is called that is written for an op: "lstm_components".
std::string ComponentPatternName(const Op& op);

// The components of an op of a composite type, each named after what it is: "mean", "squared".
// REQUIRES: IsComposite(op.type()).
ComponentsOrReason ComponentsOf(const Op& op, const OpAttributes& attributes);

// By family. Each file has those of its ops.
ComponentsOrReason SoftmaxComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason LayerNormComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason GroupNormComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason RnnComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason LstmUnitComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason GruUnitComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason LstmComponents(const Op& op, const OpAttributes& attributes);
ComponentsOrReason GruComponents(const Op& op, const OpAttributes& attributes);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPONENTS_H_
