#include "runtime/calibration/observed_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

TEST(ObservedVariables, AreWhatMayBeQuantized) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[-1,3,8,8]
      var w f32[4,3,3,3] persistable
      var y f32[-1,4,6,6]
      var z f32[-1,4,6,6]
      var v f32[-1,4]
      var w2 f32[4,5] persistable
      var u f32[-1,5]
      conv2d(Input=x, Filter=w) -> (Output=y)
      relu(X=y) -> (Out=z)
      reduce_mean(X=z) -> (Out=v) {dim=[2,3]}
      mul(X=v, Y=w2) -> (Out=u)
      softmax(X=u) -> (Out=s)
    })");
  EXPECT_THAT(FindObservedVariables(program, ObservedOutputs::kNone), ElementsAre("x", "v"));
  EXPECT_THAT(FindObservedVariables(program, ObservedOutputs::kAll),
              ::testing::IsSupersetOf({"x", "y", "v", "u"}));
}

// Training wrote these quantizers; a profile has what they read, not what they wrote.
TEST(ObservedVariables, AreWhatQuantizersRead) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[-1,3,8,8]
      var w f32[4,3,3,3] persistable
      var x.scale f32[1] persistable
      var x.q f32[-1,3,8,8]
      var x.d f32[-1,3,8,8]
      var w.q f32[4,3,3,3]
      var y f32[-1,4,6,6]
      var y.o f32[-1,4,6,6]
      var y.scale f32[1] persistable
      fake_quantize_moving_average_abs_max(X=x, InScale=x.scale) -> (
        Out=x.q, OutScale=x.scale) {is_test=true}
      fake_dequantize_max_abs(X=x.q, Scale=x.scale) -> (Out=x.d) {max_range=127.0}
      fake_quantize_dequantize_abs_max(X=w) -> (Out=w.q, OutScale=s)
      conv2d(Input=x.d, Filter=w.q) -> (Output=y)
      moving_average_abs_max_scale(X=y) -> (Out=y.o, OutScale=y.scale) {is_test=true}
    })");
  EXPECT_THAT(FindObservedVariables(program, ObservedOutputs::kNone), ElementsAre("x", "y"));
}

}  // namespace
}  // namespace fixpoint
