// A batch norm by given statistics after a product of codes: a multiplication and an addition for
// each channel, as simulated inference computes it (ops/norm_factors.h):
//
//   integer_conv2d(Filter=w.int8, Input=q, Scales=s) -> (Output=y)
//   batch_norm(Bias=beta, Mean=m, Scale=gamma, Variance=v, X=y) -> (Y=z, ...) {is_test=true}
//
//   integer_conv2d(Filter=w.int8, Input=q, Operands=[z.factors, z.addends], Scales=s) -> (Output=z)
//     {epilogue=["multiply_channel", "add_channel"]}

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/window.h"
#include "proto/program.h"
#include "proto/status_macros.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

class BatchNormRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "batch_norm"; }
  absl::string_view doc() const override {
    return "A batch norm by given statistics is two operations of an epilogue.";
  }
  std::vector<std::string> op_types() const override { return {"batch_norm"}; }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    const Argument* const y = op.Output("Y");
    const OpAttributes attributes = lowering.AttributesOf(op);
    const std::optional<StageTrait::Stages> stages = TraitsOf(op).stage->read(attributes);
    if (x == nullptr || y == nullptr || !stages || !GivesYAlone(op) ||
        IsChannelsLast(attributes.String("data_layout"))) {
      return IntegerReason::kAttributes;
    }
    const Op* const product = lowering.FindOpenProduct(*x);
    if (product == nullptr) return IntegerReason::kNotAfterProduct;
    const VarType::TensorDesc* const normalized = x->variable()->tensor();
    if (normalized == nullptr) return IntegerReason::kUnknownShape;
    if (TraitsOf(*product).ChannelAxis(normalized->dims_size()) != 1)
      return IntegerReason::kAttributes;
    std::vector<const Tensor*> tensors;
    for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
      const Argument* const input = op.Input(slot);
      if (input == nullptr) return IntegerReason::kAttributes;
      ASSIGN_OR_RETURN(const Tensor* tensor, lowering.FindParameter(*input));
      if (tensor == nullptr || tensor->dtype() != VarType::FP32) {
        return IntegerReason::kNotParameter;
      }
      tensors.push_back(tensor);
      if (tensor->size() != tensors.front()->size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(DescribeInFile(op), ": ", slot, " has ", tensor->size(),
                         " elements and Scale ", tensors.front()->size(), "; want equal numbers"));
      }
    }
    const auto epsilon = static_cast<float>(attributes.Float("epsilon"));
    std::vector<float> factors;
    std::vector<float> addends;
    for (int64_t c = 0; c < tensors.front()->size(); ++c) {
      const NormFactors norm =
          NormFactorsOf(tensors[0]->data<float>()[c], tensors[1]->data<float>()[c],
                        tensors[2]->data<float>()[c], tensors[3]->data<float>()[c], epsilon);
      factors.push_back(norm.a);
      addends.push_back(norm.b);
    }
    ASSIGN_OR_RETURN(const std::string a, lowering.AddParameter(absl::StrCat(y->name(), ".factors"),
                                                                std::move(factors)));
    ASSIGN_OR_RETURN(const std::string b, lowering.AddParameter(absl::StrCat(y->name(), ".addends"),
                                                                std::move(addends)));
    lowering.TakeUp(*product, op, *y, stages->epilogue, {a, b});
    return IntegerReason::kInEpilogue;
  }

 private:
  // Whether nothing reads what it gives beside Y.
  static bool GivesYAlone(const Op& op) {
    for (const Argument* output : op.outputs()) {
      const bool is_read = output->value() != nullptr && !IsUnread(*output->value());
      if (is_read && output != op.Output("Y")) return false;
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeBatchNormRule() { return std::make_unique<BatchNormRule>(); }

}  // namespace fixpoint
