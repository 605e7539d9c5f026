#include "ops/value_flow.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ops/code_ops.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/requantization.h"
#include "ops/window_axes.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// How many values are followed from one: more than networks need, and few enough that a program of
// nothing but moves takes no noticeable time.
constexpr size_t kMostMoved = 256;

// Whether an op quantizes X with a range that it does not find in X.
bool QuantizesAtGivenRange(const Op& op, Era era) {
  const std::optional<CodeOp> read = ReadCodeOp(op, era);
  return read && read->kind == QuantOp::kQuantize && !read->finds_scale;
}

// Whether two tensors have as many elements, as far as the program declares it.
bool HaveAsManyElements(const VarType::TensorDesc& a, const VarType::TensorDesc& b) {
  const auto elements = [](const VarType::TensorDesc& tensor) {
    int unknown = 0;
    int64_t known = 1;
    for (const int64_t dim : tensor.dims()) {
      unknown += dim < 0;
      known *= std::max<int64_t>(dim, 1);
    }
    return std::make_pair(unknown, known);
  };
  return elements(a) == elements(b);
}

// The output in which an op has what it moves, or, on its way to codes, has requantized.
const Argument* FindNextTo(const Op& op, Era era) {
  return op.type() == kRequantize ? op.Output("Out") : FindMovedTo(op, era);
}

bool IsAmong(const Value& value, absl::Span<const Argument* const> inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&value](const Argument* input) { return input->value() == &value; });
}

std::vector<const Argument*> ArgumentsOf(const Op& op, const std::vector<std::string>& slots,
                                         bool are_inputs) {
  std::vector<const Argument*> arguments;
  for (const std::string& slot : slots) {
    const auto of_slot = are_inputs ? op.Inputs(slot) : op.Outputs(slot);
    arguments.insert(arguments.end(), of_slot.begin(), of_slot.end());
  }
  return arguments;
}

bool IsMoved(const Argument& input) {
  const std::vector<std::string>& slots = TraitsOf(input.op()).moved;
  return std::find(slots.begin(), slots.end(), input.slot_name()) != slots.end();
}

const Argument* OnlyOneOf(const std::vector<const Argument*>& arguments) {
  return arguments.size() == 1 ? arguments.front() : nullptr;
}

const VarType::TensorDesc* TensorOf(const Argument& argument) {
  return argument.variable() != nullptr ? argument.variable()->tensor() : nullptr;
}

// Whether an op may give each element of an input once, in another order. A reshape takes from the
// batch what its other dimensions lack, so that declared shapes do not tell where sizes are not
// known: elements are counted as if these were 1.
bool MayReorder(const Op& op, const Argument& from, const Argument& to, Era era) {
  VarDesc known = *from.variable()->desc();
  if (known.type().type() != VarType::LOD_TENSOR) return true;
  uint64_t read = 1;
  for (int64_t& dim :
       *known.mutable_type()->mutable_lod_tensor()->mutable_tensor()->mutable_dims()) {
    dim = std::max<int64_t>(dim, 1);
    read *= static_cast<uint64_t>(dim);
  }
  std::vector<const VarDesc*> inputs;
  for (const Argument* input : op.inputs()) {
    const VarDesc* const declared =
        input->variable() != nullptr ? input->variable()->desc() : nullptr;
    inputs.push_back(input == &from ? &known : declared);
  }
  InferContext context(op.desc(), *FindOpSchema(op.type()), era, inputs);
  if (!Infer(context).ok()) return true;
  const auto outputs = op.outputs();
  const auto at = std::find(outputs.begin(), outputs.end(), &to) - outputs.begin();
  const std::optional<Dims>& dims = context.outputs()[at].dims;
  if (!dims || std::any_of(dims->begin(), dims->end(), [](int64_t dim) { return dim < 0; })) {
    return true;
  }
  return std::accumulate(dims->begin(), dims->end(), uint64_t{1}, std::multiplies<>()) == read;
}

// Whether the windows or the padding of images, or volumes, are along other axes than this one.
// What pads any axis says no format.
bool IsChannelAxisOfImages(const Op& op, int axis, int rank, Era era) {
  const OpDesc::Attr* const format = AttrOrDefault(op.desc(), "data_format", era);
  return format != nullptr && axis == (AreChannelsLast(format->s()) ? rank - 1 : 1);
}

// What an op has beside Out is no moved values unless its traits say so.
bool HasMovedOutputs(const OpSchema& schema) {
  const auto outputs = schema.outputs();
  return !schema.traits().moved_to.empty() || outputs.size() == 1 ||
         (!outputs.empty() && outputs.front().name == "Out");
}

// A zero of floats has the bits of what the code of 0 stands for.
bool FillsWith(const Op& op, const std::string& attribute, Era era, double zero) {
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  if (!attributes) return false;
  const double filling = attributes->Float(attribute);
  return filling == zero && (zero != 0 || !std::signbit(filling));
}

