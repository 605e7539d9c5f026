// raise_composites: components become the op again that expand_composites expanded, with what
// quantizers found for them:
//
//   reduce_mean(X=x) -> (Out=y.mean)
//   elementwise_sub(X=x, Y=y.mean) -> (Out=y.centred)
//   square(X=y.centred) -> (Out=y.squared)
//   quantize_linear(X=y.squared, Scale=y.squared@scale, ...) -> (Y=y.squared.codes)
//   dequantize_linear(X=y.squared.codes, Scale=y.squared@scale, ...) -> (Y=y.squared.quantized)
//   reduce_mean(X=y.squared.quantized) -> (Out=y.variance)
//   ...
//
//   layer_norm(Bias=b, Scale=g, X=x) -> (Mean=m, Variance=v, Y=y)
//       {fixpoint.component.squared=["y.squared", "y.squared@scale", "", "8", "-1", "range"]}
//
// Quantizers of the composite's inputs and results stay, but for those through which some of the
// components read an input and others do not. Without any, the program has the bytes that it had
// before it was expanded.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "ops/verifier.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/composite_parts.h"
#include "transpiler/patterns/pattern_pass.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

constexpr char kName[] = "raise_composites";

class Raiser {
 public:
  explicit Raiser(Program* program)
      : program_(*program),
        era_(EraOf(*program)),
        rewriter_(program, kName),
        named_(NamesInAllAttributes(*program)) {}

  // What was replaced; nothing where the program has none of the composite's ops any more.
  absl::StatusOr<std::vector<ReplacedMatch>> Raise(const CompositeMap::Composite& entry) {
    ASSIGN_OR_RETURN(CompositeParts parts, FindCompositeParts(entry, program_));
    std::vector<ReplacedMatch> replaced;
    if (parts.ops.empty()) return replaced;
    ReplacedMatch& one = replaced.emplace_back();
    one.pattern = kName;
    one.op = DescribeInFile(*parts.ops.back());
    one.result = parts.result;
    one.ops_before = static_cast<int>(parts.ops.size() + parts.quantizing.size());
    one.ops_after = 1;
    one.gradient_ops_before = static_cast<int>(parts.gradients.size());
    one.gradient_ops_after = parts.gradients.empty() ? 0 : 1;
    RETURN_IF_ERROR(Declare(entry));
    OpDesc composite = parts.composite;
    DropStrippedAttributes(parts, entry, &composite);
    for (const ComponentParameters& parameters : parts.parameters) {
      SetAttr(ToAttribute(parameters), &composite);
    }
    inserted_.insert(&rewriter_.InsertBefore(*parts.place, composite));
    if (!parts.gradients.empty() && entry.has_gradient_op()) {
      OpDesc gradient;
      if (!gradient.ParseFromString(entry.gradient_op())) {
        return absl::InvalidArgumentError(
            absl::StrCat("the map of composites does not fit the program: the gradient op of ",
                         composite.type(), " cannot be read"));
      }
      inserted_.insert(&rewriter_.InsertBefore(*parts.gradients.front(), gradient));
    }
    for (const Op* op : parts.ops) {
      for (const Block* run : op->sub_blocks()) loops_.insert(run->index());
    }
    Remove(parts);
    RemoveUnread(parts.quantizing_inputs);
    return replaced;
  }

  // Removes the blocks of loops that were given back, and those of earlier ones. Returns those that
  // are still there, because others come after them.
  std::vector<int> RemoveLoops(const google::protobuf::RepeatedField<int>& earlier) {
    loops_.insert(earlier.begin(), earlier.end());
    int last = program_.block_count() - 1;
    while (last > 0 && loops_.contains(last) && IsUnused(program_.block(last))) {
      rewriter_.RemoveLastBlock();
      loops_.erase(last--);
    }
    std::vector<int> left;
    std::copy_if(loops_.begin(), loops_.end(), std::back_inserter(left),
                 [last](int block) { return block > 0 && block < last; });
    std::sort(left.begin(), left.end());
    return left;
  }

