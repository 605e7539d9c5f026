// Whether ops have the form of their types, each of which is checked once for all plans.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OP_FORMS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OP_FORMS_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint::executor {

class OpForms {
 public:
  explicit OpForms(Era era) : era_(era) {}

  // Errors: those of CheckForm; kUnimplemented: the type has no schema. REQUIRES: the op does not
  // change.
  absl::Status Check(const Op& op);

 private:
  const Era era_;
  absl::flat_hash_map<const Op*, absl::Status> checked_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OP_FORMS_H_
