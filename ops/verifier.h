// Finds everything that is wrong with a program, in one run, each finding with its op.
//
// What is checked, by the code of the finding:
//    1 duplicate_variable  A block declares a name once.
//    2 variable_type       Declared tensors have a tensor's data type, and at most 64 dimensions
//                          of -1 or more.
//    3 block_structure     Every block but the first is run by one op, which stands in its parent.
//    4 unknown_op          Every op type has a schema. (A warning; checks 5 to 10 need one.)
//    5 missing_slot, unknown_slot, arity
//                          Slots are those of the schema: required ones filled, each once, one
//                          argument where the schema has one.
//    6 missing_attr, attr_type, duplicate_attr
//                          Attributes have the schema's type, and required ones are there.
//    7 dangling_name       Every name that an op uses is declared where the op can see it.
//    8 dtype, shape        Inputs and attributes do not contradict each other, and outputs declare
//                          what follows from them.
//    9 unreached_read      What is read was written, fed, or is persistable.
//   10 gradient_mismatch   A gradient op reads the values that its forward op read and wrote, and
//                          stands after it.
//   11 role                op_role has known bits; gradient ops are Backward, optimizers Optimize.
//   12 op_role_var        Its pairs name a parameter and its gradient.
//   13 optimizer_update    An optimizer updates a persistable parameter in place.
//   14 nested_quantize     Nothing is quantized that was quantized and dequantized just before.
//   15 stale_quantized_read  No forward op reads the quantized copy of a variable that was written
//                          since.
//   16 quantizer_state     A quantizer that learns its range has all of its state, in place.
//   17 uninitialized, initialized_twice
//                          The startup program, if given, initializes every persistable once, with
//                          the shape that the program declares.
//
// Not checked: values of attributes that inference does not read; unknown dimensions; attributes
// that no schema has; sequences' offsets; what a block passes to the ops inside it; whether a range
// suits what it quantizes.

#ifndef FIXPOINT_OPS_VERIFIER_H_
#define FIXPOINT_OPS_VERIFIER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

enum class Severity {
  kError,    // the program is inconsistent, or cannot run
  kWarning,  // most likely a mistake, or something that cannot be judged
};

enum class FindingCode {
  kDuplicateVariable,
  kVariableType,
  kBlockStructure,
  kUnknownOp,
  kMissingSlot,
  kUnknownSlot,
  kArity,
  kMissingAttr,
  kAttrType,
  kDuplicateAttr,
  kDanglingName,
  kDtype,
  kShape,
  kUnreachedRead,
  kGradientMismatch,
  kRole,
  kOpRoleVar,
  kOptimizerUpdate,
  kNestedQuantize,
  kStaleQuantizedRead,
  kQuantizerState,
  kUninitialized,
  kInitializedTwice,
};

// "duplicate_variable".
absl::string_view CodeName(FindingCode code);

struct Finding {
  Severity severity = Severity::kError;
  FindingCode code = FindingCode::kUnknownOp;
  const Block* block = nullptr;
  const Op* op = nullptr;  // null: the finding is about the block itself
  std::string message;     // without the place
};

struct VerifyOptions {
  const Program* startup = nullptr;
  // Checks only the ops that were inserted or changed since Program::ForgetEdits, except that check
  // 10 always sees all ops, so that it finds gradient ops that an edit forgot: cheap enough for a
  // rewrite to run after each of its steps.
  bool edited_only = false;
};

// Findings in the order of the program: by block, a block's own before its ops'. Time is linear in
// the program. Handles are valid as long as the program is.
std::vector<Finding> Verify(const Program& program, const VerifyOptions& options = {});

// The op as text, without debug attributes, cut off at a readable length: an op may have as many
// findings as slots.
std::string FindingLine(const Op& op);

// One finding per paragraph, linear in the program:
//   error: main.pb: block 0, op 17 (conv2d): what is wrong [shape]
//       conv2d(Input=x, Filter=w) -> (Output=y) {...}
std::string FindingsText(const Program& program, absl::Span<const Finding> findings);

// Whether any finding is an error.
bool HasErrors(absl::Span<const Finding> findings);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_VERIFIER_H_
