// Each invariant of lowered programs, broken by an edit after the lowering.

#include "transpiler/lower/lowered_invariants.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/wrong_pass.h"
#include "transpiler/lower/lower.h"
#include "transpiler/lower/lower_context.h"
#include "transpiler/lower/lower_passes.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {
namespace {

// A convolution, a maximum that moves its codes, and who reads those: an average, a second
// convolution with a residual, and a fetch op.
constexpr char kPortable[] = R"(
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var zero i32[1] persistable
  var zeros i32[2] persistable
  var s f32[1] persistable
  var t f32[1] persistable
  var w.int8 i8[2,1,1,1] persistable
  var w.s f32[2] persistable
  var u.int8 i8[2,2,1,1] persistable
  var image f32[-1,1,4,4]
  var image.q f32[-1,1,4,4]
  var image.d f32[-1,1,4,4]
  var w f32[2,1,1,1]
  var y f32[-1,2,4,4]
  var r f32[-1,2,4,4]
  var p f32[-1,2,2,2]
  var p.q f32[-1,2,2,2]
  var p.d f32[-1,2,2,2]
  var u f32[2,2,1,1]
  var z f32[-1,2,2,2]
  var sum f32[-1,2,2,2]
  var mean f32[-1,2,1,1]
  var square f32[-1,2,2,2]
  feed(X=feed) -> (Out=image) {col=0}
  quantize_linear(Scale=s, X=image, ZeroPoint=zero) -> (Y=image.q) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=image.q, ZeroPoint=zero) -> (Y=image.d) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=w.s, X=w.int8, ZeroPoint=zeros) -> (Y=w) {bit_length=8, quant_axis=0, round_type=0}
  conv2d(Filter=w, Input=image.d) -> (Output=y)
  relu(X=y) -> (Out=r)
  pool2d(X=r) -> (Out=p) {pooling_type="max", ksize=[2, 2], strides=[2, 2]}
  quantize_linear(Scale=t, X=p, ZeroPoint=zero) -> (Y=p.q) {bit_length=9, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=t, X=p.q, ZeroPoint=zero) -> (Y=p.d) {bit_length=9, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=w.s, X=u.int8, ZeroPoint=zeros) -> (Y=u) {bit_length=8, quant_axis=0, round_type=0}
  conv2d(Filter=u, Input=p.d) -> (Output=z)
  elementwise_add(X=p.d, Y=z) -> (Out=sum)
  pool2d(X=p.d) -> (Out=mean) {pooling_type="avg", ksize=[2, 2]}
  elementwise_mul(X=p.d, Y=p.d) -> (Out=square)
  fetch(X=sum) -> (Out=fetch) {col=0}
  fetch(X=mean) -> (Out=fetch) {col=1}
  fetch(X=p.d) -> (Out=fetch) {col=2}
  fetch(X=square) -> (Out=fetch) {col=3}
)";
constexpr char kParameters[] =
    "zero i32[1] 0\nzeros i32[2] 0 0\ns f32[1] 127\nt f32[1] 255\nw.int8 i8[2,1,1,1] 127 64\nw.s "
    "f32[2] 127 63.5\n"
    "u.int8 i8[2,2,1,1] 1 2 3 4\n";

// A convolution of affine codes, and a residual of them.
constexpr char kAffine[] = R"(
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var zero i32[1] persistable
  var s f32[1] persistable
  var s.z f32[1] persistable
  var w.int8 i8[1,1,1,1] persistable
  var w.s f32[1] persistable
  var image f32[-1,1,4,4]
  var q f32[-1,1,4,4]
  var d f32[-1,1,4,4]
  var w f32[1,1,1,1]
  var y f32[-1,1,4,4]
  var sum f32[-1,1,4,4]
  var m f32[-1,1,4,4]
  feed(X=feed) -> (Out=image) {col=0}
  fake_quantize_moving_average_min_max(X=image, InScale=s, InZeroPoint=s.z) -> (Out=q, OutScale=s, OutZeroPoint=s.z) {bit_length=8, unsigned_codes=true, round_type=0, is_test=true}
  fake_dequantize_affine(X=q, Scale=s, ZeroPoint=s.z) -> (Out=d)
  dequantize_linear(Scale=w.s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=0, round_type=0}
  conv2d(Filter=w, Input=d) -> (Output=y)
  elementwise_add(X=y, Y=d) -> (Out=sum)
  matmul_v2(X=d, Y=d) -> (Out=m) {}
  fetch(X=sum) -> (Out=fetch) {col=0}
  fetch(X=d) -> (Out=fetch) {col=1}
  fetch(X=m) -> (Out=fetch) {col=2}
)";
constexpr char kAffineParameters[] =
    "zero i32[1] 0\ns f32[1] 0.25\ns.z f32[1] 64\nw.int8 i8[1,1,1,1] 127\nw.s f32[1] 127\n";

