// Our schemas against real programs: what they declare, and the gradient ops they hold.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "tests/ops/reference_program.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

TEST(ReferencePrograms, HoldNoOpWithoutASchema) {
  SKIP_WITHOUT_REFERENCE_DATA();
  std::map<std::string, int> unknown;
  for (const ReferenceProgram& file : LoadReferencePrograms("models/")) {
    ForEachOp(file.program, [&](const Op& op) {
      if (FindOpSchema(op.type()) == nullptr) ++unknown[op.type()];
    });
  }
  EXPECT_THAT(unknown, testing::IsEmpty());
}

std::string TypeText(const std::optional<DataType>& dtype, DimsView dims) {
  return absl::StrCat(dtype ? VarType::Type_Name(*dtype) : "?", DimsText(dims));
}

// Compares what an op's outputs declare with what is inferred of them.
void CompareOutputs(const Op& op, Era era, std::map<std::string, int>* differences) {
  const OpSchema* schema = FindOpSchema(op.type());
  if (schema == nullptr) return;
  std::vector<const VarDesc*> inputs;
  for (const Argument* input : op.inputs()) {
    inputs.push_back(input->variable() != nullptr ? input->variable()->desc() : nullptr);
  }
  InferContext context(op.desc(), *schema, era, inputs);
  if (absl::Status status = Infer(context); !status.ok()) {
    ++(*differences)[absl::StrCat(op.type(), ": ", status.message())];
    return;
  }
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    const Argument& output = *op.outputs()[i];
    const TensorInfo declared =
        TensorInfoOf(output.variable() != nullptr ? output.variable()->desc() : nullptr);
    const InferredOutput& inferred = context.outputs()[i];
    const bool dtype_differs =
        inferred.dtype && declared.dtype && *inferred.dtype != *declared.dtype;
    const bool dims_differ =
        inferred.dims && declared.has_dims() && !MayBeEqual(*inferred.dims, declared.dims);
    if (dtype_differs || dims_differ) {
      ++(*differences)[absl::StrCat(
          op.type(), " ", output.slot_name(), ": inferred ",
          TypeText(inferred.dtype, inferred.dims ? DimsView(*inferred.dims) : DimsView()),
          ", declared ", TypeText(declared.dtype, declared.dims))];
    }
  }
}

TEST(ReferencePrograms, DeclareWhatIsInferred) {
  SKIP_WITHOUT_REFERENCE_DATA();
  std::map<std::string, int> differences;
  for (const ReferenceProgram& file : LoadReferencePrograms("models/")) {
    ForEachOp(file.program, [&](const Op& op) { CompareOutputs(op, file.era(), &differences); });
  }
  EXPECT_THAT(differences, testing::IsEmpty());
}

// A gradient's name without what distinguishes the terms of its sum.
std::string WithoutRename(absl::string_view name) {
  return std::string(name.substr(0, name.find("@RENAME@")));
}

using Slots = google::protobuf::RepeatedPtrField<OpDesc::Var>;

std::string InputsText(const OpDesc& op) {
  std::set<std::string> slots;
  for (const OpDesc::Var& slot : op.inputs()) {
    if (slot.arguments().empty()) continue;
    slots.insert(absl::StrCat(
        slot.parameter(), "=",
        absl::StrJoin(slot.arguments(), ",", [](std::string* out, const std::string& name) {
          *out += WithoutRename(name);
        })));
  }
  return absl::StrCat(op.type(), "(", absl::StrJoin(slots, ", "), ")");
}

// Whether `real` is `made`, but for gradients that nobody wanted.
bool IsPruned(const Slots& real, const Slots& made) {
  std::set<std::string> made_slots;
  std::map<std::string, const OpDesc::Var*> by_name;
  for (const OpDesc::Var& slot : made) by_name[slot.parameter()] = &slot;
  for (const OpDesc::Var& slot : real) {
    const OpDesc::Var* of_made = by_name[slot.parameter()];
    if (of_made == nullptr) return false;
    if (slot.arguments().empty()) continue;
    if (slot.arguments_size() != of_made->arguments_size()) return false;
    for (int i = 0; i < slot.arguments_size(); ++i) {
      const std::string name = WithoutRename(slot.arguments(i));
      if (name != kEmptyArgument && name != of_made->arguments(i)) return false;
    }
  }
  return true;
}

std::map<std::string, std::string> AttrsOf(const OpDesc& op, Era era) {
  std::map<std::string, std::string> attrs;
  for (const OpDesc::Attr& attr : op.attrs()) {
    // Call stacks are of the line that made the op; op_role_var is set later.
    if (attr.name() == "op_callstack" || attr.name() == "op_role_var") continue;
    const AttrSchema* schema = FindCommonAttr(attr.name());
    if (schema == nullptr) schema = FindOpSchema(op.type())->FindAttr(attr.name(), era);
    const bool is_default = schema != nullptr && schema->default_value &&
                            schema->default_value->SerializeAsString() == attr.SerializeAsString();
    if (!is_default) attrs[attr.name()] = attr.SerializeAsString();
  }
  return attrs;
}

// Ops that the backward pass itself makes.
bool IsOfBackwardPass(const Op& op) {
  return op.type() == "fill_constant" || op.type() == "sum" || op.type() == "while_grad";
}

TEST(ReferencePrograms, HoldTheGradientOpsThatTheSchemasMake) {
  SKIP_WITHOUT_REFERENCE_DATA();
  std::map<std::string, int> differences;
  int compared = 0;
  for (const ReferenceProgram& file : LoadReferencePrograms("train_main.pdmodel")) {
    std::multimap<std::string, OpDesc> made;
    ForEachOp(file.program, [&](const Op& op) {
      const OpSchema* schema = FindOpSchema(op.type());
      if (schema == nullptr || (op.role() & (kBackward | kOptimize)) != 0) return;
      for (OpDesc& gradient : schema->MakeGradient(op.desc(), file.era())) {
        std::string key = InputsText(gradient);
        made.emplace(std::move(key), std::move(gradient));
      }
    });
    ForEachOp(file.program, [&](const Op& op) {
      if ((op.role() & kBackward) == 0 || IsOfBackwardPass(op)) return;
      const auto [begin, end] = made.equal_range(InputsText(op.desc()));
      ++compared;
      for (auto it = begin; it != end; ++it) {
        if (IsPruned(op.desc().outputs(), it->second.outputs()) &&
            AttrsOf(op.desc(), file.era()) == AttrsOf(it->second, file.era())) {
          return;
        }
      }
      ++differences[absl::StrCat(op.type(), begin == end ? ": inputs" : ": outputs or attributes",
                                 " ", InputsText(op.desc()), "  ",
                                 file.path.substr(file.path.rfind('/')))];
    });
  }
  EXPECT_THAT(differences, testing::IsEmpty());
  EXPECT_GE(compared, 700);
}

}  // namespace
}  // namespace fixpoint
