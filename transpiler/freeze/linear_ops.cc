#include "transpiler/freeze/linear_ops.h"

#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {
namespace {

OpDesc MakeLinear(absl::string_view type, const QuantizationSite& site, absl::string_view x,
                  absl::string_view scale, absl::string_view zero_point, absl::string_view y) {
  return OpBuilder(type)
      .Input("Scale", scale)
      .Input("X", x)
      .Input("ZeroPoint", zero_point)
      .Output("Y", y)
      .Attr(MakeIntAttr("bit_length", site.codes.bits))
      .Attr(MakeBoolAttr("is_test", true))
      .Attr(MakeBoolAttr("only_observer", false))
      .Attr(MakeIntAttr("quant_axis", site.axis))
      .Attr(MakeIntAttr("round_type", RoundTypeOf(site.codes.rounding)))
      .Build();
}

}  // namespace

OpDesc MakeQuantizeLinear(const QuantizationSite& site, absl::string_view x,
                          absl::string_view scale, absl::string_view zero_point,
                          absl::string_view y) {
  return MakeLinear(kQuantizeLinear, site, x, scale, zero_point, y);
}

OpDesc MakeDequantizeLinear(const QuantizationSite& site, absl::string_view x,
                            absl::string_view scale, absl::string_view zero_point,
                            absl::string_view y) {
  return MakeLinear(kDequantizeLinear, site, x, scale, zero_point, y);
}

OpDesc MakeQuantizeAffine(const QuantizationSite& site, absl::string_view x,
                          absl::string_view scale, absl::string_view zero_point,
                          absl::string_view out) {
  // In test mode, it follows no range and passes on what it reads.
  return OpBuilder("fake_quantize_moving_average_min_max")
      .Input("InScale", scale)
      .Input("InZeroPoint", zero_point)
      .Input("X", x)
      .Output("Out", out)
      .Output("OutScale", scale)
      .Output("OutZeroPoint", zero_point)
      .Attr(MakeIntAttr("bit_length", site.codes.bits))
      .Attr(MakeBoolAttr("unsigned_codes", site.codes.is_unsigned))
      .Attr(MakeIntAttr("round_type", RoundTypeOf(site.codes.rounding)))
      .Attr(MakeBoolAttr("is_test", true))
      .Build();
}

OpDesc MakeDequantizeAffine(absl::string_view x, absl::string_view scale,
                            absl::string_view zero_point, absl::string_view out) {
  return OpBuilder("fake_dequantize_affine")
      .Input("Scale", scale)
      .Input("X", x)
      .Input("ZeroPoint", zero_point)
      .Output("Out", out)
      .Build();
}

OpDesc MakeLegacyDequantize(const QuantizationSite& site, absl::string_view x,
                            absl::string_view scale, absl::string_view out) {
  if (site.axis < 0) {
    return OpBuilder("fake_dequantize_max_abs")
        .Input("Scale", scale)
        .Input("X", x)
        .Output("Out", out)
        .Attr(MakeFloatAttr("max_range", static_cast<float>(LargestCode(site.codes.bits))))
        .Build();
  }
  return OpBuilder("fake_channel_wise_dequantize_max_abs")
      .Input("Scales", scale)
      .Input("X", x)
      .Output("Out", out)
      .Attr(MakeIntAttr("quant_axis", site.axis))
      .Attr(MakeIntsAttr("quant_bits", {site.codes.bits}))
      .Build();
}

OpDesc InPlaceOf(const Op& replaced, absl::string_view pass, OpDesc op) {
  *op.add_attrs() = MakeIntAttr("op_role", replaced.role());
  *op.add_attrs() = MakeStringAttr(kInsertedByAttr, pass);
  return op;
}

}  // namespace fixpoint
