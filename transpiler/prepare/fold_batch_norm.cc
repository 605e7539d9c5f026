// fold_batch_norm: a batch norm by given statistics after a product scales the channels of its
// weight and becomes a bias, with what was added before it:
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//   elementwise_add(X=y, Y=b) -> (Out=z) {axis=1}
//   batch_norm(X=z, Scale=g, Bias=h, Mean=m, Variance=v) -> (Y=n, ...) {is_test=true}
//
//   conv2d(Filter=w_1, Input=x) -> (Output=y)
//   elementwise_add(X=y, Y=b_1) -> (Out=n) {axis=1}
//
// where w_1 = w a and b_1 = (b - m) a + h, of each channel, with a = g / sqrt(v + epsilon)
// (ops/norm_factors.h). It changes how floats are rounded, and so it is not in the pipeline by
// default: a weight with a scale for each channel has the same codes before and after it. What
// gains are weights with one scale, and ways to choose scales that look at biases.
//
// A batch norm stays if something else reads what is before it, or its other outputs; if weights,
// bias or statistics are no parameters; and if a channel of the weight serves several channels of
// the result, as in grouped transposed convolutions.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/codes/bias_sum.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/declared_facts.h"
#include "ops/codes/folded_ops.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

// A product, the bias after it, if there is one, and the batch norm after both.
struct NormedProduct {
  const Op* product = nullptr;
  const Op* bias_op = nullptr;
  const Argument* weight = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* bias = nullptr;  // null: 0
  int weight_axis = 0;
  int channel_axis = 0;
};

class NormFolder {
 public:
  NormFolder(Program* program, PrepareContext* context, absl::string_view pass)
      : facts_(EraOf(*program)),
        program_(*program),
        context_(*context),
        rewriter_(program, pass),
        writer_(*program, &context->parameters, &rewriter_) {}

  absl::Status FoldAll() {
    for (const Op& op : program_.block(0).ops()) {
      const std::optional<std::vector<NormFactors>> factors =
          FindNormFactors(op, facts_.era(), context_.parameters);
      if (!factors) continue;
      const std::optional<NormedProduct> normed = ProductOf(op, factors->size());
      if (normed) RETURN_IF_ERROR(Fold(op, *normed, *factors));
    }
    return absl::OkStatus();
  }

 private:
  std::optional<NormedProduct> ProductOf(const Op& norm, size_t channels) const {
    NormedProduct found;
    const Argument* const x = norm.Input(TraitsOf(norm).stage->input);
    found.product = facts_.WriterFor(x);
    if (found.product == nullptr) return std::nullopt;
    if (const std::optional<SumTrait>& sum = TraitsOf(*found.product).sum; sum) {
      found.bias_op = found.product;
      found.bias = FindConstant(found.bias_op->Input(sum->y), context_.parameters);
      found.product = facts_.WriterFor(found.bias_op->Input(sum->x));
      if (found.bias == nullptr || found.product == nullptr) return std::nullopt;
    }
    const std::optional<ProductTrait>& trait = TraitsOf(*found.product).product;
    const auto attributes = OpAttributes::Of(found.product->desc(), facts_.era());
    if (!trait || !attributes) return std::nullopt;
    const absl::StatusOr<OwnWork> own = OwnWorkOf(*found.product, *attributes);
    if (!own.ok() || own->any()) return std::nullopt;
    const Dims dims = DeclaredDims(*x);
    const auto rank = static_cast<int>(dims.size());
    found.channel_axis = trait->ChannelAxis(*attributes, rank);
    found.weight = found.product->Input(trait->weight);
    found.weights = FindConstant(found.weight, context_.parameters);
    // A batch norm of matrices normalizes their columns.
    if (rank < 2 || found.weights == nullptr || found.weights->dtype() != VarType::FP32 ||
        !IsNormOf(norm, found, dims, channels)) {
      return std::nullopt;
    }
    const std::optional<int> axis = trait->WeightAxis(
        *attributes, /*is_weight=*/true, static_cast<int>(found.weights->dims().size()));
    if (!axis || found.weights->dims()[*axis] != static_cast<int64_t>(channels)) {
      return std::nullopt;
    }
    found.weight_axis = *axis;
    return found;
  }

  // Whether a norm is of the channels of a product, and so is the bias between them.
  bool IsNormOf(const Op& norm, const NormedProduct& found, const Dims& dims,
                size_t channels) const {
    const ProductResult result = {norm.Input(TraitsOf(norm).stage->input)->value(), dims,
                                  found.channel_axis};
    if (!std::holds_alternative<FoldedOp>(DecideFold(norm, result, facts_))) return false;
    if (found.bias_op == nullptr) return true;
    const Argument* const sums = found.bias_op->Input(TraitsOf(*found.bias_op).sum->x);
    return FindBiasSum(*sums->value(), dims, found.channel_axis, facts_) &&
           found.bias->dtype() == VarType::FP32 &&
           found.bias->size() == static_cast<int64_t>(channels);
  }

  absl::Status Fold(const Op& norm, const NormedProduct& found,
                    const std::vector<NormFactors>& factors) {
    ASSIGN_OR_RETURN(Tensor weights, found.weights->Clone());
    int64_t inner = 1;
    for (size_t i = found.weight_axis + 1; i < weights.dims().size(); ++i) {
      inner *= weights.dims()[i];
    }
    const auto channels = static_cast<int64_t>(factors.size());
    const absl::Span<float> scaled = weights.mutable_data<float>();
    for (int64_t i = 0; i < weights.size(); ++i) scaled[i] *= factors[i / inner % channels].a;
    ASSIGN_OR_RETURN(Tensor bias, Tensor::Allocate(VarType::FP32, {channels}));
    for (int64_t c = 0; c < channels; ++c) {
      const float before = found.bias == nullptr ? 0 : found.bias->data<float>()[c];
      bias.mutable_data<float>()[c] = before * factors[c].a + factors[c].b;
    }
    ASSIGN_OR_RETURN(const std::string weight,
                     writer_.Add(found.weight->name(), std::move(weights)));
    ASSIGN_OR_RETURN(const std::string addend,
                     writer_.Add(norm.Input("Bias")->name(), std::move(bias)));
    const ProductTrait& product = *TraitsOf(*found.product).product;
    RETURN_IF_ERROR(
        rewriter_.RedirectReads({found.weight}, *program_.Find(program_.block(0), weight)));
    const OpDesc sum = OpBuilder("elementwise_add")
                           .Input("X", found.product->Output(product.output)->name())
                           .Input("Y", addend)
                           .Output("Out", norm.Output(TraitsOf(norm).stage->output)->name())
                           .IntAttr("axis", found.channel_axis)
                           .IntAttr("op_role", norm.role())
                           .Build();
    rewriter_.InsertBefore(norm, sum);
    if (found.bias_op != nullptr) rewriter_.Remove(*found.bias_op);
    rewriter_.Remove(norm);
    return absl::OkStatus();
  }

  const DeclaredFacts facts_;
  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
  ParameterWriter writer_;
};

class FoldBatchNorm final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "fold_batch_norm"; }
  absl::string_view doc() const override {
    return "Scales the weights of products by the batch norm after them, which becomes a bias.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return NormFolder(&program, &context, name()).FoldAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFoldBatchNorm() { return std::make_unique<FoldBatchNorm>(); }

}  // namespace fixpoint
