#include "runtime/scope.h"

#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

uint64_t NextRevision() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

Scope::Scope(Scope&& other) noexcept { *this = std::move(other); }

Scope& Scope::operator=(Scope&& other) noexcept {
  values_ = std::exchange(other.values_, {});
  revision_ = std::exchange(other.revision_, 0);
  return *this;
}

absl::StatusOr<Scope::Value> Scope::CloneOf(const Value& value) {
  return std::visit(
      [](const auto& held) -> absl::StatusOr<Value> {
        ASSIGN_OR_RETURN(auto copy, held.Clone());
        return Value(std::move(copy));
      },
      value);
}

absl::StatusOr<const Tensor*> Scope::Find(absl::string_view name) const {
  const Value* value = FindOrNull(name);
  if (value == nullptr) {
    return absl::NotFoundError(absl::StrCat("variable \"", name, "\" is not in the scope"));
  }
  const Tensor* tensor = std::get_if<Tensor>(value);
  if (tensor == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("variable \"", name, "\" holds selected rows, not a tensor"));
  }
  return tensor;
}

const Scope::Value* Scope::FindOrNull(absl::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

Scope::Value* Scope::FindOrNull(absl::string_view name) {
  return const_cast<Value*>(std::as_const(*this).FindOrNull(name));
}

void Scope::Set(absl::string_view name, Value value) {
  values_.insert_or_assign(std::string(name), std::move(value));
  revision_ = NextRevision();
}

}  // namespace fixpoint
