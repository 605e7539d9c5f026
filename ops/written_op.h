// Ops that people write in files of their own, held to their schemas: those of patterns, and those
// of quantizers.

#ifndef FIXPOINT_OPS_WRITTEN_OP_H_
#define FIXPOINT_OPS_WRITTEN_OP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/era.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// What ops of a file may do that ops of a program may not.
struct WrittenForm {
  bool leaves_out_outputs = false;  // that the schema wants
  bool computes_numbers = false;    // a string stands for a number
};

// Whether an attribute of the type is one number.
bool IsNumber(AttrType type);

// Whether a value of the file stands for the attribute's: it is `"$name"`.
bool StandsForNumber(const OpDesc::Attr& attr);

// The op with attributes of the types in its schema, where numbers widen as in programs
// (proto/program/attributes.h): `scale=1` is 1.0. Error (kInvalidArgument), without the place:
// there is no such op, or it runs a block; it has no such slot or attribute; one is given twice; an
// attribute is of another type, unless it StandsForNumber or `form` allows it; a slot has too many
// arguments, or is one that the op must have and has none. The message says what there is, or what
// is wanted.
absl::StatusOr<OpDesc> ReadWrittenOp(const OpDesc& op, Era era, const WrittenForm& form = {});

// Error (kInvalidArgument), without the place: an attribute is absent that the op must carry.
// REQUIRES: ReadWrittenOp finds nothing wrong with the op.
absl::Status CheckGivenAttributes(const OpDesc& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_WRITTEN_OP_H_