// Rows of a table, and a product with columns, that have a zero point each.
constexpr char kRows[] = R"(
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var zero i32[1] persistable
  var s f32[1] persistable
  var w.int8 i8[2,2] persistable
  var w.s f32[2] persistable
  var w.z i32[2] persistable
  var v.int8 i8[2,2] persistable
  var ids i64[-1]
  var w f32[2,2]
  var x f32[-1,2]
  var x.q f32[-1,2]
  var x.d f32[-1,2]
  var v f32[2,2]
  var y f32[-1,2]
  feed(X=feed) -> (Out=ids) {col=0}
  fake_row_wise_dequantize(Scale=w.s, X=w.int8, ZeroPoint=w.z) -> (Out=w) {quant_axis=0}
  lookup_table_v2(Ids=ids, W=w) -> (Out=x)
  quantize_linear(Scale=s, X=x, ZeroPoint=zero) -> (Y=x.q) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=x.q, ZeroPoint=zero) -> (Y=x.d) {bit_length=8, quant_axis=-1, round_type=0}
  fake_row_wise_dequantize(Scale=w.s, X=v.int8, ZeroPoint=w.z) -> (Out=v) {quant_axis=1}
  mul(X=x.d, Y=v) -> (Out=y)
  fetch(X=y) -> (Out=fetch) {col=0}
)";
constexpr char kRowParameters[] =
    "zero i32[1] 0\ns f32[1] 127\nw.int8 i8[2,2] 1 2 3 4\nw.s f32[2] 0.5 0.25\n"
    "w.z i32[2] 3 -4\nv.int8 i8[2,2] 5 6 7 8\n";

// A bias in steps of the sums, and one in others.
constexpr char kBias[] = R"(
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var zero i32[1] persistable
  var s f32[1] persistable
  var t f32[1] persistable
  var w.int8 i8[2,2] persistable
  var b.int32 i32[2] persistable
  var c.int32 i32[2] persistable
  var x f32[-1,2]
  var x.q f32[-1,2]
  var x.d f32[-1,2]
  var w f32[2,2]
  var b f32[2]
  var c f32[2]
  var p f32[-1,2]
  var y f32[-1,2]
  var z f32[-1,2]
  feed(X=feed) -> (Out=x) {col=0}
  quantize_linear(Scale=s, X=x, ZeroPoint=zero) -> (Y=x.q) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=x.q, ZeroPoint=zero) -> (Y=x.d) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=-1, round_type=0}
  fake_dequantize_bias(InputScale=s, WeightScale=s, X=b.int32) -> (Out=b) {input_largest_code=127, weight_largest_code=127}
  fake_dequantize_bias(InputScale=t, WeightScale=s, X=c.int32) -> (Out=c) {input_largest_code=127, weight_largest_code=127}
  mul(X=x.d, Y=w) -> (Out=p)
  elementwise_add(X=p, Y=b) -> (Out=y) {axis=-1}
  elementwise_add(X=y, Y=c) -> (Out=z) {axis=-1}
  fetch(X=z) -> (Out=fetch) {col=0}
)";
constexpr char kBiasParameters[] =
    "zero i32[1] 0\ns f32[1] 127\nt f32[1] 254\nw.int8 i8[2,2] 1 2 3 4\nb.int32 i32[2] 5 -6\n"
    "c.int32 i32[2] 7 8\n";

// Codes that no op writes, read and moved.
constexpr char kFed[] = R"(
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var zero i32[1] persistable
  var s f32[1] persistable
  var w.int8 i8[2,2] persistable
  var q i8[-1,2]
  var x f32[-1,2]
  var r f32[-1,1,2]
  var w f32[2,2]
  var y f32[-1,2]
  var z f32[-1,1,2]
  feed(X=feed) -> (Out=q) {col=0}
  dequantize_linear(Scale=s, X=q, ZeroPoint=zero) -> (Y=x) {bit_length=8, quant_axis=-1, round_type=0}
  dequantize_linear(Scale=s, X=w.int8, ZeroPoint=zero) -> (Y=w) {bit_length=8, quant_axis=-1, round_type=0}
  mul(X=x, Y=w) -> (Out=y)
  reshape(X=x) -> (Out=r) {shape=[-1, 1, 2]}
  mul(X=r, Y=w) -> (Out=z) {x_num_col_dims=2}
  fetch(X=y) -> (Out=fetch) {col=0}
  fetch(X=z) -> (Out=fetch) {col=1}
)";
constexpr char kFedParameters[] = "zero i32[1] 0\ns f32[1] 127\nw.int8 i8[2,2] 1 2 3 4\n";

