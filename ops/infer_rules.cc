#include "ops/infer_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/tensor_desc.h"

namespace fixpoint {
namespace {

absl::StatusOr<int64_t> BroadcastDim(int64_t x, int64_t y, DimsView all_x, DimsView all_y) {
  if (x == y || y == 1) return x;
  if (x == 1) return y;
  if (x < 0) return y > 1 ? y : kUnknownDim;
  if (y < 0) return x;
  return absl::InvalidArgumentError(absl::StrCat("X ", DimsText(all_x), " and Y ", DimsText(all_y),
                                                 " do not broadcast: want equal dimensions or 1, "
                                                 "got ",
                                                 x, " and ", y));
}

void SetEachLike(absl::string_view inputs, absl::string_view outputs, InferContext& op) {
  const int count = std::min(op.InputCount(inputs), op.OutputCount(outputs));
  for (int i = 0; i < count; ++i) op.SetOutputLike(outputs, i, op.Input(inputs, i));
}

}  // namespace

OpSchema::InferFunction SameAs(absl::string_view input,
                               std::initializer_list<const char*> outputs) {
  return [input = std::string(input),
          outputs = std::vector<std::string>(outputs.begin(), outputs.end())](InferContext& op) {
    const TensorInfo tensor = op.Input(input);
    for (const std::string& output : outputs) op.SetOutputLike(output, tensor);
    return absl::OkStatus();
  };
}

OpSchema::InferFunction EachSameAs(absl::string_view inputs, absl::string_view outputs) {
  return [inputs = std::string(inputs), outputs = std::string(outputs)](InferContext& op) {
    SetEachLike(inputs, outputs, op);
    return absl::OkStatus();
  };
}

absl::Status InferGradients(InferContext& op) {
  for (const SlotSchema& output : op.schema().outputs()) {
    absl::string_view slot = output.name;
    if (!absl::ConsumeSuffix(&slot, kGradientSuffix)) continue;
    if (op.HasInput(slot)) {
      SetEachLike(slot, output.name, op);
    } else if (op.HasInput("XShape")) {
      TensorInfo tensor = op.Input("XShape");
      tensor.dims.remove_prefix(tensor.has_dims() ? 1 : 0);
      op.SetOutputLike(output.name, tensor);
    }
  }
  return absl::OkStatus();
}

absl::Status InferInPlaceUpdate(InferContext& op) {
  for (const SlotSchema& output : op.schema().outputs()) {
    absl::string_view slot = output.name;
    if (absl::ConsumeSuffix(&slot, "Out")) SetEachLike(slot, output.name, op);
  }
  return absl::OkStatus();
}

absl::StatusOr<Dims> Broadcast(DimsView x, DimsView y) {
  Dims out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    // Counted from the last dimension.
    const int64_t of_x = i < x.size() ? x[x.size() - 1 - i] : 1;
    const int64_t of_y = i < y.size() ? y[y.size() - 1 - i] : 1;
    ASSIGN_OR_RETURN(out[out.size() - 1 - i], BroadcastDim(of_x, of_y, x, y));
  }
  return out;
}

absl::StatusOr<Dims> BroadcastAtAxis(DimsView x, DimsView y, int64_t axis) {
  if (x.size() == y.size() || axis == -1) {
    // The shorter one ends where the longer one ends, trailing 1s included: numpy's rule.
    return Broadcast(x, y);
  }
  const bool x_is_longer = x.size() > y.size();
  const DimsView longer = x_is_longer ? x : y;
  DimsView shorter = x_is_longer ? y : x;
  while (shorter.size() > 1 && shorter.back() == 1) shorter.remove_suffix(1);
  const int64_t last = static_cast<int64_t>(longer.size() - shorter.size());
  if (axis < 0 || axis > last) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " does not place ",
                                                   DimsText(shorter), " inside ", DimsText(longer),
                                                   "; want 0 to ", last, ", or -1"));
  }
  Dims placed(longer.size(), 1);
  std::copy(shorter.begin(), shorter.end(), placed.begin() + axis);
  return x_is_longer ? Broadcast(longer, placed) : Broadcast(placed, longer);
}

absl::StatusOr<DataType> DataTypeAttr(InferContext& op, absl::string_view name) {
  const int64_t value = op.Int(name);
  const bool is_type = value >= VarType::Type_MIN && value <= VarType::Type_MAX;
  if (!is_type || !IsElementType(static_cast<VarType::Type>(value))) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value,
                                                   ", which is no data type of a tensor; want a "
                                                   "VarType.Type such as 5 (FP32)"));
  }
  return static_cast<DataType>(value);
}

absl::StatusOr<Dims> ShapeAttr(InferContext& op, absl::string_view name) {
  const std::vector<int64_t> values = op.Ints(name);
  Dims dims(values.begin(), values.end());
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < kUnknownDim; })) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", DimsText(dims), "; want sizes, or -1 where one is not known"));
  }
  if (absl::StatusOr<int64_t> count = ElementCount(dims); !count.ok()) return count.status();
  return dims;
}

absl::StatusOr<int64_t> PositiveAttr(InferContext& op, absl::string_view name) {
  const int64_t value = op.Int(name);
  if (value >= 1) return value;
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; want 1 or more"));
}

OpSchema::InferFunction ShapeFromAttr(std::vector<std::string> shape_tensors) {
  return [shape_tensors = std::move(shape_tensors)](InferContext& op) -> absl::Status {
    ASSIGN_OR_RETURN(const DataType dtype, DataTypeAttr(op, "dtype"));
    for (const std::string& slot : shape_tensors) {
      if (!op.HasInput(slot)) continue;
      op.SetOutput("Out", dtype, std::nullopt);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Dims dims, ShapeAttr(op, "shape"));
    // An empty shape is a scalar's, which the messages cannot distinguish from an unknown one.
    op.SetOutput("Out", dtype, std::nullopt);
    if (!dims.empty()) op.SetOutput("Out", dtype, dims);
    return absl::OkStatus();
  };
}

}  // namespace fixpoint
