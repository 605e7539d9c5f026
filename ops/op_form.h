// The form of one op in a program, for whoever runs it: its slots are as its schema says, and its
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
#include "ops/op_schema.h"
#include "proto/program.h"
#include "proto/program.pb.h"

namespace fixpoint {

// Whether an input slot is the step counter of an op that has kTestFromStepAttr, which is in no
// schema.
bool IsStepCounter(const Op& op, absl::string_view input_slot);

// Whether an op is as its kernel relies on: each input that its schema requires is there, no other
// slot has arguments, one that is no list has one, and each attribute, or its default, has a value
// of the type that the schema says. Error (kInvalidArgument; kUnimplemented for an attribute whose
// value comes from a variable): what is wrong, without naming the op.
// Error (kUnimplemented): also an attribute that the schema does not have, and that says work which
// the op has taken over.
absl::Status CheckForm(const Op& op, const OpSchema& schema, Era era);

// An attribute that says work of other ops, which the reference's passes folded into this one:
// `fuse_activation = "relu"`, `fused_transpose_Out` that is not empty. Nothing where there is none.
std::optional<std::string> FindFusedAttribute(const OpDesc& op);

// The attributes of an op. Those that its schema does not have may not be asked for.
class OpAttributes {
 public:
  // REQUIRES: CheckForm. All arguments outlive the object.
  OpAttributes(const Op& op, const OpSchema& schema, Era era)
      : OpAttributes(op.desc(), schema, era) {}
  OpAttributes(const OpDesc& op, const OpSchema& schema, Era era)
      : op_(op), schema_(schema), era_(era) {}

  // An attribute, or what its absence means: the era's default, or the other era's where the
  // attribute is not of that era.
  int64_t Int(absl::string_view name) const;
  double Float(absl::string_view name) const;
  bool Bool(absl::string_view name) const;
  std::string String(absl::string_view name) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  std::vector<double> Floats(absl::string_view name) const;
  // One that is a type of elements. Error (kUnimplemented): it is neither BOOL nor an integer of 8
  // to 64 bits nor SIZE_T, FP32 or FP64.
  absl::StatusOr<VarType::Type> DataType(absl::string_view name) const;

 private:
  const OpDesc::Attr& Attr(absl::string_view name) const;

  const OpDesc& op_;
  const OpSchema& schema_;
  const Era era_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_FORM_H_