// What Lower says if the edit is made after it.
std::string ViolationsOf(const char* program, const char* parameter_text, const Edit& edit) {
  const Program portable = ParsedProgram(program);
  const absl::StatusOr<Scope> parameters = ParseParameters(parameter_text, "parameters");
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  PassTable passes = LowerPasses();
  CHECK(passes.Add(std::make_unique<WrongPass>(nullptr, edit)).ok());
  LowerOptions options;
  options.passes = &passes;
  options.pipeline = absl::StrCat(kLowerPipeline, ",wrong");
  options.pipeline_options.verify = false;
  const absl::Status status = Lower(portable, *parameters, options).status();
  EXPECT_EQ(status.code(), status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kInternal);
  return std::string(status.message());
}

std::string Violations(const Edit& edit) { return ViolationsOf(kPortable, kParameters, edit); }
std::string AffineViolations(const Edit& edit) {
  return ViolationsOf(kAffine, kAffineParameters, edit);
}
std::string RowViolations(const Edit& edit) { return ViolationsOf(kRows, kRowParameters, edit); }

// The op that writes a variable.
const Op& WriterOf(const Program& program, absl::string_view name) {
  const Variable* variable = program.Find(program.block(0), name);
  CHECK(variable != nullptr && variable->values().size() == 1) << name;
  return *variable->values()[0]->op();
}

void SetScales(const Program& program, absl::string_view of, const std::vector<float>& scales,
               PassContext& context) {
  dynamic_cast<LowerContext&>(context).parameters.added.Set(
      std::string(WriterOf(program, of).Input("Scales")->name()),
      Tensor::FromValues<float>({2}, absl::MakeConstSpan(scales)));
}

TEST(LoweredInvariants, HoldOfWhatIsLowered) {
  EXPECT_EQ(Violations([](Program&, PassContext&) {}), "");
  EXPECT_EQ(ViolationsOf(kFed, kFedParameters, [](Program&, PassContext&) {}), "");
}

TEST(LoweredInvariants, WhatIsFetchedStays) {
  EXPECT_EQ(Violations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong").Remove(*program.block(0).last_op());
              Rewriter(&program, "wrong").Remove(WriterOf(program, "p.d"));
            }),
            "invariant 1 of lowered programs: the ops that feed and fetch are not those of the "
            "portable program");
}

TEST(LoweredInvariants, CodesAreDeclaredAsTheyAreStored) {
  EXPECT_EQ(
      Violations([](Program& program, PassContext&) {
        const Variable& codes = *program.Find(program.block(0), "p.q");
        VarDesc desc = *codes.desc();
        desc.mutable_type()->mutable_lod_tensor()->mutable_tensor()->set_data_type(VarType::INT8);
        Rewriter(&program, "wrong").SetVariable(codes, desc);
      }),
      "invariant 2 of lowered programs: block 0, op 3 (pool2d) stores UINT8 in "
      "\"p.q\", which is declared otherwise");
}

TEST(LoweredInvariants, CodesStandForWhatTheyStoodForBefore) {
  EXPECT_EQ(Violations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .SetAttr(WriterOf(program, "image.q"), MakeFloatAttr("multiplier", 2));
            }),
            "invariant 3 of lowered programs: \"image.q\" is INT8 up to 127 for 127 times 2; want "
            "INT8 up to 127 for 127 times 1");
}

TEST(LoweredInvariants, CodesAreDequantizedByTheirRange) {
  EXPECT_EQ(
      Violations([](Program& program, PassContext&) {
        Rewriter(&program, "wrong").SetAttr(WriterOf(program, "p.d"), MakeFloatAttr("range", 2));
      }),
      "invariant 4 of lowered programs: block 0, op 4 (integer_dequantize) reads \"p.q\" as "
      "2 for 255; want 255 for 255");
}

TEST(LoweredInvariants, CodesAreAddedByTheirStep) {
  EXPECT_EQ(Violations([](Program& program, PassContext&) {
              const Op& sum = WriterOf(program, "sum");
              OpDesc desc = sum.desc();
              SetEpilogue({{EpilogueStage::Kind::kAddUint8, 2}}, &desc);
              Rewriter rewriter(&program, "wrong");
              rewriter.InsertBefore(sum, desc);
              rewriter.Remove(sum);
            }),
            "invariant 4 of lowered programs: block 0, op 5 (integer_conv2d) adds \"p.q\" by "
            "steps of 2; want 1");
}

