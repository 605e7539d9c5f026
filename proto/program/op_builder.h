// Builds op and variable messages in an expression.

#ifndef FIXPOINT_PROTO_PROGRAM_OP_BUILDER_H_
#define FIXPOINT_PROTO_PROGRAM_OP_BUILDER_H_

#include <google/protobuf/arena.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/attributes.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// OpDesc scale = OpBuilder("scale").Input("X", "x").Output("Out", "y").Attr(MakeFloatAttr(...));
class OpBuilder {
 public:
  explicit OpBuilder(absl::string_view type) : OpBuilder(type, nullptr) {}
  // Builds in the memory of an arena, which must outlive the builder.
  OpBuilder(absl::string_view type, google::protobuf::Arena* arena)
      : op_(google::protobuf::Arena::CreateMessage<OpDesc>(arena)) {
    if (arena == nullptr) own_.reset(op_);
    op_->set_type(std::string(type));
  }

  // Add to the end of a slot, and begin the slot if the op has none of that name.
  OpBuilder& Input(absl::string_view slot, absl::string_view argument) {
    Slot(*op_->mutable_inputs(), slot).add_arguments(std::string(argument));
    return *this;
  }
  OpBuilder& Output(absl::string_view slot, absl::string_view argument) {
    Slot(*op_->mutable_outputs(), slot).add_arguments(std::string(argument));
    return *this;
  }
  OpBuilder& Input(absl::string_view slot, absl::Span<const std::string> arguments) {
    Add(arguments, Slot(*op_->mutable_inputs(), slot));
    return *this;
  }
  OpBuilder& Output(absl::string_view slot, absl::Span<const std::string> arguments) {
    Add(arguments, Slot(*op_->mutable_outputs(), slot));
    return *this;
  }
  OpBuilder& Attr(OpDesc::Attr attr) {
    *op_->add_attrs() = std::move(attr);
    return *this;
  }
  OpBuilder& IntAttr(absl::string_view name, int32_t value) {
    AddAttr(name, AttrType::INT)->set_i(value);
    return *this;
  }
  OpBuilder& FloatAttr(absl::string_view name, float value) {
    AddAttr(name, AttrType::FLOAT)->set_f(value);
    return *this;
  }
  OpBuilder& BoolAttr(absl::string_view name, bool value) {
    AddAttr(name, AttrType::BOOLEAN)->set_b(value);
    return *this;
  }
  OpBuilder& StringAttr(absl::string_view name, absl::string_view value) {
    AddAttr(name, AttrType::STRING)->set_s(std::string(value));
    return *this;
  }
  OpBuilder& IntsAttr(absl::string_view name, absl::Span<const int32_t> values) {
    AddAttr(name, AttrType::INTS)->mutable_ints()->Add(values.begin(), values.end());
    return *this;
  }
  OpBuilder& StringsAttr(absl::string_view name, absl::Span<const std::string> values) {
    OpDesc::Attr* attr = AddAttr(name, AttrType::STRINGS);
    for (const std::string& value : values) attr->add_strings(value);
    return *this;
  }
  OpBuilder& LongsAttr(absl::string_view name, absl::Span<const int64_t> values) {
    AddAttr(name, AttrType::LONGS)->mutable_longs()->Add(values.begin(), values.end());
    return *this;
  }

  OpDesc Build() { return std::move(*op_); }
  // The result so far: in the arena's memory or, without an arena, valid as long as the builder.
  OpDesc& op() { return *op_; }

 private:
  OpDesc::Attr* AddAttr(absl::string_view name, AttrType type) {
    OpDesc::Attr* attr = op_->add_attrs();
    attr->set_name(std::string(name));
    attr->set_type(type);
    return attr;
  }
  using Slots = google::protobuf::RepeatedPtrField<OpDesc::Var>;
  static OpDesc::Var& Slot(Slots& slots, absl::string_view name) {
    for (OpDesc::Var& slot : slots) {
      if (slot.parameter() == name) return slot;
    }
    OpDesc::Var& slot = *slots.Add();
    slot.set_parameter(std::string(name));
    return slot;
  }
  static void Add(absl::Span<const std::string> arguments, OpDesc::Var& slot) {
    for (const std::string& argument : arguments) slot.add_arguments(argument);
  }

  OpDesc* op_;
  std::unique_ptr<OpDesc> own_;
};

// Turns an empty declaration into that of a dense tensor.
inline void FillTensorVar(absl::string_view name, VarType::Type dtype,
                          absl::Span<const int64_t> dims, VarDesc* var) {
  var->set_name(std::string(name));
  var->mutable_type()->set_type(VarType::LOD_TENSOR);
  VarType::TensorDesc* tensor = var->mutable_type()->mutable_lod_tensor()->mutable_tensor();
  tensor->set_data_type(dtype);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
}

// The declaration of a dense tensor.
inline VarDesc MakeTensorVar(absl::string_view name, VarType::Type dtype,
                             absl::Span<const int64_t> dims) {
  VarDesc var;
  FillTensorVar(name, dtype, dims, &var);
  return var;
}

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_OP_BUILDER_H_
