// fold_training_batch_norm: before anything is planned, the weight of a product is multiplied by
// the factors of the batch norm after it, by the running statistics, so that what is quantized
// later is what will be deployed. The statistics of the batch, which are those of a second product
// in float, follow as a factor and an addend of the result (Krishnamoorthi, arXiv 1806.08342):
//
//   conv2d(Input=x, Filter=w) -> (Output=y)
//   batch_norm(X=y, Scale=g, Bias=b, Mean=m, Variance=v) -> (Y=z, MeanOut=m, VarianceOut=v, ...)
//
//   scale(X=v) -> (Out=v.shifted) {bias=1e-05}
//   sqrt(X=v.shifted) -> (Out=v.deviation)
//   elementwise_div(X=g, Y=v.deviation) -> (Out=g.factor)
//   elementwise_mul(X=w, Y=g.factor) -> (Out=w.folded) {axis=0}
//   conv2d(Input=x, Filter=w.folded) -> (Output=y)
//   conv2d(Input=x, Filter=w) -> (Output=y.unfolded)
//   folded_batch_norm(X=y, Unfolded=y.unfolded, Deviation=v.deviation, Scale=g, Bias=b, Mean=m,
//       Variance=v) -> (Y=z, MeanOut=m, VarianceOut=v, ...)
//
// A bias that is added between the two is multiplied by the factors too, and added to the second
// product as it is. The gradient ops follow: that of the batch norm is replaced too, the second
// product and its sum have gradient ops of their own, and what several ops contribute to a gradient
// is added.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/program/role_variables.h"
#include "proto/program/slots.h"
#include "proto/text/program_text.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/folded_weights.h"
#include "transpiler/train/foldable_batch_norm.h"
#include "transpiler/train/role_pairs.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

std::string Name(const Argument& argument) { return std::string(argument.name()); }
std::string GradientOf(const std::string& name) { return absl::StrCat(name, kGradientSuffix); }

// Renames the variables that an op names.
void Rename(const absl::flat_hash_map<std::string, std::string>& names, OpDesc* op) {
  for (Slots* slots : {op->mutable_inputs(), op->mutable_outputs()}) {
    for (OpDesc::Var& slot : *slots) {
      for (std::string& name : *slot.mutable_arguments()) {
        const auto renamed = names.find(name);
        if (renamed != names.end()) name = renamed->second;
      }
    }
  }
}

void DropSlot(const char* name, Slots* slots) {
  for (int i = 0; i < slots->size(); ++i) {
    if (slots->Get(i).parameter() != name) continue;
    slots->DeleteSubrange(i, 1);
    return;
  }
}

// Folds one batch norm. What the program has stays under its name: the result of the folded product
// is the variable of the product, and the gradient ops that stay are linked as before.
class Folding {
 public:
  Folding(const FoldableBatchNorm& found, Program* program)
      : found_(found),
        program_(*program),
        era_(EraOf(*program)),
        block_(found.norm->block()),
        rewriter_(program, kFoldingPass),
        weight_(Name(*found.weight)),
        bias_(found.bias == nullptr ? "" : Name(*found.bias)) {}

  absl::Status Write() {
    RETURN_IF_ERROR(WriteFactors());
    RETURN_IF_ERROR(WriteProducts());
    WriteNorm();
    RETURN_IF_ERROR(WriteNormGradient());
    RETURN_IF_ERROR(WriteSumGradients());
    RETURN_IF_ERROR(WriteProductGradients());
    // An op that was removed has no arguments any more.
    rewriter_.Remove(*found_.norm);
    rewriter_.Remove(*found_.norm_gradient);
    return absl::OkStatus();
  }

