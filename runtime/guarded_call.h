// The boundary at which exceptions end: the standard library and oneDNN throw, the runtime's API
// returns statuses.

#ifndef FIXPOINT_RUNTIME_GUARDED_CALL_H_
#define FIXPOINT_RUNTIME_GUARDED_CALL_H_

#include <exception>
#include <new>
#include <stdexcept>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// Thrown by a kernel's run, which returns no status: a library refuses only now what it planned.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The result of f, a Status or a StatusOr. Errors if it throws: kFailedPrecondition: there is no
// memory for `what`; kUnimplemented: a KernelError; kInternal: anything else, which is a defect.
template <typename F>
auto GuardedCall(absl::string_view what, const F& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (const KernelError& error) {
    return absl::UnimplementedError(error.what());
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("an exception: ", error.what()));
  }
  return absl::FailedPreconditionError(absl::StrCat("there is no memory for ", what));
}

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_GUARDED_CALL_H_