TEST(LoweredInvariants, SumsHaveTheScaleOfTheirCodes) {
  EXPECT_EQ(Violations([](Program& program, PassContext& context) {
              SetScales(program, "sum", {1, 2}, context);
            }),
            "invariant 4 of lowered programs: block 0, op 5 (integer_conv2d) has the scale 2 in "
            "channel 1; want 0.5");
  EXPECT_EQ(Violations([](Program& program, PassContext& context) {
              SetScales(program, "mean", {1, 3}, context);
            }),
            "invariant 4 of lowered programs: block 0, op 6 (integer_average_pool2d) has the scale "
            "3 in channel 1; want 1");
  EXPECT_EQ(Violations([](Program& program, PassContext& context) {
              SetScales(program, "square", {1, 2}, context);
            }),
            "invariant 4 of lowered programs: block 0, op 7 (integer_elementwise_mul) has the "
            "scale 2 in channel 1; want 1");
  EXPECT_EQ(Violations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .SetAttr(WriterOf(program, "square"), MakeIntAttr("weight_zero_point", 3));
            }),
            "invariant 4 of lowered programs: block 0, op 7 (integer_elementwise_mul) has weights "
            "with the zero point 3; want 0");
}

TEST(LoweredInvariants, NothingReadsCodesAsNumbers) {
  EXPECT_EQ(Violations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .InsertBefore(WriterOf(program, "sum"),
                                OpBuilder("relu").Input("X", "p.q").Output("Out", "z").Build());
            }),
            "invariant 4 of lowered programs: block 0, op 5 (relu) reads the codes \"p.q\" as "
            "numbers");
}

TEST(LoweredInvariants, PaddingOfCodesIsTheirCodeOfZero) {
  const auto pad_by = [](float value) {
    return Violations([value](Program& program, PassContext&) {
      Rewriter(&program, "wrong")
          .InsertBefore(WriterOf(program, "sum"), OpBuilder("pad2d")
                                                      .Input("X", "p.q")
                                                      .Output("Out", "z")
                                                      .IntsAttr("paddings", {0, 0, 0, 0})
                                                      .FloatAttr("pad_value", value)
                                                      .Build());
    });
  };
  EXPECT_EQ(pad_by(1),
            "invariant 4 of lowered programs: block 0, op 5 (pad2d) reads the codes \"p.q\" as "
            "numbers");
  EXPECT_EQ(
      pad_by(0),
      "invariant 2 of lowered programs: block 0, op 5 (pad2d) stores UINT8 in \"z\", which is "
      "declared otherwise");
}

TEST(LoweredInvariants, ScalesAreNumbersThatAreNotNegative) {
  for (const float wrong : {-0.5F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(Violations([wrong](Program& program, PassContext& context) {
                SetScales(program, "sum", {1, wrong}, context);
              }),
              absl::StrCat("invariant 5 of lowered programs: block 0, op 5 (integer_conv2d) has a "
                           "scale that is negative, or no finite number\n"
                           "invariant 4 of lowered programs: block 0, op 5 (integer_conv2d) has "
                           "the scale ",
                           wrong, " in channel 1; want 0.5"));
  }
}

TEST(LoweredInvariants, NoStepToNumbersIsForNothing) {
  EXPECT_EQ(Violations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .InsertBefore(WriterOf(program, "sum"), OpBuilder("integer_dequantize")
                                                              .Input("X", "p.q")
                                                              .Output("Out", "z")
                                                              .FloatAttr("range", 255)
                                                              .IntAttr("largest_code", 255)
                                                              .Build());
            }),
            "invariant 6 of lowered programs: block 0, op 5 (integer_dequantize) writes \"z\", "
            "which nothing reads");
}

