// A quantizer computes the scale of one value. It consists of arithmetic on spans and the recipe by
// which it is written into a program; no pass knows one by name.
//
// Adding one: docs/adding_a_quantizer.md.

#ifndef FIXPOINT_OPS_QUANTIZER_H_
#define FIXPOINT_OPS_QUANTIZER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/code_range.h"
#include "ops/dims.h"
#include "ops/era.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/op_builder.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// A setting of a quantizer: QuantSpec.parameters.
struct QuantizerParameter {
  std::string name;
  double default_value;
  double min;
  double max;
  std::string doc;
  // False: the reference's op has no such setting; only our own runtime supports values other than
  // the default.
  bool reference_has_it = true;
  bool is_integer = false;
};

// State that is kept from step to step: a persistable variable of the program.
struct QuantizerState {
  enum class Extent { kOne, kChannels, kWindow, kElements };
  std::string name;  // the suffix to the value's name
  VarType::Type dtype = VarType::FP32;
  Extent extent = Extent::kOne;
  // Slots of the quantize op, "" for none; if both are given, one variable is in both.
  std::string input;
  std::string output;
  bool is_scale = false;       // a frozen program reads it; a profile's range initialises it
  bool training_only = false;  // not read and not written when is_test is true
  // Updated by UpdateOps from the gradient that GradientOps compute.
  bool is_trained = false;
  // A trained state that is in no slot of the quantize op: the input slot whose variable the ops of
  // Forward compute from it.
  std::string decides;
};

// What a quantizer's ops are for: a spec, and the value that it quantizes. An extent of a dimension
// is kUnknownDim where it is not known, as that of a batch; no dims: the rank is not known.
struct QuantizerUse {
  const QuantSpec& spec;
  SlotRole::Role role;
  std::optional<Dims> dims;
  Era era;
};

// What a quantizer computes beside its quantize op. Names are those of states, kValue, and the
// quantizer's own. By default the op quantizes the value at what its state slots hold.
struct QuantizerForward {
  std::vector<OpDesc> ops;      // before the quantize op
  std::string quantized = "x";  // what the quantize op reads in X
  // The input slots that read a name which is not that of a state in the slot: "InScale" ->
  // "range".
  std::vector<std::pair<std::string, std::string>> inputs;
};

// How a quantizer is simulated: an op that quantizes, and one that dequantizes or, if fused, none.
struct QuantizerRecipe {
  QuantSpec::Form form = QuantSpec::SEPARATE;
  std::string quantize_op;    // X -> Out
  std::string dequantize_op;  // X -> Out; "" if quantize_op does both
  Eras eras = Eras::kAll;     // the eras in which the reference has the ops
  bool reference_runs_it = true;
  // The scale's output, "" if the op only reads it, from `scale_input`; and the dequantize op's
  // input for it.
  std::string scale_output = "OutScale";
  std::string scale_input;
  std::string scale_input_of_dequantize = "Scale";
  // The same for the zero point of affine quantizers; "" for none.
  std::string zero_point_output;
  std::string zero_point_input_of_dequantize;
  std::string step_counter_input;  // an INT64 [1] that counts steps; "" for none
  bool has_is_test = false;
  bool observer_needs_output = false;  // for an observer: its Out, a copy of X, may not be absent
  std::vector<QuantizerState> state;
};

class Quantizer {
 public:
  virtual ~Quantizer() = default;

  // The row's name, "moving_average_abs_max", and a sentence for the generated list.
  virtual absl::string_view name() const = 0;
  virtual absl::string_view doc() const = 0;

  virtual QuantSpec::Granularity granularity() const { return QuantSpec::PER_TENSOR; }
  virtual QuantSpec::Scheme scheme() const { return QuantSpec::SYMMETRIC; }
  // The bits that a spec may ask for. What is stored has at least kLeastBits.
  virtual int least_bits() const { return kLeastBits; }
  virtual int most_bits() const { return kMostBits; }
  // For a quantizer per channel: the axes that its ops can have the channels on; empty: any.
  virtual absl::Span<const int> axes(Era) const { return {}; }
  // Whether the scale is found anew from each tensor, so that there is none to freeze.
  virtual bool is_dynamic() const = 0;
  virtual absl::Span<const QuantizerParameter> parameters() const { return {}; }
  virtual absl::Span<const QuantizerRecipe> recipes() const = 0;
  // Recipes that only record the range: quantize_op is the observer.
  virtual absl::Span<const QuantizerRecipe> observers() const { return {}; }

