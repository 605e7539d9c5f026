// Which slots of a gradient op hold what its forward op reads and writes.
//
// The forward op's schema says it (GradientSchema): what batch_norm_grad has in Mean is what its
// forward op writes to MeanOut. A slot that the schema does not mention repeats the slot of the
// same name; so does every slot of an op without a schema, and of the gradient of a gradient.

#ifndef FIXPOINT_OPS_GRADIENT_SLOTS_H_
#define FIXPOINT_OPS_GRADIENT_SLOTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class OpSchema;
struct GradientSchema;

// How a forward op makes gradient ops of a type: in that era, or else in the other one. Null if it
// makes none, because they are gradients of gradients.
const GradientSchema* FindGradientSchema(const OpSchema& forward, absl::string_view gradient_type,
                                         Era era);

// A slot of a gradient op with the slot of the forward op that it repeats.
struct RepeatedSlot {
  absl::string_view name;
  absl::string_view source;
  bool source_is_output = false;
};

// The slots in which gradient ops of a type repeat `forward`; a gradient op may lack some of them.
// The names are those of the schemas, or of `forward`, which outlives them.
std::vector<RepeatedSlot> RepeatedSlots(absl::string_view gradient_type, const OpDesc& forward,
                                        Era era);

// "y@GRAD" for "y".
std::string GradientName(absl::string_view variable);

// The variable of whose gradient this is the name: "y" for "y@GRAD" and for
// "y@GRAD@RENAME@block0@1", one of several that are summed up.
absl::string_view WithoutGradientSuffix(absl::string_view gradient);

// What the slot of a gradient op has to repeat of its forward op.
absl::Span<const Argument* const> SourceOf(const RepeatedSlot& slot, const Op& forward);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_GRADIENT_SLOTS_H_
