#include "transpiler/pipeline/pass.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fixpoint {

absl::Status WrongStage(absl::string_view pass) {
  return absl::FailedPreconditionError(
      absl::StrCat(pass, " is a pass of another stage than this pipeline's"));
}

absl::Status PassTable::Add(std::unique_ptr<Pass> pass) {
  if (Find(pass->name()) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is a pass \"", pass->name(), "\" already"));
  }
  passes_.push_back(std::move(pass));
  return absl::OkStatus();
}

const Pass* PassTable::Find(absl::string_view name) const {
  for (const auto& pass : passes_) {
    if (pass->name() == name) return pass.get();
  }
  return nullptr;
}

}  // namespace fixpoint
