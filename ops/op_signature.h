// The notation in which an op's slots are written: "mul(X, Y) -> (Out)".

#ifndef FIXPOINT_OPS_OP_SIGNATURE_H_
#define FIXPOINT_OPS_OP_SIGNATURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/op_schema.h"

namespace fixpoint {

// "type(Slot, Slot) -> (Slot)". After a slot's name: `#` only its shape is read, `*` any number
// of arguments, `?` may be absent, `@1` only before 2.0, `@2` only since; in this order.
struct OpSignature {
  struct Slot {
    std::string name;
    std::string source;  // in "name=source"; else the name
    bool list = false;
    bool optional = false;
    bool shape_only = false;
    Eras eras = Eras::kAll;
  };
  std::string type;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
};

// A signature of another form is a defect of ours and ends the program.
OpSignature ParseOpSignature(absl::string_view text);

std::vector<SlotSchema> SlotsOf(const std::vector<OpSignature::Slot>& slots);

// Removes a trailing `@1` or `@2`.
Eras ConsumeEras(absl::string_view* text);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_SIGNATURE_H_
