// The variables of a program that are known outside it by their names, as opposed to temporaries,
// whose names mean nothing outside.

#ifndef FIXPOINT_PROTO_DIFF_NAMED_VARIABLES_H_
#define FIXPOINT_PROTO_DIFF_NAMED_VARIABLES_H_

#include "absl/container/flat_hash_set.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

class NamedVariables {
 public:
  // Linear in the program, which must outlive this and not change.
  explicit NamedVariables(const Program& program);

  // Persistables, variables that a feed op writes, and variables that no op writes.
  bool Contains(const Variable& variable) const;

 private:
  absl::flat_hash_set<const Variable*> written_;
  absl::flat_hash_set<const Variable*> fed_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DIFF_NAMED_VARIABLES_H_
