#include "ops/formula_gradient.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/backward.h"
#include "ops/forward_ops.h"
#include "ops/gradient_slots.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

constexpr char kLossName[] = "formula.loss";

using Names = absl::flat_hash_set<std::string>;

// The formula in a program of its own, whose loss depends on the result. All variables are declared
// as vectors of the type that follows: the gradient ops do not depend on shapes.
absl::StatusOr<Program> ProgramOf(const Formula& formula, Era era) {
  ProgramDesc desc;
  desc.mutable_version()->set_version(era == Era::kFluid ? 1008005 : 2006002);
  BlockDesc* block = desc.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  absl::flat_hash_map<std::string, VarDesc> declared;
  const auto declare = [&](const std::string& name, DataType dtype, int64_t size) {
    VarDesc* variable = block->add_vars();
    *variable = MakeTensorVar(name, dtype, {size});
    declared[name] = *variable;
    return variable;
  };
  for (const std::string& input : formula.inputs) {
    declare(input, VarType::FP32, -1)->set_persistable(true);
  }
  for (const OpDesc& op : formula.ops) {
    *block->add_ops() = op;
    const auto inferred = InferOutputs(op, era, [&declared](absl::string_view name) {
      const auto found = declared.find(name);
      return found == declared.end() ? nullptr : &found->second;
    });
    size_t output = 0;
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        const auto dtype = inferred.ok() ? (*inferred)[output++].dtype : std::nullopt;
        declare(name, dtype.value_or(VarType::FP32), -1);
      }
    }
  }
  declare(kLossName, VarType::FP32, 1);
  *block->add_ops() = OpBuilder("mean").Input("X", formula.result).Output("Out", kLossName).Build();
  return Program::Create(desc, "formula");
}

bool WritesOneOf(const OpDesc& op, const Names& names) {
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) {
      if (names.contains(name)) return true;
    }
  }
  return false;
}

void AddReads(const OpDesc& op, Names* names) {
  for (const OpDesc::Var& slot : op.inputs()) {
    names->insert(slot.arguments().begin(), slot.arguments().end());
  }
}

// The constants of the formula, and what ops compute from nothing that has a gradient.
std::vector<std::string> ConstantsOf(const Formula& formula) {
  std::vector<std::string> constants = formula.constants;
  Names varying(formula.inputs.begin(), formula.inputs.end());
  const Names given(constants.begin(), constants.end());
  for (const OpDesc& op : formula.ops) {
    Names reads;
    AddReads(op, &reads);
    const bool varies = std::any_of(reads.begin(), reads.end(), [&varying](const auto& name) {
      return varying.contains(name);
    });
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        if (given.contains(name)) continue;
        if (varies) {
          varying.insert(name);
        } else {
          constants.push_back(name);
        }
      }
    }
  }
  return constants;
}

// Whether a gradient op repeats what the op reads and writes, so that it is its gradient: in a
// formula, no name is written twice.
bool IsGradientOf(const OpDesc& gradient, const OpDesc& op, Era era) {
  if (ForwardTypeOf(gradient.type()) != op.type()) return false;
  for (const RepeatedSlot& slot : RepeatedSlots(gradient.type(), op, era)) {
    const OpDesc::Var* const read = FindSlot(gradient.inputs(), slot.name);
    const OpDesc::Var* const source =
        FindSlot(slot.source_is_output ? op.outputs() : op.inputs(), slot.source);
    if (read == nullptr || source == nullptr) continue;
    if (!std::equal(read->arguments().begin(), read->arguments().end(), source->arguments().begin(),
                    source->arguments().end())) {
      return false;
    }
  }
  return true;
}

// A copy without the attributes that describe the op's place in a program.
OpDesc WithoutRole(OpDesc op) {
  auto& attrs = *op.mutable_attrs();
  attrs.erase(std::remove_if(
                  attrs.begin(), attrs.end(),
                  [](const OpDesc::Attr& attr) { return FindCommonAttr(attr.name()) != nullptr; }),
              attrs.end());
  return op;
}

}  // namespace

absl::StatusOr<std::vector<OpDesc>> GradientOpsOf(const Formula& formula, Era era) {
  ASSIGN_OR_RETURN(Program program, ProgramOf(formula, era));
  RETURN_IF_ERROR(AppendBackward(&program, kLossName, {ConstantsOf(formula)}).status());
  const std::string of_result = absl::StrCat(formula.result, kGradientSuffix);
  const Names of_loss = {absl::StrCat(kLossName, kGradientSuffix), of_result};
  std::vector<OpDesc> backward;
  for (const Op& op : program.block(0).ops()) {
    if ((op.role() & kBackward) == 0 || WritesOneOf(op.desc(), of_loss)) continue;
    backward.push_back(WithoutRole(op.desc()));
  }
  Names read;
  for (const OpDesc& op : backward) AddReads(op, &read);
  std::vector<OpDesc> ops;
  for (auto op = formula.ops.rbegin(); op != formula.ops.rend(); ++op) {
    const bool has_gradient =
        std::any_of(backward.begin(), backward.end(),
                    [op, era](const OpDesc& gradient) { return IsGradientOf(gradient, *op, era); });
    if (!has_gradient && !WritesOneOf(*op, read)) continue;
    AddReads(*op, &read);
    ops.push_back(*op);
  }
  std::reverse(ops.begin(), ops.end());
  std::move(backward.begin(), backward.end(), std::back_inserter(ops));
  return ops;
}

const OpDesc* FindOpWithoutGradient(const Formula& formula) {
  Names read = {formula.result};
  const std::vector<std::string> constants = ConstantsOf(formula);
  for (auto op = formula.ops.rbegin(); op != formula.ops.rend(); ++op) {
    for (const std::string& constant : constants) read.erase(constant);
    if (!WritesOneOf(*op, read)) continue;
    const OpSchema* const schema = FindOpSchema(op->type());
    if (schema == nullptr || !schema->gradient_known()) return &*op;
    AddReads(*op, &read);
  }
  return nullptr;
}

}  // namespace fixpoint
