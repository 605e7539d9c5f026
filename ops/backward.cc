#include "ops/backward.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/gradient_sums.h"
#include "ops/infer.h"
#include "ops/infer_in_program.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/selected_rows.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/program/role_variables.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

std::string GradientOf(absl::string_view name) { return absl::StrCat(name, kGradientSuffix); }

template <typename Visit>
void ForEachArgument(const Slots& slots, Visit visit) {
  for (const OpDesc::Var& slot : slots) {
    for (const std::string& argument : slot.arguments()) visit(argument);
  }
}

bool IsFloat(VarType::Type dtype) {
  return dtype == VarType::FP32 || dtype == VarType::FP64 || dtype == VarType::FP16 ||
         dtype == VarType::BF16;
}

bool IsFed(const Variable& variable) {
  if (variable.persistable()) return false;
  if (variable.desc()->need_check_feed()) return true;
  return std::all_of(variable.values().begin(), variable.values().end(), [](const Value* value) {
    return value->op() == nullptr || IsFeed(*value->op());
  });
}

class BackwardPass {
 public:
  BackwardPass(Program* program, const BackwardOptions& options)
      : program_(*program), block_(program->block(0)), era_(EraOf(*program)) {
    for (const std::string& name : options.no_gradient) {
      if (const Variable* variable = program->Find(block_, name)) stopped_.insert(variable);
    }
  }

