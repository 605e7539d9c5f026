// The parameters of a program while passes add to them.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_EDITED_PARAMETERS_H_
#define FIXPOINT_TRANSPILER_PIPELINE_EDITED_PARAMETERS_H_

#include "absl/strings/string_view.h"
#include "runtime/scope.h"

namespace fixpoint {

class EditedParameters {
 public:
  // `trained`: the parameters that the program was given; null where nothing was trained. REQUIRES:
  // it outlives this object.
  explicit EditedParameters(const Scope* trained) : trained_(trained) {}

  // REQUIRES: it is not null.
  const Scope& trained() const { return *trained_; }

  // The value that a pass gave to a variable, or else its trained value; null where it has none.
  const Scope::Value* FindOrNull(absl::string_view name) const {
    const Scope::Value* const value = added.FindOrNull(name);
    return value != nullptr || trained_ == nullptr ? value : trained_->FindOrNull(name);
  }

  // The values of parameters that passes declare.
  Scope added;

 private:
  const Scope* trained_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_EDITED_PARAMETERS_H_
