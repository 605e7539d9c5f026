// The form of one op in a program, for code that runs it: its slots match its schema, and its
// attributes can be read.

#ifndef FIXPOINT_OPS_OP_FORM_H_
#define FIXPOINT_OPS_OP_FORM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class OpSchema;

// Whether an input slot is the step counter of an op that has kTestFromStepAttr, which is in no
// schema.
bool IsStepCounter(const Op& op, absl::string_view input_slot);

// Checks what an op's kernel relies on: each required input is there, no slot that the type does
// not have has arguments, a slot that is no list has one, and each attribute, or its default, has a
// value of the type in the schema. Error (kInvalidArgument; kUnimplemented for an attribute whose
// value comes from a variable): what is wrong, without naming the op. Error (kUnimplemented): also
// an attribute that the schema does not have and that declares work which the op has taken over.
absl::Status CheckForm(const Op& op, const OpSchema& schema, Era era);

// An attribute that declares the work of other ops, which the reference's passes folded into this
// one: `fuse_activation = "relu"`, a `fused_transpose_Out` that is not empty. Nothing if there is
// none.
std::optional<std::string> FindFusedAttribute(const OpDesc& op);

// The attributes of an op: the one way to read them, because defaults are the schema's. Attributes
// that the schema does not have may not be read.
class OpAttributes {
 public:
  // Returns nothing where an attribute, or its default, has no value of the type in the op's
  // schema, and where there is no schema: callers leave such an op alone. The op outlives the
  // object.
  static std::optional<OpAttributes> Of(const OpDesc& op, Era era);
  static std::optional<OpAttributes> Of(const OpDesc& op, const OpSchema& schema, Era era);

  // REQUIRES: CheckForm. All arguments outlive the object.
  OpAttributes(const Op& op, const OpSchema& schema, Era era);
  OpAttributes(const OpDesc& op, const OpSchema& schema, Era era)
      : op_(op), schema_(schema), era_(era) {}

  const OpDesc& op() const { return op_; }
  Era era() const { return era_; }

  // Whether the op itself has the attribute, of whatever type.
  bool IsGiven(absl::string_view name) const;

  // An attribute, or the default that its absence means: the era's, or the other era's if the
  // attribute is not of that era.
  int64_t Int(absl::string_view name) const;
  double Float(absl::string_view name) const;
  bool Bool(absl::string_view name) const;
  std::string String(absl::string_view name) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  std::vector<double> Floats(absl::string_view name) const;
  // An attribute that is an element type. Error (kUnimplemented): it is neither BOOL nor an integer
  // of 8 to 64 bits nor SIZE_T, FP32 or FP64.
  absl::StatusOr<VarType::Type> DataType(absl::string_view name) const;

 private:
  const OpDesc::Attr& Attr(absl::string_view name) const;

  const OpDesc& op_;
  const OpSchema& schema_;
  const Era era_;
};

// For any op: what is_test says, or the default of its type. Nothing if its type has no test mode,
// or the attribute is no boolean.
inline constexpr char kIsTest[] = "is_test";
std::optional<bool> IsTest(const OpDesc& op, Era era);

// For any op: the variables that op_role_var names, and the path of op_namescope.
std::vector<std::string> RoleVariables(const OpDesc& op);
std::string NameScope(const OpDesc& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_FORM_H_
