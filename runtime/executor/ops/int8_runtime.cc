#include "runtime/executor/ops/int8_runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

absl::Status CheckInput(const OpPlanner& op) {
  if (op.HasInput("Input")) return absl::OkStatus();
  return absl::InvalidArgumentError("there is neither X nor Input; want one of them");
}

// The same where it is to hold codes of a byte.
absl::Status CheckCodes(const OpPlanner& op) {
  RETURN_IF_ERROR(CheckInput(op));
  const VarType::Type dtype = op.InputType("Input").dtype;
  if (IsCodeDtype(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Input is ", TypeName(dtype), "; want i8 or u8"));
}

absl::StatusOr<float> ScaleOf(const OpPlanner& op, absl::string_view name) {
  const float scale = op.Number(name);
  if (scale != 0 && std::isfinite(scale)) return scale;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", scale, "; want a finite number other than 0"));
}

// A shift is a code without a sign; only 2.x has some.
absl::StatusOr<float> ShiftOf(const OpPlanner& op, absl::string_view name) {
  if (op.era() == Era::kFluid) return 0;
  const float shift = op.Number(name);
  if (shift >= 0 && shift <= 255) return std::trunc(shift);
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", shift, "; want 0 to 255"));
}

// Calls f with a value of the C++ type of codes of a byte.
template <typename F>
absl::Status WithCodeType(VarType::Type dtype, F f) {
  return IsUnsignedDtype(dtype) ? f(uint8_t()) : f(int8_t());
}

// The code of a number, half to even; NaN is the smallest.
template <typename Code>
Code Saturated(float number) {
  constexpr auto kSmallest = static_cast<float>(std::numeric_limits<Code>::lowest());
  constexpr auto kLargest = static_cast<float>(std::numeric_limits<Code>::max());
  return static_cast<Code>(
      std::isnan(number) ? kSmallest : std::clamp(std::nearbyintf(number), kSmallest, kLargest));
}

// Adds a step that computes each element of Output from that of Input at its place.
template <typename From, typename To, typename F>
void AddFunction(OpPlanner& op, Buffer x, VarType::Type dtype, F function) {
  const Layout layout = op.InputLayout("Input");
  const Buffer out = op.WriteAs("Output", {dtype, op.InputDims("Input")}, layout);
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                const absl::Span<From> from = run.Of<From>(x);
                std::transform(from.begin(), from.end(), run.Of<To>(out).begin(), function);
                return absl::OkStatus();
              }});
}

absl::Status PlanRequantize(OpPlanner& op) {
  RETURN_IF_ERROR(CheckCodes(op));
  const VarType::Type dtype = op.InputType("Input").dtype;
  ASSIGN_OR_RETURN(const float from, ScaleOf(op, "Scale_in"));
  ASSIGN_OR_RETURN(const float to, ScaleOf(op, "Scale_out"));
  ASSIGN_OR_RETURN(const float shift_in, ShiftOf(op, "Shift_in"));
  ASSIGN_OR_RETURN(const float shift_out, ShiftOf(op, "Shift_out"));
  if (shift_in != 0 && dtype != VarType::UINT8) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shift_in is ", shift_in, " and Input is i8; want 0, or u8"));
  }
  const float ratio = to / from;
  const float shift = std::trunc(std::clamp(shift_out - ratio * shift_in, 0.0f, 255.0f));
  const VarType::Type out_dtype = shift_in != 0 || shift_out != 0 ? VarType::UINT8 : dtype;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("Input", dtype, op.InputLayout("Input")));
  return WithCodeType(dtype, [&](auto from_code) {
    return WithCodeType(out_dtype, [&](auto to_code) {
      using From = decltype(from_code);
      using To = decltype(to_code);
      AddFunction<From, To>(op, x, out_dtype, [=](From code) {
        return Saturated<To>(static_cast<float>(code) * ratio + shift);
      });
      return absl::OkStatus();
    });
  });
}

}  // namespace

absl::Status PlanQuantizeForOneDnn(OpPlanner& op) {
  RETURN_IF_ERROR(CheckInput(op));
  if (op.era() == Era::kPaddle2 && op.attributes().Bool("bfloat16")) {
    return absl::UnimplementedError("bfloat16 is true; want codes");
  }
  ASSIGN_OR_RETURN(const float scale, ScaleOf(op, "Scale"));
  ASSIGN_OR_RETURN(const float shift, ShiftOf(op, "Shift"));
  const VarType::Type dtype = CodeDtype(!op.attributes().Bool("is_negative_input") || shift != 0);
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("Input", op.InputLayout("Input")));
  return WithCodeType(dtype, [&](auto code) {
    using Code = decltype(code);
    AddFunction<float, Code>(op, x, dtype,
                             [=](float number) { return Saturated<Code>(number * scale + shift); });
    return absl::OkStatus();
  });
}

absl::Status PlanDequantizeForOneDnn(OpPlanner& op) {
  RETURN_IF_ERROR(CheckCodes(op));
  const VarType::Type dtype = op.InputType("Input").dtype;
  ASSIGN_OR_RETURN(const float scale, ScaleOf(op, "Scale"));
  ASSIGN_OR_RETURN(const float shift, ShiftOf(op, "Shift"));
  const float step = 1.0f / scale;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("Input", dtype, op.InputLayout("Input")));
  return WithCodeType(dtype, [&](auto code) {
    using Code = decltype(code);
    AddFunction<Code, float>(op, x, VarType::FP32, [=](Code number) {
      return (static_cast<float>(number) - shift) * step;
    });
    return absl::OkStatus();
  });
}

OpPlans Int8RuntimePlans() { return {{"requantize", PlanRequantize}}; }

}  // namespace fixpoint::executor
