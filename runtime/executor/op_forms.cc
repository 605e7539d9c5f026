#include "runtime/executor/op_forms.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"

namespace fixpoint::executor {

absl::Status OpForms::Check(const Op& op) {
  const auto found = checked_.find(&op);
  if (found != checked_.end()) return found->second;
  const OpSchema* const schema = FindOpSchema(op.type());
  absl::Status form =
      schema != nullptr
          ? CheckForm(op, *schema, era_)
          : absl::UnimplementedError(absl::StrCat("op type ", op.type(), " has no schema"));
  return checked_.emplace(&op, std::move(form)).first->second;
}

}  // namespace fixpoint::executor
