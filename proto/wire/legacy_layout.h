// Programs that were written before 12 February 2018 (PaddlePaddle 0.11 and what came before
// 0.12), whose variables are laid out differently on the wire.

#ifndef FIXPOINT_PROTO_WIRE_LEGACY_LAYOUT_H_
#define FIXPOINT_PROTO_WIRE_LEGACY_LAYOUT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// Whether `program`, which was parsed as today's layout with required fields allowed to be missing,
// is in an old one: there a variable's type is a number where it is a message today.
bool HasLegacyLayout(const ProgramDesc& program);

// The program that `bytes` hold in one of the two old layouts, converted to today's. Names, order,
// ops and the presence of `persistable` and `lod_level` are kept.
//
// Errors: kInvalidArgument, naming the block and the variable, for content that neither layout has.
absl::StatusOr<ProgramDesc> ConvertLegacyLayout(absl::string_view bytes,
                                                absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_WIRE_LEGACY_LAYOUT_H_