  // What is expanded verifies, so that what does not is no composite of this program. Error
  // (kInvalidArgument): an op that was given back has an error.
  absl::Status CheckRaised() const {
    VerifyOptions options;
    options.edited_only = true;
    for (const Finding& finding : Verify(program_, options)) {
      if (finding.severity != Severity::kError || !inserted_.contains(finding.op)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the map of composites does not fit the program: ", finding.op->type(),
                       " would be wrong: ", finding.message));
    }
    return absl::OkStatus();
  }

 private:
  // What the composite writes and its components did not may have been removed.
  absl::Status Declare(const CompositeMap::Composite& entry) {
    const Block& block = program_.block(entry.block());
    for (const std::string& bytes : entry.declarations()) {
      VarDesc var;
      if (!var.ParseFromString(bytes)) {
        return absl::InvalidArgumentError(
            "the map of composites does not fit the program: a declaration cannot be read");
      }
      const Variable* const known = program_.Find(block, var.name());
      if (known != nullptr && known->desc() != nullptr) continue;
      RETURN_IF_ERROR(rewriter_.AddVariable(block, var).status());
    }
    return absl::OkStatus();
  }

  // Attributes of training that ops no longer have, such as op_role, the composite has not either.
  void DropStrippedAttributes(const CompositeParts& parts, const CompositeMap::Composite& entry,
                              OpDesc* composite) const {
    const OpSchema* const schema = FindOpSchema(composite->type());
    OpDesc written;
    for (const CompositeMap::Component& component : entry.components()) {
      if (component.has_op()) written.ParseFromString(component.op());
    }
    const Op& last = *parts.ops.back();
    auto& attrs = *composite->mutable_attrs();
    attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                               [&](const OpDesc::Attr& attr) {
                                 const bool is_own = schema != nullptr &&
                                                     schema->FindAttr(attr.name(), era_) != nullptr;
                                 return !is_own && FindAttr(written, attr.name()) != nullptr &&
                                        last.FindAttr(attr.name()) == nullptr;
                               }),
                attrs.end());
  }

  static bool IsUnused(const Block& block) {
    return block.op_count() == 0 && block.owner() == nullptr && block.variables().empty();
  }

  void Remove(const CompositeParts& parts) {
    std::vector<const Variable*> written;
    for (const auto* ops : {&parts.ops, &parts.quantizing, &parts.gradients}) {
      for (const Op* op : *ops) Remove(*op, &written);
    }
    RemoveUnused(written);
  }

  // Those whose results nothing reads any more. Writers come before readers.
  void RemoveUnread(const std::vector<const Op*>& ops) {
    std::vector<const Variable*> written;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      const auto outputs = (*op)->outputs();
      if (std::all_of(outputs.begin(), outputs.end(), [](const Argument* output) {
            return output->value() == nullptr || output->value()->readers().empty();
          })) {
        Remove(**op, &written);
      }
    }
    RemoveUnused(written);
  }

  void Remove(const Op& op, std::vector<const Variable*>* written) {
    for (const Argument* output : op.outputs()) {
      if (output->variable() != nullptr) written->push_back(output->variable());
    }
    rewriter_.Remove(op);
  }

  void RemoveUnused(const std::vector<const Variable*>& variables) {
    for (const Variable* variable : variables) {
      if (!variable->removed() && !variable->is_used() && variable->desc() != nullptr &&
          !variable->persistable() && !named_.contains(variable->name())) {
        rewriter_.Remove(*variable);
      }
    }
  }

  Program& program_;
  const Era era_;
  Rewriter rewriter_;
  const absl::flat_hash_set<std::string> named_;
  absl::flat_hash_set<const Op*> inserted_;
  absl::flat_hash_set<int> loops_;  // the blocks of those that were given back
};

class RaiseComposites final : public Pass {
 public:
  absl::string_view name() const override { return kName; }
  absl::string_view doc() const override {
    return "Gives expanded composite ops back, with what quantizers found for their components.";
  }
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext& context) const override {
    auto* const rewrite = dynamic_cast<RewriteContext*>(&context);
    ASSIGN_OR_RETURN(const CompositeMap map, ReadCompositeMap(program));
    if (map.composites().empty() && map.empty_blocks().empty()) return absl::OkStatus();
    CompositeMap rest;
    Raiser raiser(&program);
    int raised = 0;
    for (const CompositeMap::Composite& entry : map.composites()) {
      if (rewrite != nullptr && !IsWanted(entry, *rewrite)) {
        *rest.add_composites() = entry;
        continue;
      }
      ASSIGN_OR_RETURN(std::vector<ReplacedMatch> replaced, raiser.Raise(entry));
      raised += static_cast<int>(replaced.size());
      if (rewrite == nullptr) continue;
      for (ReplacedMatch& one : replaced) rewrite->report.replaced.push_back(std::move(one));
    }
    RETURN_IF_ERROR(raiser.CheckRaised());
    for (const int block : raiser.RemoveLoops(map.empty_blocks())) rest.add_empty_blocks(block);
    if (rest.SerializeAsString() != map.SerializeAsString()) {
      Rewriter(&program, kName).SetComposites(rest.SerializeAsString());
    }
    if (rewrite == nullptr) {
      context.notes.push_back(absl::StrCat(kName, ": gave ", raised, " composites back"));
    }
    return absl::OkStatus();
  }

 private:
  static bool IsWanted(const CompositeMap::Composite& entry, const RewriteContext& context) {
    if (!context.raised_types) return true;
    OpDesc op;
    if (!op.ParseFromString(entry.op())) return true;  // Raise says so
    return std::find(context.raised_types->begin(), context.raised_types->end(), op.type()) !=
           context.raised_types->end();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeRaiseComposites() { return std::make_unique<RaiseComposites>(); }

}  // namespace fixpoint
