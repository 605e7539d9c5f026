// add_biases: gives products that have none a bias of zeros, for whoever corrects biases:
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//
//   conv2d(Filter=w, Input=x) -> (Output=y.sums)
//   elementwise_add(X=y.sums, Y=w.bias) -> (Out=y) {axis=1}
//
// Not products of two activations, nor those whose number of channels is not declared. A product
// whose bias other ops read too gets one of its own before that.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/bias_sum.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/declared_facts.h"
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

class BiasAdder {
 public:
  BiasAdder(Program* program, PrepareContext* context, absl::string_view pass)
      : facts_(EraOf(*program)),
        program_(*program),
        context_(*context),
        rewriter_(program, pass),
        writer_(*program, &context->parameters, &rewriter_) {}

  absl::Status AddAll() {
    for (const Op& op : program_.block(0).ops()) {
      const std::optional<int> axis = AxisWithoutBias(op);
      if (axis) RETURN_IF_ERROR(Add(op, *axis));
    }
    return absl::OkStatus();
  }

 private:
  // The axis of the channels that a product gives, if it gives its sums, and has a weight and no
  // bias of its own.
  std::optional<int> AxisWithoutBias(const Op& op) const {
    const std::optional<ProductTrait>& trait = TraitsOf(op).product;
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), facts_.era());
    if (!trait || !attributes) return std::nullopt;
    const absl::StatusOr<OwnWork> own = OwnWorkOf(op, *attributes);
    const Argument* const output = op.Output(trait->output);
    if (!own.ok() || own->any() || output == nullptr || output->value() == nullptr ||
        output->variable()->persistable() || output->variable()->values().size() != 1 ||
        FindConstant(op.Input(trait->weight), context_.parameters) == nullptr) {
      return std::nullopt;
    }
    const Dims dims = DeclaredDims(*output);
    if (dims.size() < 2) return std::nullopt;
    const int axis = trait->ChannelAxis(*attributes, static_cast<int>(dims.size()));
    if (dims[axis] < 1 || HasOwnBias(*output, dims, axis)) return std::nullopt;
    return axis;
  }

  // One that another op reads too cannot be corrected for this product.
  bool HasOwnBias(const Argument& output, const Dims& dims, int axis) const {
    const std::optional<BiasSum> sum = FindBiasSum(*output.value(), dims, axis, facts_);
    return sum && FindConstant(sum->bias, context_.parameters) != nullptr &&
           sum->bias->variable()->arguments().size() == 1;
  }

  absl::Status Add(const Op& op, int axis) {
    const ProductTrait& trait = *TraitsOf(op).product;
    const Argument& output = *op.Output(trait.output);
    const Dims dims = DeclaredDims(output);
    ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(VarType::FP32, {dims[axis]}));
    const absl::Span<float> values = zeros.mutable_data<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    ASSIGN_OR_RETURN(
        const std::string bias,
        writer_.Add(absl::StrCat(op.Input(trait.weight)->name(), ".bias"), std::move(zeros)));
    const std::string result(output.name());
    ASSIGN_OR_RETURN(
        const Variable* sums,
        rewriter_.AddTensor(op.block(), rewriter_.FreshName(absl::StrCat(result, ".sums")),
                            VarType::FP32, std::vector<int64_t>(dims.begin(), dims.end())));
    OpDesc product = op.desc();
    for (OpDesc::Var& slot : *product.mutable_outputs()) {
      if (slot.parameter() == trait.output) slot.set_arguments(0, sums->name());
    }
    rewriter_.InsertBefore(op, product);
    rewriter_.InsertBefore(op, OpBuilder("elementwise_add")
                                   .Input("X", sums->name())
                                   .Input("Y", bias)
                                   .Output("Out", result)
                                   .IntAttr("axis", axis)
                                   .IntAttr("op_role", op.role())
                                   .Build());
    rewriter_.Remove(op);
    return absl::OkStatus();
  }

  const DeclaredFacts facts_;
  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
  ParameterWriter writer_;
};

class AddBiases final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "add_biases"; }
  absl::string_view doc() const override {
    return "Gives products without a bias one of zeros, for whoever corrects biases.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return BiasAdder(&program, &context, name()).AddAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeAddBiases() { return std::make_unique<AddBiases>(); }

}  // namespace fixpoint
