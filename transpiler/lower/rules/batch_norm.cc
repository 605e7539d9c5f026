// A batch norm by given statistics after a product of codes: a multiplication and an addition for
// each channel, as simulated inference computes it (ops/norm_factors.h):
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   batch_norm(Bias=beta, Mean=m, Scale=gamma, Variance=v, X=y) -> (Y=z, ...) {is_test=true}
//
//   integer_conv2d(Filter=w.int8, Input=q, Operands=[z.factors, z.addends], Scales=s) -> (Output=z)
//     {epilogue=["multiply_channel", "add_channel"]}

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/folded_ops.h"
#include "ops/codes/integer_reasons.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/lower/rules/lowering_facts.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

class BatchNormRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "batch_norm"; }
  absl::string_view doc() const override {
    return "A batch norm by given statistics becomes two stages of an epilogue.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith([](const OpTraits& op) { return op.stage && op.stage->normalizes; });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    if (x == nullptr) return IntegerReason::kAttributes;
    const Op* const product = lowering.FindOpenProduct(*x);
    if (product == nullptr) return IntegerReason::kNotAfterProduct;
    const FoldOrReason decision =
        DecideFold(op, ResultOf(*product, *x, lowering), LoweringFacts(lowering, product));
    const auto* const fold = std::get_if<FoldedOp>(&decision);
    if (fold == nullptr) return std::get<IntegerReason>(decision);
    std::vector<const Tensor*> tensors;
    for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
      ASSIGN_OR_RETURN(const Tensor* tensor, lowering.FindParameter(*op.Input(slot)));
      tensors.push_back(tensor);
      if (tensor->size() != tensors.front()->size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(DescribeInFile(op), ": ", slot, " has ", tensor->size(),
                         " elements and Scale ", tensors.front()->size(), "; want equal numbers"));
      }
    }
    const auto epsilon = static_cast<float>(lowering.AttributesOf(op).Float("epsilon"));
    std::vector<float> factors;
    std::vector<float> addends;
    for (int64_t c = 0; c < tensors.front()->size(); ++c) {
      const NormFactors norm =
          NormFactorsOf(tensors[0]->data<float>()[c], tensors[1]->data<float>()[c],
                        tensors[2]->data<float>()[c], tensors[3]->data<float>()[c], epsilon);
      factors.push_back(norm.a);
      addends.push_back(norm.b);
    }
    ASSIGN_OR_RETURN(
        const std::string a,
        lowering.AddParameter(absl::StrCat(fold->output->name(), ".factors"), std::move(factors)));
    ASSIGN_OR_RETURN(
        const std::string b,
        lowering.AddParameter(absl::StrCat(fold->output->name(), ".addends"), std::move(addends)));
    lowering.TakeUp(*product, *fold, {a, b});
    return IntegerReason::kInEpilogue;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeBatchNormRule() { return std::make_unique<BatchNormRule>(); }

}  // namespace fixpoint