 private:
  absl::Status WriteFactors() {
    const Op& norm = *found_.norm;
    const Argument& variance = *norm.Input("Variance");
    const Argument& scale = *norm.Input("Scale");
    ASSIGN_OR_RETURN(const std::string shifted, Declare(variance, ".shifted"));
    ASSIGN_OR_RETURN(deviation_, Declare(variance, ".deviation"));
    ASSIGN_OR_RETURN(factor_, Declare(scale, ".factor"));
    ASSIGN_OR_RETURN(folded_, Declare(*found_.weight, ".folded"));
    const OpAttributes attributes = *OpAttributes::Of(norm.desc(), era_);
    Insert(OpBuilder("scale")
               .Input("X", Name(variance))
               .Output("Out", shifted)
               .FloatAttr("bias", static_cast<float>(attributes.Float("epsilon"))));
    Insert(OpBuilder("sqrt").Input("X", shifted).Output("Out", deviation_));
    division_ = Insert(OpBuilder("elementwise_div")
                           .Input("X", Name(scale))
                           .Input("Y", deviation_)
                           .Output("Out", factor_))
                    .desc();
    multiplication_ = InsertMultiplication(*found_.weight, folded_, found_.weight_axis);
    if (found_.sum == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(folded_bias_, Declare(*found_.bias, ".folded"));
    bias_multiplication_ = InsertMultiplication(*found_.bias, folded_bias_, /*axis=*/-1);
    return absl::OkStatus();
  }

  OpDesc InsertMultiplication(const Argument& parameter, const std::string& folded, int axis) {
    return Insert(OpBuilder("elementwise_mul")
                      .Input("X", Name(parameter))
                      .Input("Y", factor_)
                      .Output("Out", folded)
                      .IntAttr("axis", axis))
        .desc();
  }

  absl::Status WriteProducts() {
    const Op& product = *found_.product;
    ASSIGN_OR_RETURN(unfolded_, Declare(*found_.result, ".unfolded"));
    InsertCopy(product, {{Name(*found_.result), unfolded_}});
    RETURN_IF_ERROR(ReadFolded(*found_.weight, folded_));
    statistics_ = unfolded_;
    if (found_.sum == nullptr) return absl::OkStatus();
    const Argument& sum = *found_.sum->Output(TraitsOf(*found_.sum).sum->output);
    ASSIGN_OR_RETURN(statistics_, Declare(sum, ".unfolded"));
    InsertCopy(*found_.sum, {{Name(*found_.result), unfolded_}, {Name(sum), statistics_}});
    return ReadFolded(*found_.bias, folded_bias_);
  }

  // Inserts a copy of an op of the forward part after it.
  void InsertCopy(const Op& op, const absl::flat_hash_map<std::string, std::string>& names) {
    OpDesc copy = op.desc();
    Rename(names, &copy);
    SetAttr(MakeStringAttr(kInsertedByAttr, kFoldingPass), &copy);
    rewriter_.InsertAfter(op, copy);
  }

  // Makes an op of the program read what is folded in place of a parameter.
  absl::Status ReadFolded(const Argument& parameter, const std::string& folded) {
    const std::string slot(parameter.slot_name());
    AddMark(parameter.op(), ArgumentMark(slot, parameter.index(), parameter.name()), &rewriter_);
    return rewriter_.RedirectReads({&parameter}, *program_.Find(block_, folded));
  }

  void WriteNorm() {
    OpDesc norm = found_.norm->desc();
    DropSlot("ReserveSpace", norm.mutable_outputs());
    AddStatistics(&norm);
    Replace(*found_.norm, kFoldedBatchNorm, std::move(norm));
  }

  absl::Status WriteNormGradient() {
    const Op& gradient = *found_.norm_gradient;
    const Argument& of_scale = *gradient.Output("Scale@GRAD");
    scale_gradient_ = Name(of_scale);
    ASSIGN_OR_RETURN(of_statistics_, DeclareGradient(statistics_, *found_.result));
    ASSIGN_OR_RETURN(scale_part_, DeclareGradient(Name(*found_.norm->Input("Scale")), of_scale));
    OpDesc desc = gradient.desc();
    for (const char* slot :
         {"Bias", "Mean", "Variance", "MeanOut", "VarianceOut", "ReserveSpace"}) {
      DropSlot(slot, desc.mutable_inputs());
    }
    AddStatistics(&desc);
    AddArgument("Mean", Name(*found_.norm->Output("MeanOut")), desc.mutable_inputs());
    AddArgument("Unfolded@GRAD", of_statistics_, desc.mutable_outputs());
    Rename({{scale_gradient_, scale_part_}}, &desc);
    scale_pair_ = TakeRolePairOf(scale_gradient_, &desc);
    Replace(gradient, absl::StrCat(kFoldedBatchNorm, "_grad"), std::move(desc));
    return absl::OkStatus();
  }

  // The gradient op of the sum with the folded bias, and after it that of the other sum.
  absl::Status WriteSumGradients() {
    of_unfolded_ = of_statistics_;
    if (found_.sum == nullptr) return absl::OkStatus();
    const SumTrait& trait = *TraitsOf(*found_.sum).sum;
    const Op& gradient = *found_.sum_gradient;
    bias_gradient_ = Name(*found_.bias_gradient);
    ASSIGN_OR_RETURN(of_unfolded_, DeclareGradient(unfolded_, *found_.result));
    ASSIGN_OR_RETURN(of_folded_bias_, DeclareGradient(folded_bias_, *found_.bias));
    ASSIGN_OR_RETURN(bias_part_, DeclareGradient(bias_, *found_.bias));
    bias_pair_ = TakeRolePair(gradient, bias_gradient_, &rewriter_);
    OpDesc copy = gradient.desc();
    Rename({{Name(*found_.result), unfolded_},
            {Name(*gradient.Input(GradientOf(trait.output))), of_statistics_},
            {Name(*gradient.Output(GradientOf(trait.x))), of_unfolded_},
            {bias_gradient_, bias_part_}},
           &copy);
    FinishCopy(&copy);
    RETURN_IF_ERROR(ReadFolded(*gradient.Input(trait.y), folded_bias_));
    Redirect(*found_.bias_gradient, of_folded_bias_);
    rewriter_.InsertAfter(gradient, copy);
    return absl::OkStatus();
  }

  absl::Status WriteProductGradients() {
    const Op& gradient = *found_.product_gradient;
    last_ = &gradient;
    const std::string of_weight = Name(*found_.weight_gradient);
    const std::string scale = Name(*found_.norm->Input("Scale"));
    ASSIGN_OR_RETURN(const std::string of_folded, DeclareGradient(folded_, *found_.weight));
    ASSIGN_OR_RETURN(const std::string weight_part, DeclareGradient(weight_, *found_.weight));
    ASSIGN_OR_RETURN(const std::string other_part, DeclareGradient(weight_, *found_.weight));
    const std::vector<std::string> weight_pair = TakeRolePair(gradient, of_weight, &rewriter_);
    OpDesc copy = gradient.desc();
    absl::flat_hash_map<std::string, std::string> of_copy = {
        {Name(*found_.result_gradient), of_unfolded_}, {of_weight, other_part}};
    RETURN_IF_ERROR(ReadFolded(*gradient.Input(found_.weight->slot_name()), folded_));
    Redirect(*found_.weight_gradient, of_folded);
    std::vector<std::string> input_parts;
    std::string of_input;
    if (found_.input_gradient != nullptr) {
      const Argument& input = *found_.product->Input(TraitsOf(*found_.product).product->activation);
      of_input = Name(*found_.input_gradient);
      for (int i = 0; i < 2; ++i) {
        ASSIGN_OR_RETURN(std::string part, DeclareGradient(Name(input), input));
        input_parts.push_back(std::move(part));
      }
      of_copy[of_input] = input_parts[1];
      input_pair_ = TakeRolePair(gradient, of_input, &rewriter_);
      Redirect(*found_.input_gradient, input_parts[0]);
    }
    Rename(of_copy, &copy);
    FinishCopy(&copy);
    last_ = &rewriter_.InsertAfter(*last_, copy);

    const Argument& like_factor = *found_.norm->Input("Scale");
    ASSIGN_OR_RETURN(const std::string of_factor, DeclareGradient(factor_, like_factor));
    ASSIGN_OR_RETURN(const std::string other_scale_part, DeclareGradient(scale, like_factor));
    InsertGradient(multiplication_, {{GradientOf(folded_), of_folded},
                                     {GradientOf(weight_), weight_part},
                                     {GradientOf(factor_), of_factor}});
    ASSIGN_OR_RETURN(const std::string of_factors, WriteBiasGradients(of_factor));
    InsertGradient(division_, {{GradientOf(factor_), of_factors},
                               {GradientOf(scale), other_scale_part},
                               {GradientOf(deviation_), kEmptyArgument}});
    if (!input_parts.empty()) InsertSum(input_parts, of_input, input_pair_);
    InsertSum({weight_part, other_part}, of_weight, weight_pair);
    InsertSum({scale_part_, other_scale_part}, scale_gradient_, scale_pair_);
    return absl::OkStatus();
  }

  // Returns the gradient of the factors: `of_factor`, and what the bias adds.
  absl::StatusOr<std::string> WriteBiasGradients(const std::string& of_factor) {
    if (found_.sum == nullptr) return of_factor;
    ASSIGN_OR_RETURN(const std::string other_part, DeclareGradient(bias_, *found_.bias));
    ASSIGN_OR_RETURN(const std::string of_other_factor, DeclareGradient(factor_, *found_.bias));
    ASSIGN_OR_RETURN(std::string of_factors, DeclareGradient(factor_, *found_.bias));
    InsertGradient(bias_multiplication_, {{GradientOf(folded_bias_), of_folded_bias_},
                                          {GradientOf(bias_), other_part},
                                          {GradientOf(factor_), of_other_factor}});
    InsertSum({bias_part_, other_part}, bias_gradient_, bias_pair_);
    InsertSum({of_factor, of_other_factor}, of_factors, {});
    return of_factors;
  }

  // The slots of both the batch norm and its gradient op that say what the statistics are of.
  void AddStatistics(OpDesc* op) const {
    AddArgument("Unfolded", statistics_, op->mutable_inputs());
    AddArgument("Deviation", deviation_, op->mutable_inputs());
  }
  static void AddArgument(const char* slot, const std::string& name, Slots* slots) {
    OpDesc::Var& added = *slots->Add();
    added.set_parameter(slot);
    added.add_arguments(name);
  }

  // Inserts an op of another type in place of one, which is removed in the end, with those of its
  // attributes that it can have.
  void Replace(const Op& op, const std::string& type, OpDesc desc) {
    const OpSchema& before = *FindOpSchema(op.type());
    const OpSchema& after = *FindOpSchema(type);
    desc.set_type(type);
    auto& attrs = *desc.mutable_attrs();
    attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                               [&](const OpDesc::Attr& attr) {
                                 return before.FindAttr(attr.name(), era_) != nullptr &&
                                        after.FindAttr(attr.name(), era_) == nullptr;
                               }),
                attrs.end());
    SetAttr(MakeStringAttr(kInsertedByAttr, kFoldingPass), &desc);
    SetAttr(MakeStringsAttr(kReplacesAttr, {PrintOp(op.desc())}), &desc);
    rewriter_.InsertBefore(op, desc);
  }

  // Takes a pair from an op that is not inserted yet.
  static std::vector<std::string> TakeRolePairOf(const std::string& gradient, OpDesc* op) {
    std::vector<std::string> pairs = RoleVariables(*op);
    for (size_t i = 1; i < pairs.size(); i += 2) {
      if (pairs[i] != gradient) continue;
      std::vector<std::string> pair = {pairs[i - 1], gradient};
      pairs.erase(pairs.begin() + i - 1, pairs.begin() + i + 1);
      SetAttr(MakeStringsAttr(kRoleVarAttr, pairs), op);
      return pair;
    }
    return {};
  }

  void FinishCopy(OpDesc* copy) const {
    auto& attrs = *copy->mutable_attrs();
    attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                               [](const OpDesc::Attr& attr) {
                                 return attr.name() == kRewiredAttr || attr.name() == kRoleVarAttr;
                               }),
                attrs.end());
    SetAttr(MakeStringAttr(kInsertedByAttr, kFoldingPass), copy);
  }

  void Redirect(const Argument& output, const std::string& name) {
    const std::string slot(output.slot_name());
    AddMark(output.op(), ArgumentMark(slot, output.index(), output.name()), &rewriter_);
    rewriter_.SetArgument(output, name);
  }

  void InsertGradient(const OpDesc& forward,
                      const absl::flat_hash_map<std::string, std::string>& names) {
    for (OpDesc gradient : FindOpSchema(forward.type())->MakeGradient(forward, era_)) {
      Rename(names, &gradient);
      FinishCopy(&gradient);
      last_ = &rewriter_.InsertAfter(*last_, gradient);
    }
  }

  void InsertSum(const std::vector<std::string>& parts, const std::string& sum,
                 const std::vector<std::string>& role_pair) {
    OpBuilder op("sum");
    op.Input("X", parts).Output("Out", sum).IntAttr("op_role", kBackward);
    if (!role_pair.empty()) op.StringsAttr(kRoleVarAttr, role_pair);
    op.StringAttr(kInsertedByAttr, kFoldingPass);
    last_ = &rewriter_.InsertAfter(*last_, op.Build());
  }

  // Inserts an op of the forward part before the product.
  const Op& Insert(OpBuilder& op) {
    op.IntAttr("op_role", found_.product->role()).StringAttr(kInsertedByAttr, kFoldingPass);
    return rewriter_.InsertBefore(*found_.product, op.Build());
  }

  // Declares a variable like another one; returns its name.
  absl::StatusOr<std::string> Declare(const Argument& like, absl::string_view suffix) {
    return DeclareLike(like, absl::StrCat(Name(like), suffix));
  }
  absl::StatusOr<std::string> DeclareGradient(const std::string& of, const Argument& like) {
    return DeclareLike(like, GradientOf(of));
  }
  absl::StatusOr<std::string> DeclareLike(const Argument& like, const std::string& base) {
    std::string name = rewriter_.FreshName(base);
    RETURN_IF_ERROR(rewriter_.AddVariable(block_, name, like.variable()->desc()->type()).status());
    return name;
  }

  const FoldableBatchNorm& found_;
  const Program& program_;
  const Era era_;
  const Block& block_;
  Rewriter rewriter_;
  const std::string weight_;
  const std::string bias_;  // "": nothing adds one
  std::string deviation_;
  std::string factor_;
  std::string folded_;
  std::string folded_bias_;
  std::string unfolded_;
  std::string statistics_;  // the second product, with the bias if there is one
  OpDesc division_;
  OpDesc multiplication_;
  OpDesc bias_multiplication_;
  std::string of_statistics_;
  std::string of_unfolded_;
  std::string of_folded_bias_;
  std::string bias_gradient_;
  std::string bias_part_;
  std::vector<std::string> bias_pair_;
  std::string scale_gradient_;
  std::string scale_part_;
  std::vector<std::string> scale_pair_;
  std::vector<std::string> input_pair_;
  const Op* last_ = nullptr;
};

