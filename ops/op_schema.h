// What an op is: its slots, attributes, shapes, gradient and traits. One definition per op type,
// by family (ops/families/*.cc); all_ops.inc lists the families.

#ifndef FIXPOINT_OPS_OP_SCHEMA_H_
#define FIXPOINT_OPS_OP_SCHEMA_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "ops/quant_op.h"
#include "proto/config/slot_role.pb.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class InferContext;
class OpAttributes;
struct OpTraits;

// The suffix that the reference adds to a variable's name for its gradient.
inline constexpr char kGradientSuffix[] = "@GRAD";

// A slot, or an attribute, that is not the same in both eras has an entry for each.
struct SlotSchema {
  std::string name;
  bool list = false;      // any number of arguments
  bool optional = false;  // may be absent or empty
  // For an input: its elements are not read.
  bool shape_only = false;
  Eras eras = Eras::kAll;
};

struct AttrSchema {
  std::string name;
  AttrType type = AttrType::INT;
  // The default, which many ops share; null if the op must carry the attribute.
  std::shared_ptr<const OpDesc::Attr> default_value;
  Eras eras = Eras::kAll;
};

// An input that can be computed on integers: WEIGHT, ACTIVATION, WEIGHT_OR_ACTIVATION or ADDEND.
struct QuantizableInput {
  std::string slot;
  SlotRole::Role role = SlotRole::ACTIVATION;
};

// State that an op carries from one training step to the next: the slot that reads it and the slot
// that writes it, "" for none. If there are both, one variable is in both.
struct StateSlots {
  std::string input;
  std::string output;
};

// A gradient op as its forward op's maker lists it. Names are the forward op's slots: `Input`, and
// `Output@GRAD` for the gradient of what is in slot Output.
struct GradientSchema {
  struct Slot {
    std::string name;               // slot of the gradient op
    std::string source;             // forward slot
    bool source_is_output = false;  // the source is an output of the forward op
    bool is_gradient = false;       // the gradient of what is in `source`, not that itself
    bool optional = false;          // some makers leave it out
    bool shape_only = false;        // as in SlotSchema
    Eras eras = Eras::kAll;
  };
  std::string type;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  Eras eras = Eras::kAll;
};

class OpSchema {
 public:
  // Infers the outputs' types from the inputs' (infer.h).
  using InferFunction = std::function<absl::Status(InferContext&)>;
  // The channel axis of a weight in `slot` of `op`: the axis of the output features.
  using AxisFunction = std::function<std::optional<int>(const Op& op, absl::string_view slot)>;
  // Whether an op has a trait that depends on its attributes. It is not asked of one whose
  // attributes cannot be read (OpAttributes::Of), which does not have the trait.
  using TraitFunction = std::function<bool(const OpAttributes& op)>;
  // Changes, or makes, the gradient ops of a forward op where GradientSchemas cannot express them
  // (one op per input, attributes other than the forward op's).
  using GradientFunction =
      std::function<void(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients)>;

  OpSchema();

  const std::string& type() const { return type_; }
  const std::string& doc() const { return doc_; }

  absl::Span<const SlotSchema> inputs() const { return inputs_; }
  absl::Span<const SlotSchema> outputs() const { return outputs_; }
  absl::Span<const AttrSchema> attrs() const { return attrs_; }
  // The slot of that era; else of the other era, because files mix what their writer's release
  // mixed (2.0 still wrote the Bias slot of conv2d). Null if the op never had such a slot.
  const SlotSchema* FindInput(absl::string_view name, Era era) const;
  const SlotSchema* FindOutput(absl::string_view name, Era era) const;
  // Likewise; null if the op never had such an attribute.
  const AttrSchema* FindAttr(absl::string_view name, Era era) const;
  // What an op means that lacks an attribute of its type, or one that every op may carry: the
  // default in that era, or in the other era if the attribute is not of that one. Null if the type
  // never had the attribute, or an op must carry it.
  const OpDesc::Attr* DefaultOf(absl::string_view name, Era era) const;
  // The attribute of an op of the type, or what the op means without it; null if it has neither.
  const OpDesc::Attr* AttrOf(const OpDesc& op, absl::string_view name, Era era) const;

  const InferFunction& infer() const { return infer_; }

