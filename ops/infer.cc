#include "ops/infer.h"

#include <algorithm>
#include <utility>

#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/slots.h"
#include "proto/program/tensor_desc.h"

namespace fixpoint {
namespace {

int CountAll(const Slots& slots) {
  int count = 0;
  for (const OpDesc::Var& slot : slots) count += slot.arguments_size();
  return count;
}

}  // namespace

TensorInfo TensorInfoOf(const VarDesc* variable) {
  TensorInfo info;
  if (variable == nullptr) return info;
  const VarType& type = variable->type();
  info.kind = type.type();
  if (info.kind == VarType::LOD_TENSOR) {
    info.lod_level = type.lod_tensor().lod_level();
  } else if (info.kind == VarType::LOD_TENSOR_ARRAY) {
    info.lod_level = type.tensor_array().lod_level();
  }
  if (const VarType::TensorDesc* tensor = TensorOf(*variable); tensor != nullptr) {
    info.dtype = tensor->data_type();
    if (tensor->dims_size() <= kMostDims) {
      info.dims = DimsView(tensor->dims().data(), tensor->dims_size());
    }
  }
  return info;
}

InferContext::InferContext(const OpDesc& op, const OpSchema& schema, Era era,
                           absl::Span<const VarDesc* const> inputs)
    : op_(&op),
      schema_(&schema),
      era_(era),
      inputs_(inputs),
      outputs_(static_cast<size_t>(CountAll(op.outputs()))) {}

namespace {

template <typename Range>
const Range& FindRange(const Slots& slots, absl::string_view name, Range* last) {
  if (!last->name.empty() && last->name == name) return *last;
  *last = {};
  int first = 0;
  for (const OpDesc::Var& slot : slots) {
    if (slot.arguments_size() > 0 && slot.parameter() == name) {
      *last = {slot.parameter(), first, slot.arguments_size()};
      break;
    }
    first += slot.arguments_size();
  }
  return *last;
}

}  // namespace

const InferContext::SlotRange& InferContext::InputRange(absl::string_view slot) const {
  return FindRange(op_->inputs(), slot, &last_input_);
}

const InferContext::SlotRange& InferContext::OutputRange(absl::string_view slot) const {
  return FindRange(op_->outputs(), slot, &last_output_);
}

int InferContext::InputCount(absl::string_view slot) const { return InputRange(slot).count; }

int InferContext::OutputCount(absl::string_view slot) const { return OutputRange(slot).count; }

TensorInfo InferContext::Input(absl::string_view slot, int index) const {
  const SlotRange& range = InputRange(slot);
  return index < range.count ? TensorInfoOf(inputs_[range.first + index]) : TensorInfo();
}

const OpDesc::Attr* InferContext::Attr(absl::string_view name) {
  const OpDesc::Attr* attr = schema_->AttrOf(*op_, name, era_);
  if (attr == nullptr) attribute_unknown_ = true;
  return attr;
}

template <typename T>
T InferContext::Known(std::optional<T> value) {
  if (value) return *std::move(value);
  attribute_unknown_ = true;
  return T();
}

int64_t InferContext::Int(absl::string_view name) {
  const OpDesc::Attr* attr = Attr(name);
  return attr != nullptr ? Known(IntValue(*attr)) : 0;
}

double InferContext::Float(absl::string_view name) {
  const OpDesc::Attr* attr = Attr(name);
  return attr != nullptr ? Known(FloatValue(*attr)) : 0;
}

bool InferContext::Bool(absl::string_view name) {
  const OpDesc::Attr* attr = Attr(name);
  return attr != nullptr && Known(BoolValue(*attr));
}

std::string InferContext::String(absl::string_view name) {
  const OpDesc::Attr* attr = Attr(name);
  return attr != nullptr ? Known(StringValue(*attr)) : "";
}

std::vector<int64_t> InferContext::Ints(absl::string_view name) {
  const OpDesc::Attr* attr = Attr(name);
  return attr != nullptr ? Known(IntsValue(*attr)) : std::vector<int64_t>();
}

std::vector<double> InferContext::Floats(absl::string_view name) {
  const OpDesc::Attr* attr = Attr(name);
  return attr != nullptr ? Known(FloatsValue(*attr)) : std::vector<double>();
}

void InferContext::SetOutput(absl::string_view slot, int index, std::optional<DataType> dtype,
                             const Dims& dims) {
  const SlotRange& range = OutputRange(slot);
  if (index >= range.count) return;
  InferredOutput& output = outputs_[range.first + index];
  output.dtype = dtype;
  output.dims = dims;
  for (int64_t& dim : *output.dims) dim = std::max(dim, kUnknownDim);
}

void InferContext::SetOutput(absl::string_view slot, int index, std::optional<DataType> dtype,
                             std::nullopt_t) {
  const SlotRange& range = OutputRange(slot);
  if (index >= range.count) return;
  outputs_[range.first + index].dtype = dtype;
  outputs_[range.first + index].dims.reset();
}

void InferContext::SetOutputKind(absl::string_view slot, VarType::Type kind) {
  const SlotRange& range = OutputRange(slot);
  for (int i = 0; i < range.count; ++i) outputs_[range.first + i].kind = kind;
}

void InferContext::SetOutputLike(absl::string_view slot, int index, const TensorInfo& tensor) {
  if (tensor.has_dims()) {
    SetOutput(slot, index, tensor.dtype, Dims(tensor.dims.begin(), tensor.dims.end()));
  } else {
    SetOutput(slot, index, tensor.dtype, std::nullopt);
  }
  const SlotRange& range = OutputRange(slot);
  if (tensor.kind == VarType::SELECTED_ROWS && index < range.count) {
    outputs_[range.first + index].kind = tensor.kind;
  }
}

absl::Status Infer(InferContext& context) {
  if (context.schema_->infer() == nullptr) return absl::OkStatus();
  absl::Status status = context.schema_->infer()(context);
  if (!status.ok() || context.attribute_unknown_) {
    for (InferredOutput& output : context.outputs_) {
      output.dtype.reset();
      output.dims.reset();
    }
  }
  return context.attribute_unknown_ ? absl::OkStatus() : status;
}

absl::StatusOr<std::vector<InferredOutput>> InferOutputs(
    const OpDesc& op, Era era, const std::function<const VarDesc*(absl::string_view)>& find) {
  const OpSchema* schema = FindOpSchema(op.type());
  if (schema == nullptr) return std::vector<InferredOutput>(CountAll(op.outputs()));
  std::vector<const VarDesc*> inputs;
  for (const OpDesc::Var& slot : op.inputs()) {
    for (const std::string& argument : slot.arguments()) inputs.push_back(find(argument));
  }
  InferContext context(op, *schema, era, inputs);
  if (absl::Status status = Infer(context); !status.ok()) return status;
  return std::vector<InferredOutput>(context.outputs().begin(), context.outputs().end());
}

}  // namespace fixpoint
