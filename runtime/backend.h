// A backend runs a program on a scope: the reference interpreter, or an implementation made to be
// fast. runtime/backends.h lists them and makes one.

#ifndef FIXPOINT_RUNTIME_BACKEND_H_
#define FIXPOINT_RUNTIME_BACKEND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor.h"

namespace fixpoint {

// The value that a variable of block 0 has when a run begins. It is not kept when the run ends.
struct Feed {
  absl::string_view name;
  const Tensor* value;
};

// The error (kFailedPrecondition) for a value that is not finite, distinguishable from others of
// its code.
absl::Status NotFiniteError(absl::string_view message);
bool IsNotFinite(const absl::Status& status);
// The error with the place in front of its message; it stays distinguishable.
absl::Status AtPlace(absl::string_view place, const absl::Status& status);

// The products of a plan that multiply codes of 8 bits, and its steps with some that take longer
// than on floats (runtime/kernels/integer_sums.h).
struct CodedProducts {
  int all = 0;
  int slower_than_floats = 0;

  CodedProducts& operator+=(const CodedProducts& others) {
    all += others.all;
    slower_than_floats += others.slower_than_floats;
    return *this;
  }
};

// A backend is made for one program and one scope, which outlive it; the program is not edited
// meanwhile.
class Backend {
 public:
  virtual ~Backend() = default;

  // Runs block 0 once, and the blocks that its ops run as often as they do, and returns the values
  // of the variables `fetches` of block 0. Variables that are not fed and that no op writes first
  // are read from the scope by their names; the persistable ones that ops write are in the scope
  // afterwards, all other values are discarded. Values of the scope may be set between runs. Ops
  // `feed` and `fetch` do nothing.
  //
  // `step` numbers the run: ops that draw random numbers draw the same again for the same seed and
  // step, so that a resumed run equals the uninterrupted one.
  //
  // Errors name block and op. kFailedPrecondition: an input or a fetch has no value, there is no
  // memory, or a value is not finite where that is checked; kInvalidArgument: values do not fit the
  // op; kUnimplemented: the op's kernel cannot do it. The contents of the scope are then
  // unspecified unless the backend specifies more.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Feed> feeds,
                                                  absl::Span<const std::string> fetches,
                                                  uint32_t step) = 0;

  // The plans for the most recent sets of shapes, one step per line; "" for a backend that makes no
  // plans.
  virtual std::string PlanText() const { return ""; }
  // Where the time of the runs was spent, if that is measured; else "".
  virtual std::string ProfileText() const { return ""; }
  // Counted in the plan with the most slow products; none for a backend that makes no plans.
  virtual CodedProducts CountCodedProducts() const { return {}; }
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_BACKEND_H_
