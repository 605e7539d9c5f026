// Rows of a table of codes, with the range of each row. Whatever the ids are, only rows that are
// looked up are dequantized:
//
//   dequantize_linear(Scale=w.scale, X=w.int8, ZeroPoint=...) -> (Y=w) {quant_axis=0}
//   lookup_table_v2(Ids=ids, W=w) -> (Out=y) {padding_idx=0}
//
//   integer_lookup_table_v2(Ids=ids, Scales=w.scale, W=w.int8) -> (Out=y)
//     {largest_code=127, padding_idx=0}
//
// and of codes with a zero point for each row, with the steps between codes for scales:
//
//   fake_row_wise_dequantize(Scale=w.scale, X=w.int8, ZeroPoint=w.zero_point) -> (Out=w)
//
//   integer_lookup_table_v2(Ids=ids, Offsets=w.zero_point, Scales=w.scale, W=w.int8) -> (Out=y)
//     {largest_code=1}

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/affine_parameter.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

class LookupRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "lookup"; }
  absl::string_view doc() const override {
    return "Rows of a table of codes are dequantized as they are looked up.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith(
        [](const OpTraits& traits) { return traits.looks_up_rows && !traits.is_on_integers; });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const w = op.Input("W");
    const Argument* const ids = op.Input("Ids");
    const Argument* const out = op.Output("Out");
    if (w == nullptr || ids == nullptr || out == nullptr) return IntegerReason::kAttributes;
    const std::string type = absl::StrCat("integer_", op.type());
    OpBuilder integers(type);
    integers.Input("Ids", ids->name()).Output("Out", out->name());
    for (const OpDesc::Attr& attribute :
         AttributesFor(type, lowering.AttributesOf(op), {"padding_idx"})) {
      integers.Attr(attribute);
    }
    ASSIGN_OR_RETURN(const std::optional<AffineParameterCodes> rows,
                     FindAffineParameterCodes(*w, lowering));
    if (rows && rows->row_axis) {
      if (*rows->row_axis != 0) return IntegerReason::kGranularity;
      integers.Input("W", rows->codes->name())
          .Input("Scales", rows->scales->name())
          .Input("Offsets", rows->zero_points->name())
          .IntAttr("largest_code", 1);
      lowering.Replace(op, integers.Build());
      return IntegerReason::kOnIntegers;
    }
    IntegerReason reason = IntegerReason::kAttributes;
    ASSIGN_OR_RETURN(const std::optional<ParameterCodes> table,
                     lowering.FindParameterCodes(*w, &reason));
    if (!table) return reason;
    if (table->channel_axis > 0) return IntegerReason::kGranularity;
    integers.Input("W", table->codes->name())
        .Input("Scales", table->scale->name())
        .IntAttr("largest_code", table->largest_code);
    lowering.Replace(op, integers.Build());
    return IntegerReason::kOnIntegers;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeLookupRule() { return std::make_unique<LookupRule>(); }

}  // namespace fixpoint
