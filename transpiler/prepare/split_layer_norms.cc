// split_layer_norms: products get a layer norm of their own where other ops read its result too, as
// the residuals of encoders do, so that its scale and bias can be changed together with the weights
// of these products (transpiler/weights/smooth_activations.h):
//
//   layer_norm(Bias=h, Scale=g, X=x) -> (Mean=m, Variance=v, Y=n)
//   matmul_v2(X=n, Y=w) -> (Out=p)
//   elementwise_add(X=n, Y=p) -> (Out=s)
//
//   layer_norm(Bias=h, Scale=g, X=x) -> (Mean=m, Variance=v, Y=n)
//   layer_norm(Bias=h_1, Scale=g_1, X=x) -> (Mean=n.mean, Variance=n.variance, Y=n.products)
//   matmul_v2(X=n.products, Y=w) -> (Out=p)
//   elementwise_add(X=n, Y=p) -> (Out=s)
//
// Only products with a weight, and layer norms with a scale and a bias.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/declared_dims.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/prepare/constants.h"
#include "transpiler/prepare/prepare_context.h"

namespace fixpoint {
namespace {

class NormSplitter {
 public:
  NormSplitter(Program* program, PrepareContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        rewriter_(program, pass),
        writer_(*program, &context->parameters, &rewriter_) {}

  absl::Status SplitAll() {
    for (const Op& op : program_.block(0).ops()) {
      if (op.type() != "layer_norm" || op.Output("Y") == nullptr) continue;
      const std::vector<const Argument*> products = ReadsToSplit(op);
      if (!products.empty()) RETURN_IF_ERROR(Split(op, products));
    }
    return absl::OkStatus();
  }

 private:
  // The reads of products; none if nothing else reads, or the parameters cannot be given twice.
  std::vector<const Argument*> ReadsToSplit(const Op& norm) const {
    std::vector<const Argument*> products;
    for (const char* slot : {"Scale", "Bias"}) {
      if (FindConstant(norm.Input(slot), context_.parameters) == nullptr) return products;
    }
    const Value& value = *norm.Output("Y")->value();
    if (value.variable().persistable() || value.variable().values().size() != 1) return products;
    for (const Argument* reader : value.readers()) {
      const std::optional<ProductTrait>& trait = TraitsOf(reader->op()).product;
      if (trait && reader->slot_name() == trait->activation &&
          FindConstant(reader->op().Input(trait->weight), context_.parameters) != nullptr) {
        products.push_back(reader);
      }
    }
    if (products.size() == value.readers().size()) products.clear();
    return products;
  }

  absl::Status Split(const Op& norm, const std::vector<const Argument*>& products) {
    OpDesc copy = norm.desc();
    for (const char* slot : {"Scale", "Bias"}) {
      const Argument& read = *norm.Input(slot);
      ASSIGN_OR_RETURN(Tensor tensor, FindConstant(&read, context_.parameters)->Clone());
      ASSIGN_OR_RETURN(const std::string parameter, writer_.Add(read.name(), std::move(tensor)));
      SetArgument(slot, parameter, copy.mutable_inputs());
    }
    ASSIGN_OR_RETURN(const Variable* result, AddOutput(norm, "Y", ".products", &copy));
    RETURN_IF_ERROR(AddOutput(norm, "Mean", ".mean", &copy).status());
    RETURN_IF_ERROR(AddOutput(norm, "Variance", ".variance", &copy).status());
    rewriter_.InsertAfter(norm, copy);
    return rewriter_.RedirectReads(products, *result);
  }

  // Declares what the copy writes in a slot; null where the norm writes nothing there.
  absl::StatusOr<const Variable*> AddOutput(const Op& norm, absl::string_view slot,
                                            absl::string_view suffix, OpDesc* copy) {
    const Argument* const output = norm.Output(slot);
    if (output == nullptr) return nullptr;
    const std::string name = absl::StrCat(norm.Output("Y")->name(), suffix);
    ASSIGN_OR_RETURN(const Variable* made,
                     rewriter_.AddTensor(norm.block(), rewriter_.FreshName(name), VarType::FP32,
                                         DeclaredDims(*output)));
    SetArgument(slot, made->name(), copy->mutable_outputs());
    return made;
  }

  static void SetArgument(absl::string_view slot, const std::string& name,
                          google::protobuf::RepeatedPtrField<OpDesc::Var>* slots) {
    for (OpDesc::Var& var : *slots) {
      if (var.parameter() == slot) var.set_arguments(0, name);
    }
  }

  Program& program_;
  PrepareContext& context_;
  Rewriter rewriter_;
  ParameterWriter writer_;
};

class SplitLayerNorms final : public StagePass<PrepareContext> {
 public:
  absl::string_view name() const override { return "split_layer_norms"; }
  absl::string_view doc() const override {
    return "Gives products a layer norm of their own where other ops read its result too.";
  }
  std::vector<std::string> Requires() const override { return {"trained_parameters"}; }

  absl::Status RunIn(Program& program, PrepareContext& context) const override {
    return NormSplitter(&program, &context, name()).SplitAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeSplitLayerNorms() { return std::make_unique<SplitLayerNorms>(); }

}  // namespace fixpoint