class FoldTrainingBatchNorm final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return kFoldingPass; }
  absl::string_view doc() const override {
    return "Multiplies weights by the factors of the batch norm after them, before they are "
           "quantized.";
  }
  std::vector<std::string> Establishes() const override { return {"batch_norm_folded"}; }
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  // There is no plan yet.
  bool IsHeldToPlan() const override { return false; }

  absl::Status RunIn(Program& program, TrainContext& context) const override {
    if (!context.config.fold_batch_norm()) return absl::OkStatus();
    if (context.target.weight_abilities().reference_ops_only()) {
      return absl::FailedPreconditionError(
          absl::StrCat("target ", context.target.name(),
                       ": the reference has no op for a folded batch norm; want another target, or "
                       "fold_batch_norm: false"));
    }
    FoldableBatchNorms norms(program);
    std::vector<FoldableBatchNorm> to_fold;
    for (const Op* norm : norms.Candidates()) {
      auto found = norms.Find(*norm);
      if (const auto* const why = std::get_if<std::string>(&found)) {
        context.notes.push_back(absl::StrCat(DescribeInFile(*norm), " is not folded: it ", *why));
      } else {
        to_fold.push_back(std::get<FoldableBatchNorm>(found));
      }
    }
    if (to_fold.empty()) {
      context.notes.push_back(
          "fold_batch_norm: the program has no batch norm that is trained and can be folded");
    }
    for (const FoldableBatchNorm& found : to_fold) {
      RETURN_IF_ERROR(Folding(found, &program).Write());
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFoldTrainingBatchNorm() {
  return std::make_unique<FoldTrainingBatchNorm>();
}

}  // namespace fixpoint
