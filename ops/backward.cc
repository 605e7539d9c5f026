#include "ops/backward.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/block_backward.h"
#include "ops/block_path.h"
#include "ops/gradient_slots.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/program/role_variables.h"

namespace fixpoint {
namespace {

bool IsParameter(const Variable& variable) {
  return variable.persistable() &&
         std::all_of(variable.values().begin(), variable.values().end(),
                     [](const Value* value) { return value->origin() == Value::Origin::kEntry; });
}

class BackwardPass {
 public:
  BackwardPass(Program* program, const BackwardOptions& options)
      : program_(*program),
        rewriter_(program, "append_backward"),
        context_{*program, EraOf(*program), rewriter_},
        block_(program->block(0)),
        path_(&context_, block_),
        main_(&context_, path_) {
    for (const std::string& name : options.no_gradient) {
      if (const Variable* variable = program->Find(block_, name)) context_.stopped.insert(variable);
    }
  }

  absl::StatusOr<std::vector<ParameterGradient>> Append(absl::string_view loss) {
    RETURN_IF_ERROR(FindLoss(loss));
    RETURN_IF_ERROR(path_.Find({context_.loss}));
    RETURN_IF_ERROR(main_.MakeOps());
    std::vector<ParameterGradient> parameters = FindParameters();
    if (parameters.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(context_.Name(), "\"", context_.loss->name(),
                                                     "\" depends on no parameter that is trained"));
    }
    RETURN_IF_ERROR(Write(parameters));
    return parameters;
  }

 private:
  absl::Status FindLoss(absl::string_view name) {
    context_.loss = program_.Find(block_, name);
    if (context_.loss == nullptr || context_.loss->desc() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(context_.Name(), "block 0 declares no loss \"", name, "\""));
    }
    for (const Op& op : block_.ops()) {
      if ((op.role() & kBackward) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(context_.Name(), Describe(op),
                         " computes gradients already; want the forward program"));
      }
    }
    const Value* value = context_.loss->values().empty() ? nullptr : context_.loss->values().back();
    if (value == nullptr || value->written_by() == nullptr || &value->op()->block() != &block_) {
      return absl::InvalidArgumentError(
          absl::StrCat(context_.Name(), "no op of block 0 writes the loss \"", name, "\""));
    }
    loss_op_ = value->op();
    if (context_.loss->tensor() != nullptr) {
      const auto& dims = context_.loss->tensor()->dims();
      loss_dims_.assign(dims.begin(), dims.end());
      if (std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; })) {
        return absl::OkStatus();
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(context_.Name(), "the loss \"", name,
                                                   "\" has shape [", absl::StrJoin(loss_dims_, ","),
                                                   "]; want one element, the mean for example"));
  }

  std::vector<ParameterGradient> FindParameters() const {
    std::vector<ParameterGradient> parameters;
    absl::flat_hash_set<std::string> seen;
    for (const OpDesc& op : main_.ops()) {
      for (const OpDesc::Var& slot : op.outputs()) {
        for (const std::string& name : slot.arguments()) {
          const Variable* of = main_.OfWhat(name);
          const bool is_whole = of != nullptr && name == GradientName(of->name());
          if (!is_whole || !seen.insert(name).second) continue;
          if (IsParameter(*of)) parameters.push_back({of->name(), name});
        }
      }
    }
    std::sort(parameters.begin(), parameters.end(),
              [](const ParameterGradient& a, const ParameterGradient& b) {
                return a.parameter < b.parameter;
              });
    return parameters;
  }

  absl::Status Write(const std::vector<ParameterGradient>& parameters) {
    const Variable& loss = *context_.loss;
    const std::string gradient = GradientName(loss.name());
    RETURN_IF_ERROR(main_.CheckNames());
    if (program_.Find(block_, gradient) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          context_.Name(), "\"", gradient, "\" is there already; want the forward program"));
    }
    rewriter_.SetAttr(*loss_op_, MakeIntAttr("op_role", loss_op_->role() | kLoss));
    RETURN_IF_ERROR(rewriter_.AddVariable(block_, gradient, loss.desc()->type()).status());
    OpDesc fill = OpBuilder("fill_constant")
                      .Output("Out", gradient)
                      .LongsAttr("shape", loss_dims_)
                      .IntAttr("dtype", loss.tensor()->data_type())
                      .FloatAttr("value", 1)
                      .BoolAttr("force_cpu", false)
                      .IntAttr("op_role", kBackward | kLoss)
                      .Build();
    if (context_.era == Era::kPaddle2) CompleteAttrs(context_.era, &fill);
    rewriter_.Append(block_, fill);
    ASSIGN_OR_RETURN(const BlockBackward::Writers writers, main_.Write(block_));
    SayWhoWrites(parameters, writers);
    return absl::OkStatus();
  }

  // The op_role_var of the op that writes a parameter's gradient last names both.
  void SayWhoWrites(const std::vector<ParameterGradient>& parameters,
                    const BlockBackward::Writers& writers) {
    for (const auto& [parameter, gradient] : parameters) {
      const Op& op = *writers.at(gradient);
      std::vector<std::string> pairs = RoleVariables(op.desc());
      pairs.insert(pairs.end(), {parameter, gradient});
      rewriter_.SetAttr(op, MakeStringsAttr(kRoleVarAttr, pairs));
    }
  }

  Program& program_;
  Rewriter rewriter_;
  BackwardContext context_;
  const Block& block_;
  BlockPath path_;
  BlockBackward main_;
  const Op* loss_op_ = nullptr;
  std::vector<int64_t> loss_dims_;
};

}  // namespace

absl::StatusOr<std::vector<ParameterGradient>> AppendBackward(Program* program,
                                                              absl::string_view loss,
                                                              const BackwardOptions& options) {
  return BackwardPass(program, options).Append(loss);
}

}  // namespace fixpoint
