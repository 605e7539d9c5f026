#include "transpiler/lower/rules/row_codes.h"

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// One for each row. Error (kInvalidArgument): it is no such tensor.
absl::Status CheckOfRows(const Op& op, const Argument& input, const Tensor* tensor,
                         VarType::Type dtype, int64_t rows) {
  if (tensor != nullptr && tensor->dtype() == dtype && tensor->size() == rows) {
    return absl::OkStatus();
  }
  const std::string held = tensor == nullptr ? "no parameter"
                                             : absl::StrCat(VarType::Type_Name(tensor->dtype()),
                                                            " ", DimsText(tensor->dims()));
  return absl::InvalidArgumentError(absl::StrCat(
      DescribeInFile(op), ": ", std::string(input.slot_name()), " \"", std::string(input.name()),
      "\" is ", held, "; want ", VarType::Type_Name(dtype), " [", rows, "], one for each row"));
}

}  // namespace

absl::StatusOr<std::optional<ParameterRowCodes>> FindParameterRowCodes(const Argument& input,
                                                                       Lowering& lowering) {
  const Value* value = input.value();
  const Op* op = value != nullptr ? value->op() : nullptr;
  const std::optional<CodeOp> read = op != nullptr ? lowering.CodeOpOf(*op) : std::nullopt;
  if (!read || read->kind != QuantOp::kDequantize || !read->scales_are_steps || !read->axis) {
    return std::nullopt;
  }
  ParameterRowCodes found;
  found.codes = read->input;
  found.scales = read->scale;
  found.zero_points = read->zero_point;
  ASSIGN_OR_RETURN(found.tensor, lowering.FindParameter(*found.codes));
  if (found.tensor == nullptr || found.tensor->dtype() != VarType::INT8) return std::nullopt;
  const std::vector<int64_t>& dims = found.tensor->dims();
  const int axis = *read->axis;
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(*op), ": quant_axis is ", axis,
                                                   " and the codes are ", DimsText(dims),
                                                   "; want an axis of them"));
  }
  found.axis = axis;
  ASSIGN_OR_RETURN(found.steps, lowering.FindParameter(*found.scales));
  ASSIGN_OR_RETURN(const Tensor* zero_points, lowering.FindParameter(*found.zero_points));
  RETURN_IF_ERROR(CheckOfRows(*op, *found.scales, found.steps, VarType::FP32, dims[axis]));
  RETURN_IF_ERROR(CheckOfRows(*op, *found.zero_points, zero_points, VarType::INT32, dims[axis]));
  RETURN_IF_ERROR(CheckRanges(*op, found.steps->data<float>()));
  const CodeRange codes = CodesOfByte(/*is_unsigned=*/false);
  for (const int32_t zero_point : zero_points->data<int32_t>()) {
    if (IsCode(zero_point, codes)) continue;
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(*op), ": ZeroPoint holds ",
                                                   zero_point, "; want codes, ", codes.smallest,
                                                   " to ", codes.largest));
  }
  return found;
}

}  // namespace fixpoint
