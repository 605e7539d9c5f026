// How a component of a composite is quantized, as an attribute of the composite op: what a target
// that takes the composite whole needs to know.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPONENT_PARAMETERS_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPONENT_PARAMETERS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/code_ops.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The attributes are STRINGS named "fixpoint.component.KIND", with what the fields below say in
// their order, numbers in decimal: ["y.squared", "y.squared@scale", "", "8", "-1", "range"].
inline constexpr char kComponentAttrPrefix[] = "fixpoint.component.";

struct ComponentParameters {
  // "squared"; "squared.X" is the composite's input X as the component `squared` reads it, where
  // not all components read it alike.
  std::string kind;
  std::string variable;    // that held it
  std::string scale;       // the variable of its scale; "": found anew from each tensor
  std::string zero_point;  // the variable of its zero point; "": none
  int bits = 0;
  int axis = -1;  // of channels with a scale each; -1: one scale
  // Whether the scale is the step between two codes; if not, what the largest code stands for.
  bool scale_is_step = false;
};

// What an op that quantizes says of its input.
ComponentParameters ParametersOf(const CodeOp& quantize, absl::string_view kind,
                                 absl::string_view variable);

OpDesc::Attr ToAttribute(const ComponentParameters& parameters);

// Those of an op, in the order of its attributes. One that has not this form is left out.
std::vector<ComponentParameters> ReadComponentParameters(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPONENT_PARAMETERS_H_
