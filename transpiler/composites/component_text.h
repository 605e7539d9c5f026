// Pieces of the patterns of components.h.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPONENT_TEXT_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPONENT_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The declared dims of the op's one input in that slot; empty where it is no dense f32 tensor.
Dims DimsOfFloats(const Op& op, absl::string_view slot);

// "  var x f32[2,-1,4]\n".
std::string VarLine(absl::string_view name, DimsView dims);

// "[0, 2, -1]".
std::string IntegersText(absl::Span<const int64_t> integers);

// A float attribute's value: "1e-05".
std::string FloatText(double value);

// "X=x, Scale=scale" for those of the slots that the op has: each with its name in lower case.
std::string InputsText(const Op& op, absl::Span<const absl::string_view> slots);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPONENT_TEXT_H_
