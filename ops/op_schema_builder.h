// How an op is defined: ops/families/*.cc contain nothing else.
//
//   ops.Define("mul(X, Y) -> (Out)")
//       .Doc("Matrix product of X and Y, each flattened to two dimensions.")
//       .Attr("x_num_col_dims", Int(1))
//       .Gradient("mul_grad(X, Y, Out@GRAD) -> (X@GRAD, Y@GRAD)");
//   return ops.Build();

#ifndef FIXPOINT_OPS_OP_SCHEMA_BUILDER_H_
#define FIXPOINT_OPS_OP_SCHEMA_BUILDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "ops/activation.h"
#include "ops/attr_default.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// For OpSchemaBuilder::GradientBy: makers that copy no attributes.
void ClearGradientAttrs(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients);

// For such a function: removes a slot that the gradient op has only for some forward ops.
void DropGradientInput(absl::string_view slot, std::vector<OpDesc>* gradients);

// Defines one op and, from its gradients' lines, its gradient ops. An inconsistent definition is a
// defect of ours and ends the program.
class OpSchemaBuilder {
 public:
  // In the notation of op_signature.h.
  explicit OpSchemaBuilder(absl::string_view signature);

  OpSchemaBuilder& Doc(absl::string_view doc);
  OpSchemaBuilder& Attr(absl::string_view name, AttrDefault value, Eras eras = Eras::kAll);
  // Attributes that choose how an op is run, not what it computes, and that many ops have:
  // "use_cudnn@1, use_mkldnn". `@1` and `@2` as in a signature.
  OpSchemaBuilder& Hints(absl::string_view names);
  OpSchemaBuilder& Infer(OpSchema::InferFunction infer);

  OpSchemaBuilder& QuantizableInput(absl::string_view slot, SlotRole::Role role);
  // The same for both operands of a product. REQUIRES: Product.
  OpSchemaBuilder& QuantizableOperands(SlotRole::Role activation, SlotRole::Role weight);
  OpSchemaBuilder& QuantizableOutputs(std::initializer_list<const char*> slots);
  OpSchemaBuilder& KeepsRange();
  OpSchemaBuilder& KeepsRangeIf(OpSchema::TraitFunction keeps_range);
  OpSchemaBuilder& NeverNegative();
  OpSchemaBuilder& NeverNegativeIf(OpSchema::TraitFunction never_negative);
  OpSchemaBuilder& KeepsSign();
  OpSchemaBuilder& KeepsSignIf(OpSchema::TraitFunction keeps_sign);
  OpSchemaBuilder& Quantizes(QuantOp quant_op);
  // Replaces the default, the first slot; {} for an op whose outputs' rows are not those of an
  // input.
  OpSchemaBuilder& TakeLod(std::initializer_list<const char*> slots);
  OpSchemaBuilder& PoolsSequences();
  // "InScale -> OutScale, Iter ->, -> OutScales": the slots of training_state().
  OpSchemaBuilder& TrainingState(absl::string_view slots);
  // What the op is (op_traits.h).
  OpSchemaBuilder& Product(ProductTrait product);
  OpSchemaBuilder& Sum(SumTrait sum);
  OpSchemaBuilder& Stage(StageTrait stage);
  // An elementwise function of X, which is an epilogue stage too where StagesOf finds one.
  OpSchemaBuilder& Activates(std::function<Activation(const OpAttributes&)> activation);
  OpSchemaBuilder& JoinsValues(std::initializer_list<const char*> slots);
  OpSchemaBuilder& JoinsValuesIf(std::initializer_list<const char*> slots,
                                 OpSchema::TraitFunction joins_values);
  OpSchemaBuilder& Copies();
  // Its outputs hold values of that slot (OpTraits::moved).
  OpSchemaBuilder& Moves(absl::string_view slot);
  OpSchemaBuilder& MovesTo(std::initializer_list<const char*> slots);
  // Where an op does not keep the range, it moves values and fills the rest (OpTraits::filling).
  OpSchemaBuilder& FillsWith(absl::string_view attribute);
  OpSchemaBuilder& MultipliesElements();
  OpSchemaBuilder& DrawsNumbers();
  OpSchemaBuilder& LooksUpRows();
  OpSchemaBuilder& IsOfSamples();
  OpSchemaBuilder& ScalesAreSteps();
  OpSchemaBuilder& MultipliesByStepInFluid();
  OpSchemaBuilder& Captures(absl::string_view slot);
  OpSchemaBuilder& IsOnIntegers();
  OpSchemaBuilder& HasEpilogue();
  OpSchemaBuilder& GivesImages();
  // For a slot that is not an operand of a product.
  OpSchemaBuilder& WeightAxis(OpSchema::AxisFunction axis);

  // "mul_grad(X, Y, Out@GRAD) -> (X@GRAD, Y@GRAD)": the gradient op's slots in terms of the forward
  // op's, marked as those; where the names differ, "scale(X=Out@GRAD) -> (Out=X@GRAD)". Unless the
  // family defines an op of that type on its own, this defines it.
  OpSchemaBuilder& Gradient(absl::string_view signature, Eras eras = Eras::kAll);
  // An attribute that the gradient ops have in addition to those of the op.
  OpSchemaBuilder& GradientAttr(absl::string_view name, AttrDefault value);
  // For gradient ops that a line cannot express: changes what the lines, if any, make.
  OpSchemaBuilder& GradientBy(OpSchema::GradientFunction gradient);
  // The reference has gradient ops for this op that are not written down here.
  OpSchemaBuilder& GradientNotKnown();
  // How the gradient ops' outputs follow from their inputs. By default each gradient has the type
  // of its forward variable, if the gradient op reads that.
  OpSchemaBuilder& GradientInfer(OpSchema::InferFunction infer);

 private:
  friend class OpList;

  // The gradient ops whose types are not `defined`.
  std::vector<OpSchema> BuildGradients(const absl::flat_hash_set<std::string>& defined) const;

  OpTraits& traits() { return *traits_; }

  OpSchema schema_;
  std::shared_ptr<OpTraits> traits_;  // those of schema_
  OpSchema::InferFunction gradient_infer_;
  std::vector<AttrSchema> gradient_attrs_;
};

// The ops of one family.
class OpList {
 public:
  OpSchemaBuilder& Define(absl::string_view signature) { return builders_.emplace_back(signature); }
  // The list is empty afterwards.
  std::vector<OpSchema> Build();

 private:
  std::deque<OpSchemaBuilder> builders_;  // keeps references
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_SCHEMA_BUILDER_H_