  // What the op is for who plans, folds and lowers (op_traits.h).
  const OpTraits& traits() const { return *traits_; }
  // Inputs that can be computed on integers; empty for most ops.
  absl::Span<const QuantizableInput> quantizable_inputs() const { return quantizable_inputs_; }
  // Output slots whose range may be quantized or observed.
  absl::Span<const std::string> quantizable_outputs() const { return quantizable_outputs_; }
  // Whether the outputs hold only values of the input (reshape, transpose, max pooling, ...), so
  // that they share its scale: for every op of this type, and for this op.
  bool keeps_range() const { return keeps_range_ != nullptr && !keeps_range_depends_; }
  bool KeepsRange(const OpDesc& op, Era era) const;
  // Whether the outputs are never negative, whatever the inputs are (relu, sigmoid, ...): for every
  // op of this type, and for this op.
  bool never_negative() const { return never_negative_ != nullptr && !never_negative_depends_; }
  bool NeverNegative(const OpDesc& op, Era era) const;
  // Whether the outputs are not negative if no element of X and Y is (sums, averages, ...): for
  // every op of this type, and for this op.
  bool keeps_sign() const { return keeps_sign_ != nullptr && !keeps_sign_depends_; }
  bool KeepsSign(const OpDesc& op, Era era) const;
  QuantOp quant_op() const { return quant_op_; }
  // Whether an output slot inherits the offsets of an input's sequences (output_lod.h): by default
  // every gradient and the first slot of any other op.
  bool TakesLod(absl::string_view output_slot) const;
  // Whether the op turns each sequence into one row.
  bool pools_sequences() const { return pools_sequences_; }
  // The state that must be present while is_test is false.
  absl::Span<const StateSlots> training_state() const { return training_state_; }
  // The axis of the output features of a weight, along which it may have a scale per channel (a
  // product's trait says it); nothing if the slot is no weight or the axis is unknown. A grouped
  // conv2d_transpose has fewer entries on that axis than output channels: entry j serves channel j
  // of every group.
  std::optional<int> WeightAxis(const Op& op, absl::string_view slot, Era era) const;

  // The forward op type that this gradient op type belongs to, "" for any other op and for one
  // that several forward types share.
  const std::string& gradient_of() const { return gradient_of_; }
  absl::Span<const GradientSchema> gradients() const { return gradients_; }
  // Whether this schema knows all about gradients: if it has none, the op stops the backward pass.
  // False for an op that the reference differentiates in a way that is not written down here.
  bool gradient_known() const { return gradient_known_; }
  // The gradient ops of `forward`, as the reference's maker of that era makes them: attributes
  // copied, op_role Backward, every gradient named `<variable>@GRAD`. REQUIRES: gradient_known().
  std::vector<OpDesc> MakeGradient(const OpDesc& forward, Era era) const;

 private:
  friend class OpList;
  friend class OpSchemaBuilder;

  std::string type_;
  std::string doc_;
  std::vector<SlotSchema> inputs_;
  std::vector<SlotSchema> outputs_;
  std::vector<AttrSchema> attrs_;
  InferFunction infer_;
  std::shared_ptr<const OpTraits> traits_;
  std::vector<QuantizableInput> quantizable_inputs_;
  std::vector<std::string> quantizable_outputs_;
  TraitFunction keeps_range_;
  bool keeps_range_depends_ = false;  // on attributes
  TraitFunction never_negative_;
  bool never_negative_depends_ = false;  // on attributes
  TraitFunction keeps_sign_;
  bool keeps_sign_depends_ = false;  // on attributes
  QuantOp quant_op_ = QuantOp::kNone;
  std::vector<std::string> take_lod_;
  bool pools_sequences_ = false;
  std::vector<StateSlots> training_state_;
  AxisFunction weight_axis_;
  std::string gradient_of_;
  std::vector<GradientSchema> gradients_;
  GradientFunction gradient_;
  bool gradient_known_ = true;
};

// The schema of an op type; null for an unknown one, which is carried and reported.
const OpSchema* FindOpSchema(absl::string_view type);

// Adds ops of a user's own to those of all_ops.inc (OpList::Build, op_schema_builder.h).
// REQUIRES: their types are new, and no program has been looked at yet.
void AddOpSchemas(std::vector<OpSchema> schemas);

// The op's part in quantization, by its schema; kNone if it has none.
QuantOp QuantOpOf(const Op& op);

// Every schema, by type.
std::vector<const OpSchema*> AllOpSchemas();

// LONG, on an op with a test mode (an attribute is_test, or the gradient op of one that has it):
// the op is in test mode if its input kStepSlot, an INT64 [1] that counts steps from 1, is at least
// that. Fixpoint's own; both are in no schema.
inline constexpr char kTestFromStepAttr[] = "test_from_step";
inline constexpr char kStepSlot[] = "Step";

// The schema of an attribute that every op may carry (op_role, op_callstack, ...), or null.
const AttrSchema* FindCommonAttr(absl::string_view name);

// Adds the attributes that an op lacks, as the reference does when it creates one: those of its
// type in that era at their defaults, and those that every op carries.
void CompleteAttrs(Era era, OpDesc* op);

// OpSchema::AttrOf, whatever the op's type. Who knows the type reads attributes by OpAttributes
// (op_form.h).
const OpDesc::Attr* AttrOrDefault(const OpDesc& op, absl::string_view name, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_SCHEMA_H_
