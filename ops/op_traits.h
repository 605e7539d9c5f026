// What an op is for the whole project: a product, the addition of a bias or a residual, a stage of
// an epilogue, a mover of values, an op of samples, an op on integers. The planner, lowering and
// the executor ask here and name no op types; a schema says it (op_schema_builder.h).

#ifndef FIXPOINT_OPS_OP_TRAITS_H_
#define FIXPOINT_OPS_OP_TRAITS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/activation.h"
#include "ops/epilogue.h"
#include "ops/op_form.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// What a product does with its sums itself, before the ops after it do theirs.
struct OwnWork {
  // In this order; null: it adds none.
  const Argument* bias = nullptr;      // an element for each channel
  const Argument* residual = nullptr;  // of the output's dims
  // After them.
  Epilogue stages = {};
  std::optional<Activation> function = {};  // that no stage computes, after the stages

  bool any() const {
    return bias != nullptr || residual != nullptr || !stages.empty() || function.has_value();
  }
};

// Sums of products of an activation and a weight, or of two activations.
struct ProductTrait {
  enum class Form {
    // Images [N,C,H,W] and filters [O,C/groups,h,w], with the attributes of conv2d.
    kConvolution,
    // Filters are [C,O/groups,h,w], with the attributes of conv2d_transpose.
    kTransposedConvolution,
    kFlattened,  // of matrices, to which leading and other dimensions are flattened
    kMatrices,   // over the last two dimensions, the others broadcast
  };
  Form form = Form::kMatrices;
  // Slots. `bias` is "" where no op of the type adds one; it has an element for each channel.
  std::string activation;
  std::string weight;
  std::string bias;
  std::string output;
  // Attributes, "" where the op has none: the layout of images, the dimensions that are rows
  // (kFlattened, 1 without), the transpositions (kMatrices), and what all sums are multiplied by.
  std::string data_format;
  std::string activation_rows;
  std::string weight_rows;
  std::string transposes_activation;
  std::string transposes_weight;
  std::string factor;
  // Error (kUnimplemented), without naming the op: it does what nothing here computes. Null: no op
  // of the type does anything besides; those on integers say it in the attributes of an epilogue.
  std::function<absl::StatusOr<OwnWork>(const Op& op, const OpAttributes& attributes)> own_work;

  bool gives_images() const {
    return form == Form::kConvolution || form == Form::kTransposedConvolution;
  }
  // The axis of the channels of a result of that rank: images have them where their layout says,
  // matrices their columns on the last.
  int ChannelAxis(const OpAttributes& attributes, int rank) const;
  // The axis of an operand in `slot` whose entries are channels; nothing where there is none, or
  // its rank is not known.
  std::optional<int> WeightAxis(const Op& op, const OpAttributes& attributes,
                                absl::string_view slot) const;
  // The same by the rank of the operand: of a weight, or else of an activation that is a parameter.
  std::optional<int> WeightAxis(const OpAttributes& attributes, bool is_weight, int rank) const;
};

// What a product does itself, by its trait; its errors. REQUIRES: it has a ProductTrait.
absl::StatusOr<OwnWork> OwnWorkOf(const Op& product, const OpAttributes& attributes);

// x + y, with y at the dimensions of x from an axis on: a bias where those are the channels of a
// product, a residual where they are all dimensions of its result.
struct SumTrait {
  std::string x;
  std::string y;
  std::string output;
  std::string axis;  // an attribute; -1: y ends where x does
};

// An op on one tensor that stages of an epilogue can compute.
struct StageTrait {
  struct Stages {
    Epilogue epilogue;
    // The stages give a finite value where the op gives NaN, or a 0 of the other sign. So they
    // replace the op only where its result becomes codes (value_flow.h), which have neither: at
    // once, or after a folded batch norm, which gives NaN another code (docs/numerics.md).
    bool in_codes_alone = false;
  };
  std::string input;
  std::string output;
  // Whether the operands of the stages are made from Scale, Bias, Mean and Variance
  // (norm_factors.h); if not, the stages have no operands.
  bool normalizes = false;
  // Returns nothing where no stages compute what the op does.
  std::function<std::optional<Stages>(const OpAttributes& attributes)> read;
};

// The stage that computes a function; nothing where there is none.
std::optional<StageTrait::Stages> StagesOf(const Activation& activation);

struct OpTraits {
  std::optional<ProductTrait> product;
  std::optional<SumTrait> sum;
  std::optional<StageTrait> stage;
  // The elementwise function of X that gives Out. Null: the op is not such a function.
  std::function<Activation(const OpAttributes& attributes)> activation;
  // Whether the output holds nothing but values of all inputs that are `moved`: where those are
  // codes of one kind, it can be too. Null: no op of the type does.
  std::function<bool(const OpAttributes& attributes)> joins_values;
  // Out is X.
  bool copies = false;
  // For an op whose outputs hold values of inputs and nothing else (value_flow.h): the slots of the
  // inputs, and of the outputs; by default the first one.
  std::vector<std::string> moved = {"X"};
  std::vector<std::string> moved_to = {};
  // For an op that puts a number where it moves no value to, as padding does: the attribute that
  // has it.
  std::string filling;
  // Out is X * Y, element by element, with Y at the dimensions of X from the attribute axis on.
  bool multiplies_elements = false;
  // Its outputs depend on the seed and the step of a run: it may draw random numbers.
  bool draws_numbers = false;
  // Out is made of the rows of the table W that Ids name.
  bool looks_up_rows = false;
  // Each entry along the first axis of an output is computed from the same entry of the inputs, and
  // from operands that have no such axis.
  bool is_of_samples = false;
  // For an op that quantizes or dequantizes: a scale is the step between two codes, and there is a
  // zero point; if false, a scale is what the largest code stands for (code_ops.h).
  bool scales_are_steps = false;
  // For an op that quantizes and dequantizes: in 1.x it gives code * (range / largest code), and
  // elsewhere code * range / largest code.
  bool multiplies_by_step_in_fluid = false;
  // For an op that runs a block: the slot in which it, and its gradient op, list what the block
  // reads from outside.
  std::string captures;
  // An op that only lowered programs have: it reads or stores codes as integers.
  bool is_on_integers = false;
  // Sums of codes, with the stages that attributes name (ops/epilogue_attributes.h).
  bool has_epilogue = false;
  // For an op that is not a product: whether an output of 4 dimensions is images.
  bool gives_images = false;

  // The axis of the channels in the output of an op that `has_epilogue`: axis 1 or the last one.
  int ChannelAxis(int rank) const {
    const bool are_images = (gives_images && rank == 4) || (product && product->gives_images());
    return are_images ? 1 : rank - 1;
  }
};

// The traits of the op's type; none where it has no schema.
const OpTraits& TraitsOf(const Op& op);
// Whether it is an op that only lowered programs have.
bool IsOnIntegers(const Op& op);

// The op types with a trait: TypesWith([](const OpTraits& traits) { ... }), in ascending order.
std::vector<std::string> TypesWith(const std::function<bool(const OpTraits& traits)>& has);
// The op types that are an activation.
std::vector<std::string> ActivationTypes();
// What an op of that type, or its gradient op, computes. REQUIRES: the type is one of them.
Activation ActivationOf(absl::string_view type, const OpAttributes& attributes);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_TRAITS_H_
