// flatten_biases: gives a bias of a product the form in which the planner, lowering and int32
// biases know it: one dimension, as Y. PaddlePaddle 2.5 and 2.6 write it as images have it:
//
//   var b f32[1,8,1,1] persistable
//   conv2d(Filter=w, Input=x) -> (Output=y)
//   elementwise_add(X=y, Y=b) -> (Out=z) {axis=-1}
//
//   var b_1 f32[8] persistable
//   conv2d(Filter=w, Input=x) -> (Output=y)
//   elementwise_add(X=y, Y=b_1) -> (Out=z) {axis=1}
//
// Also where the bias is X. The addend stays as it is if it has another number of dimensions than
// the product, or more than one element for a channel.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/codes/declared_dims.h"
#include "ops/codes/folded_ops.h"
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

// The op that writes what an input reads, if it is a product.
const Op* ProductBefore(const Argument& input) {
  const Op* const op = input.value() == nullptr ? nullptr : input.value()->op();
  return op != nullptr && TraitsOf(*op).product ? op : nullptr;
}

struct Bias {
  const Argument* sums;  // of the product
  const Argument* addend;
  const Tensor* tensor;
  int channel_axis;
};

class BiasFlattener {
 public:
  BiasFlattener(Program* program, PrepareContext* context, absl::string_view pass)
      : era_(EraOf(*program)),
        program_(*program),
        context_(*context),
        rewriter_(program, pass),
        writer_(*program, &context->parameters, &rewriter_) {}

  absl::Status FlattenAll() {
    for (const Op& op : program_.block(0).ops()) {
      const std::optional<Bias> bias = Find(op);
      if (bias) RETURN_IF_ERROR(Flatten(op, *bias));
    }
    return absl::OkStatus();
  }

 private:
  std::optional<Bias> Find(const Op& op) const {
    const std::optional<SumTrait>& sum = TraitsOf(op).sum;
    if (!sum || op.Output(sum->output) == nullptr || FindFusedAttribute(op.desc())) {
      return std::nullopt;
    }
    for (const bool is_y : {true, false}) {
      const Argument* const addend = op.Input(is_y ? sum->y : sum->x);
      const Argument* const sums = op.Input(is_y ? sum->x : sum->y);
      if (addend == nullptr || sums == nullptr) continue;
      const Tensor* const tensor = FindConstant(addend, context_.parameters);
      const Op* const product = ProductBefore(*sums);
      if (tensor == nullptr || product == nullptr) continue;
      const Dims dims = DeclaredDims(*sums);
      const std::optional<OpAttributes> attributes = OpAttributes::Of(product->desc(), era_);
      if (!attributes || tensor->dtype() != VarType::FP32 || tensor->dims().size() < 2 ||
          tensor->dims().size() != dims.size()) {
        continue;
      }
      const int axis =
          TraitsOf(*product).product->ChannelAxis(*attributes, static_cast<int>(dims.size()));
      if (IsOfChannels(tensor->dims(), -1, dims, axis)) return Bias{sums, addend, tensor, axis};
    }
    return std::nullopt;
  }

  absl::Status Flatten(const Op& op, const Bias& bias) {
    const SumTrait& sum = *TraitsOf(op).sum;
    ASSIGN_OR_RETURN(Tensor flat, Tensor::Allocate(VarType::FP32, {bias.tensor->size()}));
    const auto from = bias.tensor->data<float>();
    std::copy(from.begin(), from.end(), flat.mutable_data<float>().begin());
    ASSIGN_OR_RETURN(const std::string name, writer_.Add(bias.addend->name(), std::move(flat)));
    OpDesc flattened = op.desc();
    for (OpDesc::Var& slot : *flattened.mutable_inputs()) {
      if (slot.parameter() == sum.x) slot.set_arguments(0, std::string(bias.sums->name()));
      if (slot.parameter() == sum.y) slot.set_arguments(0, name);
    }
    SetAttr(MakeIntAttr(sum.axis, bias.channel_axis), &flattened);
    rewriter_.InsertBefore(op, flattened);
    rewriter_.Remove(op);
    return absl::OkStatus();
  }

  const Era era_;
  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
  ParameterWriter writer_;
};

class FlattenBiases final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "flatten_biases"; }
  absl::string_view doc() const override {
    return "Gives biases of products one dimension, on the right of their sum.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return BiasFlattener(&program, &context, name()).FlattenAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFlattenBiases() { return std::make_unique<FlattenBiases>(); }

}  // namespace fixpoint
