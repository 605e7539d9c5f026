// The values of a program's variables by name, in ascending byte-wise order of the names.

#ifndef FIXPOINT_RUNTIME_SCOPE_H_
#define FIXPOINT_RUNTIME_SCOPE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor.h"

namespace fixpoint {

// Not synchronized. Pointers to a value stay valid until it is set anew.
class Scope {
 public:
  using Value = std::variant<Tensor, SelectedRows>;
  using Values = std::map<std::string, Value, std::less<>>;

  Scope() = default;
  Scope(Scope&& other) noexcept;
  Scope& operator=(Scope&& other) noexcept;
  // kFailedPrecondition where the system has no memory for a copy.
  static absl::StatusOr<Value> CloneOf(const Value& value);

  // kNotFound: there is no such variable; kFailedPrecondition: it holds selected rows.
  absl::StatusOr<const Tensor*> Find(absl::string_view name) const;

  // nullptr where there is no such variable.
  const Value* FindOrNull(absl::string_view name) const;
  Value* FindOrNull(absl::string_view name);

  // Replaces the value of `name`.
  void Set(absl::string_view name, Value value);

  // A number that `Set` changes, unique over all scopes, and that a move takes along: while it
  // stays the same, so do pointers to values.
  uint64_t revision() const { return revision_; }

  size_t size() const { return values_.size(); }
  Values::const_iterator begin() const { return values_.begin(); }
  Values::const_iterator end() const { return values_.end(); }

 private:
  Values values_;
  uint64_t revision_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_SCOPE_H_
