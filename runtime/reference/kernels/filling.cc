// Constants, copies and casts.

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/shape_inputs.h"

namespace fixpoint::reference {
namespace {

// str_value takes precedence over value if it is not empty.
absl::StatusOr<double> FillValue(const OpRun& op) {
  const std::string text = op.String("str_value");
  if (text.empty()) return op.Float("value");
  double value = 0;
  if (absl::SimpleAtod(text, &value)) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("str_value is \"", text, "\"; want a number, \"inf\", \"-inf\" or \"nan\""));
}

Array Filled(VarType::Type dtype, DimsView dims, double value) {
  Array array(dtype, dims);
  std::fill(array.values.begin(), array.values.end(), value);
  return array;
}

// ValueTensor [1] takes precedence over both attributes.
absl::Status FillConstant(OpRun& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  ASSIGN_OR_RETURN(const Dims dims, ShapeOf(op));
  ASSIGN_OR_RETURN(double value, FillValue(op));
  RETURN_IF_ERROR(op.CheckSize("ValueTensor", 1));
  if (const Array* tensor = op.FindInput("ValueTensor"); tensor != nullptr) value = (*tensor)[0];
  op.SetOutput("Out", Filled(dtype, dims, value));
  return absl::OkStatus();
}

// `shape`, but with Input's size on one axis; for sequences, that size is their number.
absl::Status FillConstantBatchSizeLike(OpRun& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  ASSIGN_OR_RETURN(const double value, FillValue(op));
  const Array& input = op.Input("Input");
  const std::vector<int64_t> shape = op.Ints("shape");
  Dims dims(shape.begin(), shape.end());
  ASSIGN_OR_RETURN(const int from, NormalizeAxis(op.Int("input_dim_idx"), input.rank()));
  ASSIGN_OR_RETURN(const int to,
                   NormalizeAxis(op.Int("output_dim_idx"), static_cast<int>(dims.size())));
  const bool counts_sequences = from == 0 && !input.lod.empty() && !input.lod.back().empty();
  dims[to] =
      counts_sequences ? static_cast<int64_t>(input.lod.back().size()) - 1 : input.dims[from];
  RETURN_IF_ERROR(CheckSizes(dims));
  op.SetOutput("Out", Filled(dtype, dims, value));
  return absl::OkStatus();
}

absl::Status FillZerosLike(OpRun& op) {
  op.SetOutput("Out", Array(op.Input("X").dtype, op.Input("X").dims));
  return absl::OkStatus();
}

absl::Status FillAnyLike(OpRun& op) {
  VarType::Type dtype = op.Input("X").dtype;
  if (op.Int("dtype") >= 0) {
    ASSIGN_OR_RETURN(dtype, op.DataType("dtype"));
  }
  op.SetOutput("Out", Filled(dtype, op.Input("X").dims, op.Float("value")));
  return absl::OkStatus();
}

// The values of the list that goes with dtype.
std::vector<double> AssignedValues(const OpRun& op, VarType::Type dtype) {
  if (dtype == VarType::FP32) return op.Floats("fp32_values");
  if (dtype == VarType::FP64) return op.Floats("fp64_values");
  const std::vector<int64_t> integers = op.Ints(dtype == VarType::BOOL    ? "bool_values"
                                                : dtype == VarType::INT64 ? "int64_values"
                                                                          : "int32_values");
  return {integers.begin(), integers.end()};
}

absl::Status AssignValue(OpRun& op) {
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.DataType("dtype"));
  ASSIGN_OR_RETURN(const Dims dims, ShapeOf(op));
  Array out(dtype, dims);
  std::vector<double> values = AssignedValues(op, dtype);
  if (values.size() != out.values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("shape is ", DimsText(dims), " and there are ",
                                                   values.size(), " values of its dtype; want ",
                                                   out.values.size()));
  }
  out.values = std::move(values);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Start, Start + Step, ... before End.
absl::Status Range(OpRun& op) {
  for (const char* slot : {"Start", "End", "Step"}) RETURN_IF_ERROR(op.CheckSize(slot, 1));
  const double start = op.Input("Start")[0];
  const double end = op.Input("End")[0];
  const double step = op.Input("Step")[0];
  const double count = std::ceil((end - start) / step);
  constexpr double kMost = 1LL << 53;
  if (step == 0 || !(count <= kMost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range from ", start, " to ", end, " in steps of ", step, " has no end"));
  }
  Array out(op.Input("Start").dtype, Dims{static_cast<int64_t>(std::max(count, 0.0))});
  for (int64_t i = 0; i < out.size(); ++i) out[i] = start + i * step;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Shape(OpRun& op) {
  const Dims& dims = op.Input("Input").dims;
  Array out(VarType::INT32, Dims{static_cast<int64_t>(dims.size())});
  out.values.assign(dims.begin(), dims.end());
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status Assign(OpRun& op) {
  const Array* x = op.FindInput("X");
  if (x == nullptr) return absl::InvalidArgumentError("input X is absent; want a variable");
  op.SetOutput("Out", *x);
  return absl::OkStatus();
}

absl::Status AssignGradient(OpRun& op) {
  op.SetOutput("X@GRAD", op.Input("Out@GRAD"));
  return absl::OkStatus();
}

absl::Status Cast(OpRun& op) {
  Array out = op.Input("X");
  ASSIGN_OR_RETURN(out.dtype, op.DataType("out_dtype"));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels FillingKernels() {
  return {
      {"fill_constant", FillConstant},
      {"fill_constant_batch_size_like", FillConstantBatchSizeLike},
      {"fill_zeros_like", FillZerosLike},
      {"fill_any_like", FillAnyLike},
      {"assign_value", AssignValue},
      {"range", Range},
      {"shape", Shape},
      {"assign", Assign},
      {"rnn_memory_helper", Assign},
      {"rnn_memory_helper_grad", AssignGradient},
      {"cast", Cast},
  };
}

}  // namespace fixpoint::reference
