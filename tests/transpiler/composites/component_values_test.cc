// Components compute what their composite does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/backward.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"
#include "transpiler/composites/composite_map.h"

namespace fixpoint {
namespace {

using testing::Contains;
using testing::Not;

TEST(ComponentValues, ComponentsComputeTheSame) {
  const Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2,4,2,3]
  var g f32[24] persistable
  var b f32[24] persistable
  var c f32[4] persistable
  var n f32[2,4,2,3]
  var mean f32[2]
  var variance f32[2]
  var m f32[2,4,2,3]
  var group_mean f32[2,2]
  var group_variance f32[2,2]
  var a f32[2,4,2,3]
  var s f32[2,4,2,3]
  var y f32[2,4,2,3]
  layer_norm(Bias=b, Scale=g, X=x) -> (Mean=mean, Variance=variance, Y=n) {begin_norm_axis=1}
  group_norm(Bias=c, Scale=c, X=n) -> (Mean=group_mean, Variance=group_variance, Y=m) {groups=2}
  gelu(X=m) -> (Out=a)
  swish(X=a) -> (Out=s) {beta=1.5}
  softmax(X=s) -> (Out=y) {axis=1}
}
)");
  const Program expanded = Expanded(program);
  for (const Op& op : expanded.ops()) {
    EXPECT_THAT((std::vector<std::string>{"layer_norm", "group_norm", "gelu", "swish", "softmax"}),
                Not(Contains(op.type())));
  }
  const std::vector<std::pair<std::string, std::vector<int64_t>>> values = {
      {"x", {2, 4, 2, 3}}, {"g", {24}}, {"b", {24}}, {"c", {4}}};
  ExpectNear(Fetched(program, "y", values), Fetched(expanded, "y", values));
}

TEST(ComponentValues, GradientsAreEqual) {
  Program program = ParsedProgram(kTrained);
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  program.ForgetEdits();
  Program expanded = Expanded(program);
  EXPECT_EQ(ReadCompositeMap(expanded)->composites_size(), 3);
  const std::vector<std::pair<std::string, std::vector<int64_t>>> values = {
      {"x", {3, 4}}, {"w", {4, 4}}, {"g", {4}}, {"b", {4}}};
  for (const char* gradient : {"w@GRAD", "g@GRAD", "b@GRAD"}) {
    ExpectNear(Fetched(program, gradient, values), Fetched(expanded, gradient, values));
  }
}

}  // namespace
}  // namespace fixpoint
