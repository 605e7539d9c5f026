// Two layers whose ranges are learned: one per channel, and one with a zero point.

#ifndef FIXPOINT_TESTS_TRANSPILER_EXCHANGE_RANGES_FIXTURE_H_
#define FIXPOINT_TESTS_TRANSPILER_EXCHANGE_RANGES_FIXTURE_H_

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

class LearnedRangesTest : public testing::Test {
 protected:
  // `of_hidden`: the ops that quantize the input of the second layer.
  explicit LearnedRangesTest(const std::string& of_hidden = kSymmetric) {
    program_ = ParsedProgram("block 0 {\n" + std::string(kVariables) + std::string(kFirst) +
                             of_hidden + std::string(kSecond) + "}\n");
    const auto scope = ParseParameters(kParameters, "parameters");
    CHECK(scope.ok()) << scope.status();
    auto ranges = FindLearnedRanges(program_, *scope, QuantizerTable());
    CHECK(ranges.ok()) << ranges.status();
    ranges_ = *std::move(ranges);
  }

  static constexpr char kVariables[] = R"(
  var x f32[-1,2]
  var conv.w f32[2,2] persistable
  var fc.w f32[2,2] persistable
  var x.scale f32[1] persistable
  var h.scale f32[1] persistable
  var h.zero f32[1] persistable
  var fc.w.scale f32[1] persistable
  var x.again f32[-1,2]
  var conv.w.codes f32[2,2]
  var conv.w.scales f32[2]
  var conv.w.again f32[2,2]
  var conv.out f32[-1,2]
  var h f32[-1,2]
  var h.codes f32[-1,2]
  var h.again f32[-1,2]
  var fc.w.again f32[2,2]
  var fc.out f32[-1,2]
)";
  static constexpr char kFirst[] = R"(
  fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=x.scale) -> (Out=x.again, OutScale=x.scale) {bit_length=8, is_test=true}
  fake_channel_wise_quantize_abs_max(X=conv.w) -> (Out=conv.w.codes, OutScale=conv.w.scales) {bit_length=8, quant_axis=1}
  fake_channel_wise_dequantize_max_abs(X=conv.w.codes, Scales=conv.w.scales) -> (Out=conv.w.again) {quant_bits=[8], quant_axis=1}
  mul(X=x.again, Y=conv.w.again) -> (Out=conv.out)
  relu(X=conv.out) -> (Out=h)
)";
  static constexpr char kSymmetric[] = R"(
  fake_quantize_dequantize_moving_average_abs_max(X=h, InScale=h.scale) -> (Out=h.again, OutScale=h.scale) {bit_length=8, is_test=true}
)";
  static constexpr char kAffine[] = R"(
  fake_quantize_moving_average_min_max(X=h, InScale=h.scale, InZeroPoint=h.zero) -> (Out=h.codes, OutScale=h.scale, OutZeroPoint=h.zero) {bit_length=8, unsigned_codes=true, is_test=true}
  fake_dequantize_affine(X=h.codes, Scale=h.scale, ZeroPoint=h.zero) -> (Out=h.again)
)";
  static constexpr char kSecond[] = R"(
  fake_quantize_dequantize_moving_average_abs_max(X=fc.w, InScale=fc.w.scale) -> (Out=fc.w.again, OutScale=fc.w.scale) {bit_length=8, is_test=true}
  mul(X=h.again, Y=fc.w.again) -> (Out=fc.out)
)";
  // Numbers that seven digits do not hold.
  static constexpr char kParameters[] =
      "conv.w f32[2,2] 0.333333343 -0.1 0.2 0.700000048\n"
      "fc.w f32[2,2] 1 2 3 4\n"
      "fc.w.scale f32[1] 3.14159274\n"
      "h.scale f32[1] 0.0123456791\n"
      "h.zero f32[1] 3\n"
      "x.scale f32[1] 1.00000012\n";

  Program program_;
  std::vector<LearnedRange> ranges_;
};

class AffineRangesTest : public LearnedRangesTest {
 protected:
  AffineRangesTest() : LearnedRangesTest(kAffine) {}
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TRANSPILER_EXCHANGE_RANGES_FIXTURE_H_
