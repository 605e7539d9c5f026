#include "transpiler/plan/target_check.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/nearest_name.h"

namespace fixpoint {

absl::Status CheckTable::Add(std::unique_ptr<TargetCheck> check) {
  if (Find(check->name()) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is a check \"", check->name(), "\" already"));
  }
  checks_.push_back(std::move(check));
  return absl::OkStatus();
}

const TargetCheck* CheckTable::Find(absl::string_view name) const {
  for (const auto& check : checks_) {
    if (check->name() == name) return check.get();
  }
  return nullptr;
}

absl::StatusOr<std::vector<const TargetCheck*>> CheckTable::Of(const Target& target) const {
  std::vector<const TargetCheck*> checks;
  std::vector<std::string> complaints;
  for (const std::string& name : target.checks()) {
    checks.push_back(Find(name));
    if (checks.back() != nullptr) continue;
    std::vector<std::string> known;
    for (const auto& check : checks_) known.emplace_back(check->name());
    complaints.push_back(
        absl::StrCat("target ", target.name(), ": there is no check \"", name, "\"",
                     known.empty() ? "; checks come with a plugin, and none that is loaded has one"
                                   : OfferNames(name, known, known.size())));
  }
  if (complaints.empty()) return checks;
  return absl::InvalidArgumentError(absl::StrJoin(complaints, "\n"));
}

}  // namespace fixpoint
