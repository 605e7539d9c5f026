// Averages of codes; maxima move them (move.h):
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   pool2d(X=x) -> (Out=y) {ksize=[2, 2], pooling_type="avg"}
//
//   integer_average_pool2d(X=q, Scales=y.scales) -> (Out=y) {ksize=[2, 2]}
//
// with the scale 2.0 / 255, rounded.

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/codes/averaged_codes.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/move.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

class PoolingRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "pooling"; }
  absl::string_view doc() const override {
    return "An average of codes sums integers, and a maximum is taken of the codes.";
  }
  std::vector<std::string> op_types() const override { return {"pool2d"}; }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const OpAttributes attributes = lowering.AttributesOf(op);
    if (attributes.String("pooling_type") != "avg") return LowerMove(op, lowering);
    const Argument* const x = op.Input("X");
    const Argument* const out = op.Output("Out");
    if (x == nullptr || out == nullptr || IsChannelsLast(attributes.String("data_format"))) {
      return IntegerReason::kAttributes;
    }
    const std::optional<ActivationCodes> codes = lowering.FindCodes(*x);
    if (!codes) return IntegerReason::kNotQuantized;
    const Dims images = DeclaredDims(*codes->codes);
    if (images.size() == 4 && !SumsOfWindowsFit(attributes, {images[2], images[3]})) {
      return IntegerReason::kSumsTooLarge;
    }
    ASSIGN_OR_RETURN(const std::string scales,
                     lowering.AddParameter(absl::StrCat(out->name(), ".scales"), {codes->step()}));
    constexpr char kAverage[] = "integer_average_pool2d";
    OpBuilder average(kAverage);
    average.Input("X", codes->codes->name()).Input("Scales", scales).Output("Out", out->name());
    for (const OpDesc::Attr& attribute :
         AttributesFor(kAverage, attributes,
                       {"ksize", "global_pooling", "strides", "paddings", "padding_algorithm",
                        "exclusive", "adaptive", "ceil_mode"})) {
      average.Attr(attribute);
    }
    codes->AddZeroPoint(average);
    lowering.Replace(op, average.Build());
    return IntegerReason::kOnIntegers;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakePoolingRule() { return std::make_unique<PoolingRule>(); }

}  // namespace fixpoint