  absl::StatusOr<std::vector<ParameterGradient>> Append(absl::string_view loss) {
    RETURN_IF_ERROR(FindLoss(loss));
    RETURN_IF_ERROR(FindPath());
    StopWhatNobodyReads();
    RETURN_IF_ERROR(TakeGradientOps());
    RETURN_IF_ERROR(RemoveWhatIsNotReached());
    SumParts();
    std::vector<ParameterGradient> parameters = FindParameters();
    if (parameters.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Name(), "\"", loss_->name(), "\" depends on no parameter that is trained"));
    }
    RETURN_IF_ERROR(Write(parameters));
    return parameters;
  }

 private:
  std::string Name() const { return program_.name().empty() ? "" : program_.name() + ": "; }
  absl::Status Refuse(const Op& op, absl::string_view why) const {
    return absl::UnimplementedError(
        absl::StrCat(Name(), Describe(op), ": the gradient of \"", loss_->name(), "\" ", why));
  }

  // Whether a variable needs gradients.
  bool HasGradient(const Variable& variable) {
    const auto [known, is_new] = has_gradient_.try_emplace(&variable, false);
    if (is_new) known->second = FindHasGradient(variable);
    return known->second;
  }
  bool FindHasGradient(const Variable& variable) const {
    if (stopped_.contains(&variable) || variable.desc() == nullptr) return false;
    const VarType::TensorDesc* tensor = variable.tensor();
    if (tensor == nullptr || !IsFloat(tensor->data_type())) return false;
    return variable.desc()->has_stop_gradient() ? !variable.desc()->stop_gradient()
                                                : !IsFed(variable);
  }

  absl::Status FindLoss(absl::string_view name) {
    loss_ = program_.Find(block_, name);
    if (loss_ == nullptr || loss_->desc() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(Name(), "block 0 declares no loss \"", name, "\""));
    }
    for (const Op& op : block_.ops()) {
      if ((op.role() & kBackward) != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            Name(), Describe(op), " computes gradients already; want the forward program"));
      }
    }
    const Value* value = loss_->values().empty() ? nullptr : loss_->values().back();
    if (value == nullptr || value->written_by() == nullptr || &value->op()->block() != &block_) {
      return absl::InvalidArgumentError(
          absl::StrCat(Name(), "no op of block 0 writes the loss \"", name, "\""));
    }
    loss_op_ = value->op();
    if (loss_->tensor() != nullptr) {
      const auto& dims = loss_->tensor()->dims();
      loss_dims_.assign(dims.begin(), dims.end());
      if (std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; })) {
        return absl::OkStatus();
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(Name(), "the loss \"", name, "\" has shape [",
                                                   absl::StrJoin(loss_dims_, ","),
                                                   "]; want one element, the mean for example"));
  }

  // The ops that the loss depends on and that gradients can pass.
  absl::Status FindPath() {
    Wanted wanted;
    wanted.makers.insert(loss_op_);
    for (const Op* op = loss_op_; op != nullptr; op = op->previous()) {
      if (!IsWanted(*op, wanted)) continue;
      const OpSchema* schema = FindOpSchema(op->type());
      if (schema == nullptr) {
        return Refuse(*op, "would have to pass an op of a type that is not known");
      }
      if (!schema->gradient_known()) {
        return Refuse(*op, op->sub_blocks().empty()
                               ? "would have to pass an op whose gradient is not known"
                               : "would have to pass a block that an op runs");
      }
      std::vector<OpDesc> gradients = schema->MakeGradient(op->desc(), era_);
      if (schema->quant_op() != QuantOp::kNone && (gradients.empty() || op->has_own_attrs()) &&
          ReadsWhatHasGradient(*op)) {
        return Refuse(*op,
                      "would have to pass an op that quantizes; minimize before the program is "
                      "quantized, or by MinimizeQuantized (transpiler/train/minimize_quantized.h)");
      }
      if (gradients.empty()) continue;
      absl::flat_hash_set<std::string> made;
      for (const OpDesc& gradient : gradients) {
        ForEachArgument(gradient.outputs(),
                        [&made](const std::string& name) { made.insert(name); });
      }
      path_.push_back({op, std::move(gradients)});
      for (const Argument* input : op->inputs()) {
        if (input->variable() == nullptr || !HasGradient(*input->variable())) continue;
        if (!made.contains(GradientOf(input->name()))) continue;
        RETURN_IF_ERROR(CheckIsWrittenLast(*input));
        Want(*input, &wanted);
      }
    }
    return absl::OkStatus();
  }

  // The ops that the gradients of later ops pass through: those that made the values which those
  // read; for an array of tensors, which also holds what was written before, all that write it.
  struct Wanted {
    absl::flat_hash_set<const Op*> makers;
    absl::flat_hash_set<const Variable*> arrays;
  };

  static void Want(const Argument& input, Wanted* wanted) {
    if (input.variable()->desc()->type().type() == VarType::LOD_TENSOR_ARRAY) {
      wanted->arrays.insert(input.variable());
    } else if (input.value()->op() != nullptr) {
      wanted->makers.insert(input.value()->op());
    }
  }

  static bool IsWanted(const Op& op, const Wanted& wanted) {
    return wanted.makers.contains(&op) ||
           std::any_of(op.outputs().begin(), op.outputs().end(), [&wanted](const Argument* output) {
             return output->variable() != nullptr && wanted.arrays.contains(output->variable());
           });
  }

  bool ReadsWhatHasGradient(const Op& op) {
    return std::any_of(op.inputs().begin(), op.inputs().end(), [this](const Argument* input) {
      return input->variable() != nullptr && HasGradient(*input->variable());
    });
  }

  // Gradients go by name: a value that is overwritten may be read only by the op that overwrites
  // it.
  absl::Status CheckIsWrittenLast(const Argument& input) const {
    const absl::Span<const Value* const> values = input.variable()->values();
    if (values.size() < 2 || input.value() == values.back()) return absl::OkStatus();
    const auto& outputs = input.op().outputs();
    if (std::any_of(outputs.begin(), outputs.end(), [&input](const Argument* output) {
          return output->variable() == input.variable();
        })) {
      return absl::OkStatus();
    }
    return Refuse(input.op(), absl::StrCat("would have to pass \"", std::string(input.name()),
                                           "\", which is written again after the op read it"));
  }

  // An output of the path that the path does not read has no gradient.
  void StopWhatNobodyReads() {
    absl::flat_hash_set<const Variable*> read = {loss_};
    for (const auto& [op, gradients] : path_) {
      for (const Argument* output : op->outputs()) {
        if (output->variable() == nullptr || read.contains(output->variable())) continue;
        const auto& inputs = op->inputs();
        if (std::none_of(inputs.begin(), inputs.end(), [output](const Argument* input) {
              return input->variable() == output->variable();
            })) {
          has_gradient_[output->variable()] = false;
        }
      }
      for (const Argument* input : op->inputs()) {
        if (input->variable() != nullptr && HasGradient(*input->variable())) {
          read.insert(input->variable());
        }
      }
    }
  }

  // Names of gradients are never parsed: a variable may be named like a gradient.
  void NoteGradientsOf(const Op& op) {
    for (const auto& arguments : {op.inputs(), op.outputs()}) {
      for (const Argument* argument : arguments) {
        if (argument->variable() == nullptr) continue;
        gradients_.try_emplace(GradientOf(argument->name()), argument->variable());
      }
    }
  }

  // The variable that a gradient belongs to; null if it is none.
  const Variable* OfWhat(const std::string& gradient) const {
    const auto found = gradients_.find(gradient);
    return found == gradients_.end() ? nullptr : found->second;
  }

  absl::Status TakeGradientOps() {
    gradients_.emplace(GradientOf(loss_->name()), loss_);
    for (const auto& [op, gradients] : path_) NoteGradientsOf(*op);
    for (auto& [op, gradients] : path_) {
      for (OpDesc& gradient : gradients) {
        DropUnwanted(gradient.mutable_outputs());
        if (!Any(gradient.outputs())) continue;
        RETURN_IF_ERROR(CheckReadsWhatItRepeats(*op, gradient));
        gradient_ops_.push_back(std::move(gradient));
      }
    }
    return absl::OkStatus();
  }

  // A gradient op runs after all forward ops: what it reads of them must not be overwritten.
  absl::Status CheckReadsWhatItRepeats(const Op& op, const OpDesc& gradient) const {
    for (const OpDesc::Var& slot : gradient.inputs()) {
      for (const std::string& name : slot.arguments()) {
        const Argument* repeated = Repeated(op, slot.parameter(), name);
        if (repeated == nullptr || repeated->variable() == nullptr) continue;
        if (repeated->value() == repeated->variable()->values().back()) continue;
        return Refuse(op, absl::StrCat("would have to read \"", name,
                                       "\" as it was here, and it is written again"));
      }
    }
    return absl::OkStatus();
  }

  // The argument of a forward op that a gradient op's slot repeats; null if it repeats none.
  static const Argument* Repeated(const Op& op, absl::string_view slot, absl::string_view name) {
    const Argument* by_name = nullptr;
    for (const auto& arguments : {op.outputs(), op.inputs()}) {
      for (const Argument* argument : arguments) {
        if (argument->name() != name) continue;
        if (argument->slot_name() == slot) return argument;
        by_name = argument;
      }
    }
    return by_name;
  }

  // Removes unneeded gradients from output slots; in a list the others keep their places.
  void DropUnwanted(Slots* outputs) {
    for (OpDesc::Var& slot : *outputs) {
      for (std::string& argument : *slot.mutable_arguments()) {
        const Variable* of = OfWhat(argument);
        if (of != nullptr && !HasGradient(*of)) argument = kEmptyArgument;
      }
      if (slot.arguments_size() == 1 && slot.arguments(0) == kEmptyArgument) slot.clear_arguments();
    }
  }

  static bool Any(const Slots& slots) {
    bool any = false;
    ForEachArgument(slots, [&any](const std::string& name) { any |= name != kEmptyArgument; });
    return any;
  }

  // Gradients start at the loss: an op that reads none is dropped, with what it would have written.
  // Where only some exist, the others are zeros.
  absl::Status RemoveWhatIsNotReached() {
    absl::flat_hash_set<std::string> made = {GradientOf(loss_->name())};
    std::vector<OpDesc> reached;
    for (OpDesc& op : gradient_ops_) {
      std::vector<std::string> missing;
      bool any_made = false;
      ForEachArgument(op.inputs(), [&](const std::string& name) {
        if (OfWhat(name) == nullptr) return;
        if (made.contains(name)) {
          any_made = true;
        } else {
          missing.push_back(name);
        }
      });
      if (!any_made) continue;
      for (const std::string& name : missing) {
        if (!made.insert(name).second) continue;
        const Variable& of = *OfWhat(name);
        if (of.desc() == nullptr) {
          return absl::InvalidArgumentError(absl::StrCat(Name(), "no block declares \"", of.name(),
                                                         "\", whose gradient ", op.type(),
                                                         " reads"));
        }
        reached.push_back(OpBuilder("fill_zeros_like")
                              .Input("X", of.name())
                              .Output("Out", name)
                              .IntAttr("op_role", kBackward)
                              .Build());
      }
      ForEachArgument(op.outputs(), [&made](const std::string& name) { made.insert(name); });
      reached.push_back(std::move(op));
    }
    gradient_ops_ = std::move(reached);
    return absl::OkStatus();
  }

  void SumParts() {
    absl::flat_hash_set<std::string> names;
    for (const auto& [gradient, of] : gradients_) names.insert(gradient);
    SummedGradients summed = SumGradients(std::move(gradient_ops_), names, block_.index());
    gradient_ops_ = std::move(summed.ops);
    for (const auto& [part, gradient] : summed.part_of) {
      // Emplacing may move what `at` refers to.
      const Variable* const of = gradients_.at(gradient);
      gradients_.emplace(part, of);
    }
  }

  std::vector<ParameterGradient> FindParameters() const {
    std::vector<ParameterGradient> parameters;
    absl::flat_hash_set<std::string> seen;
    for (const OpDesc& op : gradient_ops_) {
      ForEachArgument(op.outputs(), [&](const std::string& name) {
        const Variable* of = OfWhat(name);
        if (of == nullptr || name != GradientOf(of->name()) || !seen.insert(name).second) return;
        if (IsParameter(*of)) parameters.push_back({of->name(), name});
      });
    }
    std::sort(parameters.begin(), parameters.end(),
              [](const ParameterGradient& a, const ParameterGradient& b) {
                return a.parameter < b.parameter;
              });
    return parameters;
  }

  static bool IsParameter(const Variable& variable) {
    return variable.persistable() &&
           std::all_of(variable.values().begin(), variable.values().end(),
                       [](const Value* value) { return value->origin() == Value::Origin::kEntry; });
  }

  absl::Status Write(const std::vector<ParameterGradient>& parameters) {
    Rewriter rewriter(&program_, "append_backward");
    const std::string gradient = GradientOf(loss_->name());
    gradient_ops_.insert(gradient_ops_.begin(), OpBuilder("fill_constant")
                                                    .Output("Out", gradient)
                                                    .LongsAttr("shape", loss_dims_)
                                                    .IntAttr("dtype", loss_->tensor()->data_type())
                                                    .FloatAttr("value", 1)
                                                    .BoolAttr("force_cpu", false)
                                                    .IntAttr("op_role", kBackward | kLoss)
                                                    .Build());
    RETURN_IF_ERROR(CheckNames());
    rewriter.SetAttr(*loss_op_, MakeIntAttr("op_role", loss_op_->role() | kLoss));
    absl::flat_hash_map<std::string, const Op*> writer;
    for (OpDesc& op : gradient_ops_) {
      // 1.x writes only what the backward pass declares for an op.
      if (era_ == Era::kPaddle2) CompleteAttrs(era_, &op);
      RETURN_IF_ERROR(DeclareOutputs(rewriter, op));
      const Op& written = rewriter.Append(block_, op);
      ForEachArgument(op.outputs(), [&](const std::string& name) { writer[name] = &written; });
    }
    SayWhoWrites(rewriter, parameters, writer);
    return absl::OkStatus();
  }

  absl::Status CheckNames() const {
    absl::flat_hash_set<std::string> checked;
    for (const OpDesc& op : gradient_ops_) {
      for (const OpDesc::Var& slot : op.outputs()) {
        for (const std::string& name : slot.arguments()) {
          if (name == kEmptyArgument || !checked.insert(name).second) continue;
          if (program_.Find(block_, name) != nullptr) {
            return absl::InvalidArgumentError(
                absl::StrCat(Name(), "\"", name, "\" is there already; want the forward program"));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status DeclareOutputs(Rewriter& rewriter, const OpDesc& op) {
    const absl::StatusOr<std::vector<InferredOutput>> inferred =
        InferOutputs(op, era_, program_, block_);
    size_t output = 0;
    for (const OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        const bool is_sparse = inferred.ok() && (*inferred)[output].kind == VarType::SELECTED_ROWS;
        ++output;
        if (name != kEmptyArgument) RETURN_IF_ERROR(Declare(rewriter, name, is_sparse));
      }
    }
    return absl::OkStatus();
  }

  // A gradient, or a part of one, is declared like its variable.
  absl::Status Declare(Rewriter& rewriter, const std::string& name, bool is_sparse = false) {
    if (!declared_.insert(name).second) return absl::OkStatus();
    VarType type = gradients_.at(name)->desc()->type();
    if (is_sparse) MakeSelectedRows(&type);
    return rewriter.AddVariable(block_, name, type).status();
  }

  // The op_role_var of the op that writes a parameter's gradient last names both.
  static void SayWhoWrites(Rewriter& rewriter, const std::vector<ParameterGradient>& parameters,
                           const absl::flat_hash_map<std::string, const Op*>& writer) {
    for (const auto& [parameter, gradient] : parameters) {
      const Op& op = *writer.at(gradient);
      std::vector<std::string> pairs = RoleVariables(op.desc());
      pairs.insert(pairs.end(), {parameter, gradient});
      rewriter.SetAttr(op, MakeStringsAttr(kRoleVarAttr, pairs));
    }
  }

  Program& program_;
  const Block& block_;
  const Era era_;
  absl::flat_hash_set<const Variable*> stopped_;
  absl::flat_hash_map<const Variable*, bool> has_gradient_;
  const Variable* loss_ = nullptr;
  const Op* loss_op_ = nullptr;
  std::vector<int64_t> loss_dims_;
  // The ops of the path with their gradient ops, last op first.
  std::vector<std::pair<const Op*, std::vector<OpDesc>>> path_;
  // The variable of each gradient, and of each part of one.
  absl::flat_hash_map<std::string, const Variable*> gradients_;
  std::vector<OpDesc> gradient_ops_;
  absl::flat_hash_set<std::string> declared_;
};

}  // namespace

absl::StatusOr<std::vector<ParameterGradient>> AppendBackward(Program* program,
                                                              absl::string_view loss,
                                                              const BackwardOptions& options) {
  return BackwardPass(program, options).Append(loss);
}

}  // namespace fixpoint
