// The ops of lowered programs. All that they give is exact, to the bit.

#include "tests/random/generators.h"
#include "tests/random/generators/broadcast.h"
#include "tests/random/generators/epilogues.h"
#include "tests/random/generators/matrices.h"
#include "tests/random/generators/windows.h"

namespace fixpoint::random_cases {
namespace {

std::string ZeroPointText(const Coding& coding, const char* attribute = "input_zero_point") {
  return coding.zero_point == 0 ? "" : absl::StrCat(", ", attribute, "=", coding.zero_point);
}

// Codes of weights, or of a second activation.
Coding SomeRightCoding(CaseMaker& c) {
  return c.OneIn(3) ? SomeCoding(c, /*may_be_affine=*/true) : SomeWeightCoding(c);
}

// Two operands of a product.
struct Operands {
  Coding left;
  Coding right;
  bool are_wide = false;  // one of them, or both; neither has a zero point then
};

Operands SomeOperands(CaseMaker& c) {
  return {SomeCoding(c, /*may_be_affine=*/true), SomeRightCoding(c)};
}

Operands SomeWideOperands(CaseMaker& c) {
  Operands operands = {SomeCoding(c, /*may_be_affine=*/false), SomeWeightCoding(c), true};
  const int which = c.Between(0, 2);
  const auto widen = [&c](Coding& coding) {
    coding.dtype = VarType::INT16;
    coding.high = (1 << c.Between(8, 15)) - 1;
    coding.low = c.OneIn(3) ? -coding.high - 1 : -coding.high;
  };
  if (which != 0) widen(operands.left);
  if (which != 1) widen(operands.right);
  return operands;
}

// The inputs of a product besides its operands, in text to stand after these.
std::string SomeScalesOf(CaseMaker& c, const Operands& operands, int64_t channels, int64_t taps) {
  if (!operands.are_wide) return SomeScales(c, channels, taps);
  return absl::StrCat(", Scales=", c.Numbers({c.OneIn(3) ? 1 : channels}, 1e-6f, 1e-4f));
}

Generator Convolution(const std::string& type, Direction direction) {
  return [=](CaseMaker& c) {
    ConvolutionOptions options;
    options.direction = direction;
    options.is_depthwise = c.OneIn(4);
    const bool is_wide = direction == Direction::kForward && c.OneIn(4);
    options.may_be_channels_last = is_wide;
    const SomeConvolution drawn = DrawConvolution(c, options);
    const Operands codes = is_wide ? SomeWideOperands(c) : SomeOperands(c);
    const Coding& coding = codes.left;
    const Coding& weights = codes.right;
    const std::string input = c.Codes(coding.dtype, drawn.input, coding.low, coding.high);
    const std::string filter = c.Codes(weights.dtype, drawn.filter, weights.low, weights.high);
    const std::string scales = SomeScalesOf(c, codes, drawn.filters, drawn.taps);
    const std::string head = absl::StrCat(type, "(Input=", input, ", Filter=", filter, scales);
    const std::string tail =
        absl::StrCat(") -> (Output=out) {", drawn.attributes, ZeroPointText(coding),
                     ZeroPointText(weights, "weight_zero_point"));
    const Dims dims = c.OutputDims(absl::StrCat(head, tail, "}"));
    const SomeEpilogue epilogue = DrawEpilogue(c, dims, drawn.is_channels_last ? 3 : 1);
    c.Op(head, epilogue.operands, tail, epilogue.attributes, "}");
    c.Exact();
  };
}

Generator Product(const std::string& type, const std::string& drawn_as) {
  return [=](CaseMaker& c) {
    const bool is_row_wise = type == "integer_row_wise_fc";
    const SomeProduct drawn = DrawProduct(c, drawn_as);
    Operands codes = !is_row_wise && c.OneIn(4) ? SomeWideOperands(c) : SomeOperands(c);
    if (is_row_wise) codes.right = SomeWeightCoding(c);
    const Coding& coding = codes.left;
    const Coding& weights = codes.right;
    const std::string x = c.Codes(coding.dtype, drawn.x, coding.low, coding.high);
    const std::string y = c.Codes(weights.dtype, drawn.y, weights.low, weights.high);
    std::string scales = is_row_wise
                             ? SomeScales(c, drawn.columns, drawn.inner, /*may_be_one=*/false)
                             : SomeScalesOf(c, codes, drawn.columns, drawn.inner);
    if (is_row_wise) {
      absl::StrAppend(&scales, ", Offsets=",
                      c.Integers(VarType::INT32, {drawn.columns}, weights.low, weights.high));
    }
    const std::string head = absl::StrCat(type, "(X=", x, ", Y=", y, scales);
    const std::string attributes =
        is_row_wise ? absl::StrCat("x_num_col_dims=",
                                   drawn.attributes.substr(std::string("in_num_col_dims=").size()))
                    : drawn.attributes;
    const std::string tail = absl::StrCat(") -> (Out=out) {", attributes, ZeroPointText(coding),
                                          ZeroPointText(weights, "weight_zero_point"));
    const Dims dims = c.OutputDims(absl::StrCat(head, tail, "}"));
    const SomeEpilogue epilogue = DrawEpilogue(c, dims, static_cast<int>(dims.size()) - 1);
    c.Op(head, epilogue.operands, tail, epilogue.attributes, "}");
    c.Exact();
  };
}

void AveragePool(CaseMaker& c) {
  const SomePooling drawn = DrawPooling(c, /*may_be_channels_last=*/false);
  const Coding coding = SomeCoding(c, /*may_be_affine=*/true);
  const std::string x = c.Codes(coding.dtype, drawn.input, coding.low, coding.high);
  const std::string scale = c.Floats({1}, {c.OneIn(2) ? 0.0078125f : c.Between(0.001f, 0.02f)});
  const std::string head = absl::StrCat("integer_average_pool2d(X=", x, ", Scales=", scale);
  const std::string tail =
      absl::StrCat(") -> (Out=out) {", drawn.attributes, ZeroPointText(coding));
  const SomeEpilogue epilogue =
      DrawEpilogue(c, c.OutputDims(absl::StrCat(head, tail, "}")), /*axis=*/1);
  c.Op(head, epilogue.operands, tail, epilogue.attributes, "}");
  c.Exact();
}

void Multiply(CaseMaker& c) {
  SomeBroadcast drawn = DrawBroadcast(c);
  // What images are multiplied with has to lie as they do.
  if (drawn.x.size() == 4 && drawn.y.size() < 4) {
    drawn.y = {drawn.x[1]};
    drawn.axis = 1;
  }
  const Coding x_coding = SomeCoding(c, /*may_be_affine=*/true);
  const Coding y_coding = SomeCoding(c, /*may_be_affine=*/true);
  const std::string x = c.Codes(x_coding.dtype, drawn.x, x_coding.low, x_coding.high);
  const std::string y = c.Codes(y_coding.dtype, drawn.y, y_coding.low, y_coding.high);
  const std::string scale = c.Floats({1}, {c.OneIn(2) ? 0.0078125f : c.Between(0.00001f, 0.02f)});
  const std::string head =
      absl::StrCat("integer_elementwise_mul(X=", x, ", Y=", y, ", Scales=", scale);
  const std::string tail =
      absl::StrCat(") -> (Out=out) {axis=", drawn.axis, ZeroPointText(x_coding),
                   ZeroPointText(y_coding, "weight_zero_point"));
  const Dims dims = c.OutputDims(absl::StrCat(head, tail, "}"));
  const int channel_axis = dims.size() == 4 ? 1 : static_cast<int>(dims.size()) - 1;
  const SomeEpilogue epilogue = DrawEpilogue(c, dims, channel_axis);
  c.Op(head, epilogue.operands, tail, epilogue.attributes, "}");
  c.Exact();
}

Generator Lookup(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims table = {c.Between(1, 12), c.Between(1, 40)};
    Dims ids = c.SomeDims(1, 2, 10);
    if (type == "integer_lookup_table") ids.push_back(1);
    const Coding coding = SomeWeightCoding(c);
    const std::string w = c.Codes(coding.dtype, table, coding.low, coding.high);
    const std::string id = c.Integers(VarType::INT64, ids, 0, table[0] - 1);
    const Dims rows = {c.OneIn(3) ? 1 : table[0]};
    const std::string scales = c.Numbers(rows, 0.01f, 2);
    const std::string offsets =
        c.OneIn(2)
            ? ""
            : absl::StrCat(", Offsets=", c.Integers(VarType::INT32, rows, coding.low, coding.high));
    c.Op(type, "(W=", w, ", Ids=", id, ", Scales=", scales, offsets,
         ") -> (Out=out) {padding_idx=", c.OneIn(2) ? -1 : c.Between(0, 3),
         "L, largest_code=", coding.high, "}");
    c.Exact();
  };
}

void Quantize(CaseMaker& c) {
  const Coding coding = SomeCoding(c, /*may_be_affine=*/true);
  const std::string x = c.AnyNumbers(c.SomeDims(1, 4));
  c.Op("integer_quantize(X=", x,
       ") -> (Out=out) {multiplier=", FloatText(c.OneIn(2) ? 16 : c.Between(1.0f, 100.0f)),
       ", smallest_code=", coding.low, ", out_dtype=", static_cast<int>(coding.dtype),
       ", out_range=1.0, out_largest_code=", coding.high, ", out_zero_point=", coding.zero_point,
       "}");
  c.Exact();
}

std::string StepText(CaseMaker& c, const Coding& coding) {
  return absl::StrCat(
      "range=", FloatText(c.Between(0.01f, 9.0f)), ", largest_code=", coding.high,
      coding.zero_point != 0 || c.OneIn(4) ? absl::StrCat(", zero_point=", coding.zero_point) : "");
}

void Dequantize(CaseMaker& c) {
  const Coding coding = SomeCoding(c, /*may_be_affine=*/true);
  const std::string x = c.Codes(coding.dtype, c.SomeDims(1, 4), coding.low, coding.high);
  c.Op("integer_dequantize(X=", x, ") -> (Out=out) {", StepText(c, coding), "}");
  c.Exact();
}

void Add(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const Coding coding = SomeCoding(c, /*may_be_affine=*/true);
  const std::string x = c.Numbers(dims);
  const std::string y = c.Codes(coding.dtype, dims, coding.low, coding.high);
  c.Op("integer_add(X=", x, ", Y=", y, ") -> (Out=out) {", StepText(c, coding), "}");
  c.Exact();
}

void Table(CaseMaker& c) {
  const Coding coding = SomeCoding(c, /*may_be_affine=*/false);
  const std::string x = c.Codes(coding.dtype, c.SomeDims(1, 4), coding.low, coding.high);
  const Coding stored = SomeCoding(c, /*may_be_affine=*/true);
  const bool stores_codes = c.OneIn(2);
  const std::string table =
      stores_codes ? c.Codes(stored.dtype, {256}, stored.low, stored.high) : c.Numbers({256});
  c.Op("integer_table(X=", x, ", Table=", table, ") -> (Out=out) {",
       stores_codes ? absl::StrCat("out_dtype=", static_cast<int>(stored.dtype),
                                   ", out_range=1.0, out_largest_code=", stored.high)
                    : "",
       "}");
  c.Exact();
}

}  // namespace

Generators LoweredGenerators() {
  return {
      {"integer_conv2d", Convolution("integer_conv2d", Direction::kForward)},
      {"integer_conv2d_transpose", Convolution("integer_conv2d_transpose", Direction::kTransposed)},
      {"integer_mul", Product("integer_mul", "mul")},
      {"integer_matmul", Product("integer_matmul", "matmul_v2")},
      {"integer_row_wise_fc", Product("integer_row_wise_fc", "fc")},
      {"integer_average_pool2d", AveragePool},
      {"integer_elementwise_mul", Multiply},
      {"integer_lookup_table", Lookup("integer_lookup_table")},
      {"integer_lookup_table_v2", Lookup("integer_lookup_table_v2")},
      {"integer_quantize", Quantize},
      {"integer_dequantize", Dequantize},
      {"integer_add", Add},
      {"integer_table", Table}};
}

}  // namespace fixpoint::random_cases
