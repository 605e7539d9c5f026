#include "runtime/reference/kernels/int8_runtime.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

// Error (kInvalidArgument): the input is absent, or there is none to be had.
absl::StatusOr<const Array*> InputOf(const OpRun& op) {
  if (const Array* input = op.FindInput("Input"); input != nullptr) return input;
  return absl::InvalidArgumentError("there is neither X nor Input; want one of them");
}

// The same for codes of a byte.
absl::StatusOr<const Array*> CodesOf(const OpRun& op) {
  ASSIGN_OR_RETURN(const Array* input, InputOf(op));
  if (IsCodeDtype(input->dtype)) return input;
  return absl::InvalidArgumentError(
      absl::StrCat("Input is ", TypeName(input->dtype), "; want i8 or u8"));
}

absl::StatusOr<float> ScaleOf(const OpRun& op, absl::string_view name) {
  const auto scale = static_cast<float>(op.Float(name));
  if (scale != 0 && std::isfinite(scale)) return scale;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", scale, "; want a finite number other than 0"));
}

// A shift is a code without a sign; only 2.x has some.
absl::StatusOr<float> ShiftOf(const OpRun& op, absl::string_view name) {
  if (op.era() == Era::kFluid) return 0;
  const double shift = op.Float(name);
  if (shift >= 0 && shift <= 255) return static_cast<float>(std::trunc(shift));
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", shift, "; want 0 to 255"));
}

// NaN is the smallest code.
double Saturated(float number, VarType::Type dtype) {
  const CodeRange codes = CodesOfDtype(dtype);
  const auto smallest = static_cast<float>(codes.smallest);
  const auto largest = static_cast<float>(codes.largest);
  return std::isnan(number) ? smallest : std::clamp(std::nearbyintf(number), smallest, largest);
}

absl::Status Requantize(OpRun& op) {
  ASSIGN_OR_RETURN(const Array* x, CodesOf(op));
  ASSIGN_OR_RETURN(const float from, ScaleOf(op, "Scale_in"));
  ASSIGN_OR_RETURN(const float to, ScaleOf(op, "Scale_out"));
  ASSIGN_OR_RETURN(const float shift_in, ShiftOf(op, "Shift_in"));
  ASSIGN_OR_RETURN(const float shift_out, ShiftOf(op, "Shift_out"));
  if (shift_in != 0 && x->dtype != VarType::UINT8) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shift_in is ", shift_in, " and Input is i8; want 0, or u8"));
  }
  const float ratio = to / from;
  const float shift = std::trunc(std::clamp(shift_out - ratio * shift_in, 0.0f, 255.0f));
  Array out = *x;
  if (shift_in != 0 || shift_out != 0) out.dtype = VarType::UINT8;
  for (double& code : out.values) {
    code = Saturated(static_cast<float>(code) * ratio + shift, out.dtype);
  }
  op.SetOutput("Output", std::move(out));
  return absl::OkStatus();
}

}  // namespace

absl::Status QuantizeForOneDnn(OpRun& op) {
  ASSIGN_OR_RETURN(const Array* x, InputOf(op));
  if (op.era() == Era::kPaddle2 && op.Bool("bfloat16")) {
    return absl::UnimplementedError("bfloat16 is true; want codes");
  }
  ASSIGN_OR_RETURN(const float scale, ScaleOf(op, "Scale"));
  ASSIGN_OR_RETURN(const float shift, ShiftOf(op, "Shift"));
  Array out = *x;
  out.dtype = CodeDtype(!op.Bool("is_negative_input") || shift != 0);
  for (double& number : out.values) {
    number = Saturated(static_cast<float>(number) * scale + shift, out.dtype);
  }
  op.SetOutput("Output", std::move(out));
  return absl::OkStatus();
}

absl::Status DequantizeForOneDnn(OpRun& op) {
  ASSIGN_OR_RETURN(const Array* x, CodesOf(op));
  ASSIGN_OR_RETURN(const float scale, ScaleOf(op, "Scale"));
  ASSIGN_OR_RETURN(const float shift, ShiftOf(op, "Shift"));
  const float step = 1.0f / scale;
  Array out = *x;
  out.dtype = VarType::FP32;
  for (double& code : out.values) code = (static_cast<float>(code) - shift) * step;
  op.SetOutput("Output", std::move(out));
  return absl::OkStatus();
}

Kernels Int8RuntimeKernels() { return {{"requantize", Requantize}}; }

}  // namespace fixpoint::reference