TEST(LoweredInvariants, CodesAreReadAboveTheirZeroPoint) {
  EXPECT_EQ(AffineViolations([](Program&, PassContext&) {}), "");
  EXPECT_EQ(AffineViolations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .SetAttr(WriterOf(program, "q"), MakeIntAttr("out_zero_point", 3));
            }),
            "invariant 3 of lowered programs: \"q\" is UINT8 up to 255 from 3 for 63.75 times 4; "
            "want UINT8 up to 255 from 64 for 63.75 times 4");
  EXPECT_EQ(
      AffineViolations([](Program& program, PassContext&) {
        Rewriter(&program, "wrong").SetAttr(WriterOf(program, "d"), MakeIntAttr("zero_point", 3));
      }),
      "invariant 4 of lowered programs: block 0, op 2 (integer_dequantize) reads \"q\" as "
      "0.25 for 1 from 3; want 0.25 for 1 from 64");
  EXPECT_EQ(AffineViolations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .SetAttr(WriterOf(program, "sum"), MakeIntAttr("input_zero_point", 3));
            }),
            "invariant 4 of lowered programs: block 0, op 3 (integer_conv2d) has the zero point 3; "
            "want 64");
  EXPECT_EQ(AffineViolations([](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .SetAttr(WriterOf(program, "m"), MakeIntAttr("weight_zero_point", 3));
            }),
            "invariant 4 of lowered programs: block 0, op 4 (integer_matmul) has weights with the "
            "zero point 3; want 64");
  EXPECT_EQ(AffineViolations([](Program& program, PassContext&) {
              const Op& sum = WriterOf(program, "sum");
              OpDesc desc = sum.desc();
              SetEpilogue({{EpilogueStage::Kind::kAddUint8, 0.25F, 3}}, &desc);
              Rewriter rewriter(&program, "wrong");
              rewriter.InsertBefore(sum, desc);
              rewriter.Remove(sum);
            }),
            "invariant 4 of lowered programs: block 0, op 3 (integer_conv2d) adds \"q\" by steps "
            "of 0.25 from 3; want 0.25 from 64");
}

TEST(LoweredInvariants, RowsAreReadByTheirStepsAboveTheirZeroPoints) {
  EXPECT_EQ(RowViolations([](Program&, PassContext&) {}), "");
  EXPECT_EQ(
      RowViolations([](Program& program, PassContext&) {
        Rewriter(&program, "wrong").SetAttr(WriterOf(program, "x"), MakeIntAttr("largest_code", 2));
      }),
      "invariant 4 of lowered programs: block 0, op 1 (integer_lookup_table_v2) reads row 0 "
      "by steps of 0.25; want 0.5");
  EXPECT_EQ(RowViolations([](Program& program, PassContext& context) {
              SetScales(program, "y", {0.5F, 0.5F}, context);
            }),
            "invariant 4 of lowered programs: block 0, op 3 (integer_row_wise_fc) has the scale "
            "0.5 in channel 1; want 0.25");
  for (const auto& [output, type] : {std::pair("x", "op 1 (integer_lookup_table_v2)"),
                                     std::pair("y", "op 3 (integer_row_wise_fc)")}) {
    EXPECT_EQ(RowViolations([output = output](Program& program, PassContext&) {
                const Op& op = WriterOf(program, output);
                Rewriter(&program, "wrong").SetArgument(*op.Input("Offsets"), "w.s");
              }),
              absl::StrCat("invariant 4 of lowered programs: block 0, ", type,
                           " has the zero points \"w.s\"; want \"w.z\""));
  }
}

TEST(LoweredInvariants, ABiasIsInTheStepsOfItsSums) {
  EXPECT_EQ(ViolationsOf(kBias, kBiasParameters, [](Program&, PassContext&) {}), "");
  EXPECT_EQ(ViolationsOf(kBias, kBiasParameters,
                         [](Program& program, PassContext&) {
                           const Op& op = WriterOf(program, "y");
                           Rewriter(&program, "wrong").SetArgument(*op.Input("Bias"), "c.int32");
                         }),
            "invariant 4 of lowered programs: block 0, op 3 (integer_mul) adds a bias in steps of "
            "2 in channel 0; want 1");
}

TEST(LoweredInvariants, TheAccountHasEveryOpOnce) {
  EXPECT_EQ(Violations([](Program&, PassContext& context) {
              std::vector<LoweredOp>& ops = dynamic_cast<LowerContext&>(context).lowered;
              ops.erase(std::find_if(ops.begin(), ops.end(),
                                     [](const LoweredOp& op) { return op.type == "relu"; }));
            }),
            "invariant 7 of lowered programs: the account lacks block 0, op 5 (relu)");
  EXPECT_EQ(
      Violations([](Program&, PassContext& context) {
        std::vector<LoweredOp>& ops = dynamic_cast<LowerContext&>(context).lowered;
        ops.push_back(ops.back());
      }),
      "invariant 7 of lowered programs: the account has 1 ops too many, from elementwise_mul on");
}

}  // namespace
}  // namespace fixpoint