bool JoinsValues(const Op& op, const OpTraits& traits, Era era) {
  if (traits.joins_values == nullptr) return false;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  return attributes && traits.joins_values(*attributes);
}

}  // namespace

bool MovesValues(const Op& op, Era era, double zero) {
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr || !HasMovedOutputs(*schema) || MovedInputs(op).empty() ||
      MovedOutputs(op).empty()) {
    return false;
  }
  if (schema->KeepsRange(op.desc(), era) || JoinsValues(op, schema->traits(), era)) return true;
  const std::string* const filling = FindFilling(op, era);
  return filling != nullptr && FillsWith(op, *filling, era, zero);
}

std::vector<const Argument*> MovedInputs(const Op& op) {
  return ArgumentsOf(op, TraitsOf(op).moved, /*are_inputs=*/true);
}

std::vector<const Argument*> MovedOutputs(const Op& op) {
  const std::vector<std::string>& slots = TraitsOf(op).moved_to;
  const std::string& first = FindOpSchema(op.type())->outputs().front().name;
  return ArgumentsOf(op, slots.empty() ? std::vector<std::string>{first} : slots,
                     /*are_inputs=*/false);
}

const std::string* FindFilling(const Op& op, Era era) {
  const std::string& filling = TraitsOf(op).filling;
  if (filling.empty() || FindOpSchema(op.type())->KeepsRange(op.desc(), era)) return nullptr;
  return &filling;
}

bool ReordersValues(const Op& op, Era era) {
  if (!MovesValues(op, era) || !FindOpSchema(op.type())->keeps_range()) return false;
  const Argument* const from = FindMoved(op, era);
  const Argument* const to = FindMovedTo(op, era);
  if (from == nullptr || to == nullptr) return false;
  const VarType::TensorDesc* const before = TensorOf(*from);
  const VarType::TensorDesc* const after = TensorOf(*to);
  return before != nullptr && after != nullptr && HaveAsManyElements(*before, *after);
}

const Argument* FindMoved(const Op& op, Era era) {
  return MovesValues(op, era) ? OnlyOneOf(MovedInputs(op)) : nullptr;
}

const Argument* FindMovedTo(const Op& op, Era era) {
  return MovesValues(op, era) ? OnlyOneOf(MovedOutputs(op)) : nullptr;
}

bool KeepsChannels(const Op& op, int axis, Era era) {
  const Argument* const to = FindMovedTo(op, era);
  const Argument* const from = FindMoved(op, era);
  if (to == nullptr || from == nullptr) return false;
  const VarType::TensorDesc* const before = TensorOf(*from);
  const VarType::TensorDesc* const after = TensorOf(*to);
  const bool has_channels = before != nullptr && after != nullptr &&
                            before->dims_size() == after->dims_size() &&
                            axis < before->dims_size() && before->dims(axis) == after->dims(axis) &&
                            before->dims(axis) >= 0;
  if (!has_channels) return false;
  const bool is_of_images = !FindOpSchema(op.type())->keeps_range();
  return is_of_images ? IsChannelAxisOfImages(op, axis, before->dims_size(), era)
                      : !MayReorder(op, *from, *to, era);
}

bool BecomesCodes(const Value& value, Era era, const IsReader& also) {
  std::vector<const Value*> rest = {&value};
  // An op may read a value several times, and may write several values that are read together.
  absl::flat_hash_set<const Value*> seen = {&value};
  while (!rest.empty()) {
    if (seen.size() > kMostMoved) return false;
    const Value& next = *rest.back();
    rest.pop_back();
    for (const Argument* reader : next.readers()) {
      if (also != nullptr && also(*reader)) continue;
      if (reader->slot_name() == "X" && QuantizesAtGivenRange(reader->op(), era)) continue;
      const bool goes_on = MovesValues(reader->op(), era) || reader->op().type() == kRequantize;
      if (!goes_on || !IsMoved(*reader)) return false;
      for (const Argument* output : MovedOutputs(reader->op())) {
        if (output->value() == nullptr) return false;
        if (seen.insert(output->value()).second) rest.push_back(output->value());
      }
    }
  }
  return true;
}

bool IsStoredAsCodes(const Value& value, Era era, const OnlyReaderOf& only_reader) {
  const Value* at = &value;
  for (size_t moves = 0; at != nullptr && moves < kMostMoved; ++moves) {
    const Op* const reader = only_reader(*at);
    if (reader == nullptr) return false;
    if (QuantizesAtGivenRange(*reader, era)) return IsAmong(*at, reader->Inputs("X"));
    const Argument* const moved_to = FindNextTo(*reader, era);
    if (moved_to == nullptr || !IsAmong(*at, MovedInputs(*reader))) return false;
    at = moved_to->value();
  }
  return false;
}

}  // namespace fixpoint
