#include "ops/equal_shapes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// How many ops are followed back: many more than a residual block has.
constexpr size_t kMostPassed = 512;
// How many sums of sums are looked into.
constexpr int kMostNestedSums = 256;

const VarType::TensorDesc* TensorOf(const Argument& argument) {
  return argument.variable() != nullptr ? argument.variable()->tensor() : nullptr;
}

// Null if it is not a tensor of FP32.
const VarType::TensorDesc* FloatsOf(const Argument* argument) {
  const VarType::TensorDesc* const tensor = argument != nullptr ? TensorOf(*argument) : nullptr;
  return tensor != nullptr && tensor->data_type() == VarType::FP32 ? tensor : nullptr;
}

// Infers the dims of one output of an op from what the program declares of its inputs, where the
// dims of one input are others.
class Probe {
 public:
  Probe(const Argument& output, Era era) : op_(output.op()), era_(era) {
    schema_ = FindOpSchema(op_.type());
    for (const Argument* input : op_.inputs()) {
      const Variable* const variable = input->variable();
      declared_.push_back(variable != nullptr ? variable->desc() : nullptr);
    }
    const auto outputs = op_.outputs();
    output_ = std::find(outputs.begin(), outputs.end(), &output) - outputs.begin();
  }

  std::optional<Dims> DimsWith(size_t input, const Dims& dims) const {
    if (schema_ == nullptr) return std::nullopt;
    VarDesc given = *declared_[input];
    VarType::TensorDesc& tensor = *given.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    std::vector<const VarDesc*> inputs = declared_;
    inputs[input] = &given;
    InferContext context(op_.desc(), *schema_, era_, inputs);
    if (!Infer(context).ok()) return std::nullopt;
    return context.outputs()[output_].dims;
  }

 private:
  const Op& op_;
  const Era era_;
  const OpSchema* schema_;
  std::vector<const VarDesc*> declared_;
  size_t output_;
};

// What no op of the block writes comes first.
bool IsWrittenBefore(const Value& a, const Value& b, const Block& block) {
  const auto is_of_block = [&block](const Value& value) {
    return value.op() != nullptr && &value.op()->block() == &block;
  };
  if (!is_of_block(a) || !is_of_block(b)) return is_of_block(b);
  return a.op()->IsBefore(*b.op());
}

}  // namespace

// A sum of equal shapes passes all dimensions on, as the op on codes does that it is lowered to.
// What others pass on is found in the output: where the unknown dimensions of an input are large
// and different, and where all are 1.
std::vector<std::optional<EqualShapes::Axis>> EqualShapes::FindSources(const Value& value) {
  constexpr int64_t kLarge = 1048583;  // a prime
  std::vector<std::optional<Axis>> sources;
  const Argument* const output = value.written_by();
  if (output == nullptr || value.origin() != Value::Origin::kWrite) return sources;
  if (nested_sums_ < kMostNestedSums && TraitsOf(output->op()).sum) {
    ++nested_sums_;
    const bool are_equal = OfSum(output->op());
    --nested_sums_;
    if (are_equal) {
      const Argument& x = *output->op().Input(TraitsOf(output->op()).sum->x);
      for (int axis = 0; axis < TensorOf(x)->dims_size(); ++axis) {
        sources.emplace_back(Axis{x.value(), axis});
      }
      return sources;
    }
  }
  const Probe probe(*output, era_);
  const auto inputs = output->op().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const VarType::TensorDesc* const tensor = TensorOf(*inputs[i]);
    if (tensor == nullptr || inputs[i]->value() == nullptr ||
        !inputs[i]->variable()->is_dense_tensor()) {
      continue;
    }
    Dims large(tensor->dims().begin(), tensor->dims().end());
    Dims ones = large;
    for (size_t j = 0; j < large.size(); ++j) {
      if (large[j] >= 0) continue;
      large[j] = kLarge + static_cast<int64_t>(j);
      ones[j] = 1;
    }
    if (large == ones) continue;
    const std::optional<Dims> of_large = probe.DimsWith(i, large);
    const std::optional<Dims> of_ones = probe.DimsWith(i, ones);
    if (!of_large || !of_ones) continue;
    const size_t rank = std::min(of_large->size(), of_ones->size());
    if (sources.size() < rank) sources.resize(rank);
    for (size_t axis = 0; axis < rank; ++axis) {
      if (sources[axis] || (*of_large)[axis] < kLarge || (*of_ones)[axis] != 1) continue;
      const auto source = std::find(large.begin(), large.end(), (*of_large)[axis]);
      if (source == large.end()) continue;
      sources[axis] = Axis{inputs[i]->value(), static_cast<int>(source - large.begin())};
    }
  }
  return sources;
}

std::optional<EqualShapes::Axis> EqualShapes::SourceOf(const Axis& dimension) {
  auto found = sources_.find(dimension.first);
  if (found == sources_.end()) {
    found = sources_.emplace(dimension.first, FindSources(*dimension.first)).first;
  }
  const auto axis = static_cast<size_t>(dimension.second);
  return axis < found->second.size() ? found->second[axis] : std::nullopt;
}

// The one that is written later is followed back, so that no ops are visited but those between the
// sum and what both come from, however deep the program is.
bool EqualShapes::HaveOneSource(const Axis& x, const Axis& y, const Block& block) {
  Axis earlier = x;
  Axis later = y;
  for (size_t passed = 0; passed < kMostPassed; ++passed) {
    if (earlier == later) return true;
    if (IsWrittenBefore(*later.first, *earlier.first, block)) std::swap(earlier, later);
    const std::optional<Axis> source = SourceOf(later);
    if (!source) return false;
    later = *source;
  }
  return false;
}

bool EqualShapes::OfSum(const Op& op) {
  const std::optional<SumTrait>& sum = TraitsOf(op).sum;
  if (!sum) return false;
  const Argument* const x = op.Input(sum->x);
  const Argument* const y = op.Input(sum->y);
  const VarType::TensorDesc* const x_floats = FloatsOf(x);
  const VarType::TensorDesc* const y_floats = FloatsOf(y);
  if (x_floats == nullptr || y_floats == nullptr || x_floats->dims_size() == 0 ||
      !std::equal(x_floats->dims().begin(), x_floats->dims().end(), y_floats->dims().begin(),
                  y_floats->dims().end())) {
    return false;
  }
  for (int i = 1; i < x_floats->dims_size(); ++i) {
    if (x_floats->dims(i) >= 0) continue;
    if (x->value() == nullptr || y->value() == nullptr ||
        !HaveOneSource({x->value(), i}, {y->value(), i}, op.block())) {
      return false;
    }
  }
  return true;
}

bool HaveEqualShapes(const Op& op, Era era) { return EqualShapes(era).OfSum(op); }

}  // namespace fixpoint