  // The name of the quantized value in SummaryOps.
  static constexpr char kValue[] = "x";
  // Ops that reduce a value to one number: the observer then follows that number instead of the
  // value's largest absolute value, and the quantize op reads the range that the observer writes.
  // In order; the first reads kValue, the last writes the number, other names are their own.
  // REQUIRES, if there are any: observers, and recipes with a scale that is read in test mode.
  virtual std::vector<OpDesc> SummaryOps(const QuantSpec&, Era) const { return {}; }

  // What is computed beside the quantize op.
  virtual QuantizerForward Forward(const QuantizerUse&) const { return {}; }
  // Ops from kValue to states: what these begin with in the first step that quantizes, unless the
  // range is known.
  virtual std::vector<OpDesc> InitialOps(const QuantizerUse&) const { return {}; }

  // Whether GradientOps give the gradient of the value, which else is that of the result.
  virtual bool has_own_gradient() const;
  // A trained scale: ops that compute the gradient of each state that is_trained, and ops that
  // update it. Both refer to a state by its `name`, even if it is in no slot of the quantize op (a
  // moment of the optimizer); other names that they write are their own. REQUIRES of a quantizer
  // that has such a state: both give some ops; its recipes are fused, the state is in an input slot
  // of each, or `decides` one; it has no observers and no SummaryOps.
  static constexpr char kValueGradient[] = "x@GRAD";
  static constexpr char kResult[] = "out";
  static constexpr char kResultGradient[] = "out@GRAD";
  static constexpr char kLearningRate[] = "learning_rate";
  // The name of the gradient of a state that is_trained: "scale@GRAD".
  static std::string GradientOf(const QuantizerState& state);
  // Ops from kValue, kResultGradient, the states and the names that the ops of Forward write to
  // kValueGradient, and to the gradient of each state that is_trained. They are inserted once after
  // each op of the backward pass that computes kResultGradient; the gradient of a state is the sum
  // of what they give. None of them reads kValueGradient: it stands for kEmptyArgument if the
  // program has no gradient of the value. An activation, unlike a weight, has the samples of a
  // batch along axis 0.
  virtual std::vector<OpDesc> GradientOps(const QuantizerUse&) const { return {}; }
  // Ops from kValue, the states, the gradients of the trained ones and kLearningRate, the [1] that
  // the program's first optimizer op reads, to the states. They are inserted once, after the
  // optimizer ops, so that a weight is the updated one. At a learning rate of 0 they leave the
  // trained states unchanged.
  virtual std::vector<OpDesc> UpdateOps(const QuantizerUse&) const { return {}; }

  // Add the attributes of a recipe's ops.
  virtual void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const = 0;
  virtual void AddDequantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const = 0;
  virtual void AddObserverAttrs(const QuantSpec&, OpBuilder&) const {}
  // For a dynamic quantizer with parameters: reads those that AddQuantizeAttrs wrote into the op,
  // by which freezing finds the scale of a weight again.
  virtual void ReadParameters(const OpDesc& /*quantize*/, QuantSpec* /*spec*/) const {}
  // The initial value of a state if the range of the values is known to be `min` to `max`.
  virtual double ValueOfRange(const QuantizerState& state, const QuantSpec& spec, float min,
                              float max) const;
  // The initial value of a state.
  virtual double InitialValue(const QuantizerState& state, const QuantSpec& spec) const = 0;

  // One step of a per-tensor quantizer whose scale neither is a parameter nor computed by ops of
  // Forward or InitialOps: takes in a tensor and returns what it is quantized with: the range
  // (abs-max) or, for an affine one, the step between two codes. The state that is_scale, if there
  // is one, then holds that. `state` holds the recipe's states in order, and `step` the number of
  // the step, counted from 1.
  virtual float Observe(const QuantSpec& spec, absl::Span<const float> values,
                        absl::Span<const absl::Span<float>> state, int64_t step) const = 0;
};

// A parameter of a spec, or the quantizer's default for it.
double Parameter(const Quantizer& quantizer, const QuantSpec& spec, absl::string_view name);

// Whether the quantizer supports a spec with no field absent: bits, granularity, scheme, form, a
// percentile, and parameters that it knows, in their range. Error (kInvalidArgument): what is wrong
// and what would be right.
absl::Status CheckSpec(const Quantizer& quantizer, const QuantSpec& spec);

// The spec with the bits of the codes that the ops store, which may be more than those it asks for
// (dorefa: one more). REQUIRES: CheckSpec is ok.
QuantSpec StoredSpec(const Quantizer& quantizer, QuantSpec spec);

// The recipe of a spec's form in an era; null if there is none.
const QuantizerRecipe* FindRecipe(const Quantizer& quantizer, const QuantSpec& spec, Era era);
// The observer that a target inserts into a program; null if there is none. The ops of the older
// era are in programs of both.
const QuantizerRecipe* FindObserver(const Quantizer& quantizer, Era program, Era target);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZER_H_
