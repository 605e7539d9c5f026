// The roles of ops, and optimizers.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

constexpr int kKnownBits =
    kBackward | kOptimize | kRpc | kDist | kLearningRate | kLoss | kUnspecified;

bool IsOptimizer(const OpSchema& schema) {
  return schema.FindInput("Param", Era::kFluid) != nullptr &&
         schema.FindInput("Grad", Era::kFluid) != nullptr;
}

void CheckRoleVar(const Program& program, const Op& op, const OpDesc::Attr* attr,
                  FindingList* findings) {
  if (attr == nullptr || attr->strings().empty()) return;
  if (attr->strings_size() % 2 != 0) {
    findings->Error(FindingCode::kOpRoleVar, op,
                    absl::StrCat("op_role_var has ", attr->strings_size(),
                                 " names; want pairs of a parameter and its gradient"));
    return;
  }
  for (int i = 0; i < attr->strings_size(); i += 2) {
    const std::string& parameter = attr->strings(i);
    const std::string& gradient = attr->strings(i + 1);
    const Variable* variable = program.Find(op.block(), parameter);
    if (variable == nullptr || !variable->persistable()) {
      findings->Error(FindingCode::kOpRoleVar, op,
                      absl::StrCat("op_role_var names \"", parameter, "\", which ",
                                   variable == nullptr ? "nothing declares" : "is not persistable",
                                   "; want the parameter whose gradient is \"", gradient, "\""));
    }
    if (program.Find(op.block(), gradient) == nullptr) {
      findings->Error(
          FindingCode::kOpRoleVar, op,
          absl::StrCat("op_role_var names \"", gradient,
                       "\", which nothing declares; want the gradient of \"", parameter, "\""));
    }
  }
}

void CheckUpdate(const Op& op, FindingList* findings) {
  const auto parameters = op.Inputs("Param");
  const auto updated = op.Outputs("ParamOut");
  for (size_t i = 0; i < std::min(parameters.size(), updated.size()); ++i) {
    const Variable* parameter = parameters[i]->variable();
    if (parameter == nullptr || parameter->desc() == nullptr) continue;
    if (updated[i]->variable() != parameter) {
      findings->Error(FindingCode::kOptimizerUpdate, op,
                      absl::StrCat("Param is \"", parameters[i]->name(), "\" and ParamOut is \"",
                                   updated[i]->name(), "\"; want one variable"));
    } else if (!parameter->persistable()) {
      findings->Error(FindingCode::kOptimizerUpdate, op,
                      absl::StrCat("Param \"", parameters[i]->name(),
                                   "\" is not persistable; want a parameter"));
    }
  }
}

}  // namespace

void CheckRoles(const Program& program, const KnownOp& known, FindingList* findings) {
  const Op& op = *known.op;
  const bool is_optimizer = IsOptimizer(*known.schema);
  if (is_optimizer) CheckUpdate(op, findings);
  const OpDesc::Attr* role_attr = nullptr;
  const OpDesc::Attr* role_var = nullptr;
  for (const OpDesc::Attr& attr : op.desc().attrs()) {
    if (attr.name() == "op_role") role_attr = &attr;
    if (attr.name() == "op_role_var") role_var = &attr;
  }
  CheckRoleVar(program, op, role_var, findings);
  if (role_attr == nullptr) return;
  const int role = static_cast<int>(IntValue(*role_attr).value_or(0));
  if ((role & ~kKnownBits) != 0) {
    findings->Warning(FindingCode::kRole, op,
                      absl::StrCat("op_role is ", role, ", which has bits without a meaning"));
  }
  if (!known.schema->gradient_of().empty() && (role & kBackward) == 0) {
    findings->Warning(FindingCode::kRole, op,
                      absl::StrCat("op_role of a gradient op is ", role,
                                   "; want the Backward bit (", static_cast<int>(kBackward), ")"));
  }
  if (is_optimizer && (role & kOptimize) == 0) {
    findings->Warning(FindingCode::kRole, op,
                      absl::StrCat("op_role of an optimizer is ", role, "; want the Optimize bit (",
                                   static_cast<int>(kOptimize), ")"));
  }
}

}  // namespace fixpoint
