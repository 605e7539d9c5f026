#include "transpiler/lower/rules/affine_parameter.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// Error (kInvalidArgument): an input is no tensor of this type with `count` numbers, one for each
// row or for all codes.
absl::Status CheckNumbers(const Argument& input, const Tensor& tensor, VarType::Type dtype,
                          int64_t count, absl::string_view owner) {
  if (tensor.dtype() == dtype && tensor.size() == count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeInFile(input.op()), ": ", std::string(input.slot_name()), " \"",
                   std::string(input.name()), "\" is ", VarType::Type_Name(tensor.dtype()), " ",
                   DimsText(tensor.dims()), "; want ", VarType::Type_Name(dtype), " [", count,
                   "], one for ", owner));
}

template <typename Number>
absl::Status CheckZeroPoints(const Op& op, absl::Span<const Number> zero_points,
                             const CodeRange& codes) {
  for (const Number zero_point : zero_points) {
    if (IsCode(zero_point, codes)) continue;
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(op), ": ZeroPoint holds ",
                                                   zero_point, "; want codes, ", codes.smallest,
                                                   " to ", codes.largest));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<AffineParameterCodes>> FindAffineParameterCodes(const Argument& input,
                                                                             Lowering& lowering) {
  const Value* value = input.value();
  const Op* op = value != nullptr ? value->op() : nullptr;
  const std::optional<CodeOp> read = op != nullptr ? lowering.CodeOpOf(*op) : std::nullopt;
  if (!read || read->kind != QuantOp::kDequantize || !read->scales_are_steps) return std::nullopt;
  AffineParameterCodes found;
  found.codes = read->input;
  found.scales = read->scale;
  found.zero_points = read->zero_point;
  found.row_axis = read->axis;
  ASSIGN_OR_RETURN(found.tensor, lowering.FindParameter(*found.codes));
  if (found.tensor == nullptr) return std::nullopt;
  const VarType::Type code_dtype = found.tensor->dtype();
  const bool is_unsigned = IsUnsignedDtype(code_dtype);
  if (!IsCodeDtype(code_dtype) || (is_unsigned && found.row_axis)) return std::nullopt;
  ASSIGN_OR_RETURN(found.steps, lowering.FindParameter(*found.scales));
  ASSIGN_OR_RETURN(const Tensor* zero_points, lowering.FindParameter(*found.zero_points));
  if (found.steps == nullptr || zero_points == nullptr) return std::nullopt;

  const std::vector<int64_t>& dims = found.tensor->dims();
  const int axis = found.row_axis.value_or(0);
  if (found.row_axis && (axis < 0 || axis >= static_cast<int64_t>(dims.size()))) {
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(*op), ": quant_axis is ", axis,
                                                   " and the codes are ", DimsText(dims),
                                                   "; want an axis of them"));
  }
  const int64_t count = found.row_axis ? dims[axis] : 1;
  const absl::string_view owner = found.row_axis ? "each row" : "all codes";
  const VarType::Type dtype = found.row_axis ? VarType::INT32 : VarType::FP32;
  RETURN_IF_ERROR(CheckNumbers(*found.scales, *found.steps, VarType::FP32, count, owner));
  RETURN_IF_ERROR(CheckNumbers(*found.zero_points, *zero_points, dtype, count, owner));
  RETURN_IF_ERROR(CheckRanges(*op, found.steps->data<float>()));
  const CodeRange codes = CodesOfByte(is_unsigned);
  if (found.row_axis) {
    RETURN_IF_ERROR(CheckZeroPoints(*op, zero_points->data<int32_t>(), codes));
  } else {
    RETURN_IF_ERROR(CheckZeroPoints(*op, zero_points->data<float>(), codes));
    found.zero_point = static_cast<int32_t>(zero_points->data<float>()[0]);
  }
  return found;
}

}  // namespace fixpoint
