#include "ops/equal_shapes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// How many ops a dimension is followed back over: many more than a residual block has.
constexpr size_t kMostPassed = 1024;

// An axis of a value.
using Axis = std::pair<const Value*, int>;

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
  Probe(const Argument& output, Era era) : op_(output.op()), era_(era), desc_(op_.desc()) {
    schema_ = FindOpSchema(op_.type());
    for (const Argument* input : op_.inputs()) {
      const Variable* const variable = input->variable();
      declared_.push_back(variable != nullptr ? variable->desc() : nullptr);
    }
    const auto outputs = op_.outputs();
    output_ = std::find(outputs.begin(), outputs.end(), &output) - outputs.begin();
  }

  // The size of an axis; nothing where it is not known.
  std::optional<int64_t> SizeWith(size_t input, const Dims& dims, int axis) const {
    if (schema_ == nullptr) return std::nullopt;
    VarDesc given = *declared_[input];
    VarType::TensorDesc& tensor = *given.mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    std::vector<const VarDesc*> inputs = declared_;
    inputs[input] = &given;
    InferContext context(desc_, *schema_, era_, inputs);
    if (!Infer(context).ok()) return std::nullopt;
    const std::optional<Dims>& inferred = context.outputs()[output_].dims;
    if (!inferred || axis >= static_cast<int>(inferred->size())) return std::nullopt;
    return (*inferred)[axis];
  }

 private:
  const Op& op_;
  const Era era_;
  const OpDesc desc_;
  const OpSchema* schema_;
  std::vector<const VarDesc*> declared_;
  size_t output_;
};

// The unknown dimension of an input that an op passes on to a dimension of its output, whatever it
// is; nothing if there is none. One that is passed on is found in the output: where the unknown
// ones are large and different, and where all are 1.
std::optional<Axis> SourceOf(const Axis& dimension, Era era) {
  constexpr int64_t kLarge = 1048583;  // a prime
  const auto& [value, axis] = dimension;
  const Argument* const output = value->written_by();
  if (output == nullptr || value->origin() != Value::Origin::kWrite) return std::nullopt;
  const Probe probe(*output, era);
  const auto inputs = output->op().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const VarType::TensorDesc* const tensor = TensorOf(*inputs[i]);
    if (tensor == nullptr || !inputs[i]->variable()->is_dense_tensor()) continue;
    Dims large(tensor->dims().begin(), tensor->dims().end());
    Dims ones = large;
    for (size_t j = 0; j < large.size(); ++j) {
      if (large[j] >= 0) continue;
      large[j] = kLarge + static_cast<int64_t>(j);
      ones[j] = 1;
    }
    if (large == ones) continue;
    const std::optional<int64_t> size = probe.SizeWith(i, large, axis);
    if (!size || *size < kLarge || probe.SizeWith(i, ones, axis) != 1) continue;
    const auto source = std::find(large.begin(), large.end(), *size);
    if (source == large.end()) continue;
    return Axis{inputs[i]->value(), static_cast<int>(source - large.begin())};
  }
  return std::nullopt;
}

// An unknown dimension, and those from which ops passed it on, the last one first.
std::vector<Axis> SourcesOf(Axis dimension, Era era) {
  std::vector<Axis> sources = {dimension};
  while (sources.size() < kMostPassed && sources.back().first != nullptr) {
    const std::optional<Axis> source = SourceOf(sources.back(), era);
    if (!source) break;
    sources.push_back(*source);
  }
  return sources;
}

bool HaveOneSource(const Axis& x, const Axis& y, Era era) {
  const std::vector<Axis> of_x = SourcesOf(x, era);
  const absl::flat_hash_set<Axis> known(of_x.begin(), of_x.end());
  const std::vector<Axis> of_y = SourcesOf(y, era);
  return std::any_of(of_y.begin(), of_y.end(), [&known](const Axis& source) {
    return source.first != nullptr && known.contains(source);
  });
}

}  // namespace

bool HaveEqualShapes(const Op& op, Era era) {
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
    if (x_floats->dims(i) < 0 && !HaveOneSource({x->value(), i}, {y->value(), i}, era))
      return false;
  }
  return true;
}

}  // namespace fixpoint
