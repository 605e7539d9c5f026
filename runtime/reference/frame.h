// The values of a program's variables while it runs.

#ifndef FIXPOINT_RUNTIME_REFERENCE_FRAME_H_
#define FIXPOINT_RUNTIME_REFERENCE_FRAME_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/reference/array.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {

// How values are rounded: FP32 as the program declares, or every floating-point tensor as FP64, so
// that gradients can be compared with differences.
enum class Precision { kAsDeclared, kDouble };

// The variables of one run of a block. A variable of an outer block is found and set there, and a
// persistable one in block 0, wherever it is declared.
class Frame {
 public:
  // For block 0. What no op has written yet is read from the scope, which outlives the frame; if
  // `check_finite`, a value there or in a feed that is not finite is an error (NotFiniteError).
  Frame(Scope* scope, Precision precision, bool check_finite = false)
      : scope_(scope), precision_(precision), check_finite_(check_finite) {}
  // For a block that an op runs, in the frame of the op's block, which outlives this one; for a
  // gradient block also with a run of its forward block, whose variables it finds before outer
  // ones.
  Frame(const Block& block, Frame* outer, Frame* forward = nullptr)
      : block_(&block), outer_(outer), forward_(forward), precision_(outer->precision_) {}

  // Null if the variable has no value. Stays valid until the variable is set. Errors:
  // kUnimplemented: the scope holds it as something that is no Array; kFailedPrecondition: there is
  // no memory for it; kInvalidArgument: a BOOL in it is neither 0 nor 1.
  absl::StatusOr<const Array*> Find(const Variable& variable);
  // The same for a variable of block 0, by its name. REQUIRES: this is the frame of block 0.
  absl::StatusOr<const Array*> FindGlobal(absl::string_view name);

  // Sets a variable of block 0 when the run begins. Errors: those of Find. REQUIRES: this is the
  // frame of block 0.
  absl::Status Feed(absl::string_view name, const Tensor& value);

  // Rounds the value to its type.
  void Set(const Variable& variable, Array value);

  // Declares that a variable is one of this run of the block, whichever block declares it.
  void Own(const Variable& variable) { owned_.insert(&variable); }

  // The runs of a block that an op of this frame's block, or of an inner one, keeps for the
  // gradient block: in their order, by the variable that stands for them.
  using Runs = std::vector<std::unique_ptr<Frame>>;
  void Keep(const Variable& runs, std::unique_ptr<Frame> run) {
    FrameOf(runs).kept_[&runs].push_back(std::move(run));
  }
  Runs TakeKept(const Variable& runs) { return std::exchange(FrameOf(runs).kept_[&runs], {}); }

  // Writes the persistable variables that were set to the scope. Error (kFailedPrecondition): no
  // memory; the scope is then as it was. REQUIRES: this is the frame of block 0.
  absl::Status Store();

 private:
  struct Entry {
    Array value;
    bool is_stored = false;  // in the scope, at the end
  };

  bool Holds(const Variable& variable) const;
  Frame& FrameOf(const Variable& variable);
  // Stores a value that is given from outside. Errors: those of Find.
  absl::StatusOr<const Array*> Hold(absl::string_view name, const Tensor& tensor);
  // The type that is used for a declared one.
  VarType::Type StoredType(VarType::Type dtype) const;

  Scope* scope_ = nullptr;
  const Block* block_ = nullptr;  // null for block 0, like outer_
  Frame* outer_ = nullptr;
  Frame* forward_ = nullptr;
  Precision precision_;
  bool check_finite_ = false;
  std::map<std::string, Entry, std::less<>> entries_;
  absl::flat_hash_set<const Variable*> owned_;
  absl::flat_hash_map<const Variable*, Runs> kept_;
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_FRAME_H_
