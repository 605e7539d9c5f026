#include "transpiler/plan/plan_on_target.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

// A sum of two products, whose axis no entry for a sum may want.
constexpr char kSum[] = R"(
  var x f32[-1,3,8,8]
  var w f32[4,3,3,3] persistable
  var w2 f32[4,3,3,3] persistable
  var a f32[-1,4,8,8]
  var b f32[-1,4,8,8]
  var s f32[-1,4,8,8]
  conv2d(Input=x, Filter=w) -> (Output=a) {paddings=[1, 1]}
  conv2d(Input=x, Filter=w2) -> (Output=b) {paddings=[1, 1]}
  elementwise_add(X=a, Y=b) -> (Out=s) {axis=-1}
)";

constexpr char kNetwork[] = R"(
  var x f32[-1,3,8,8]
  var w f32[4,3,3,3] persistable
  var bias f32[4] persistable
  var w2 f32[4,4,3,3] persistable
  var a f32[-1,4,8,8]
  var s f32[-1,4,8,8]
  var r f32[-1,4,8,8]
  var b f32[-1,4,8,8]
  var t f32[-1,4,8,8]
  var c f32[-1,8,8,8]
  var p f32[-1,8,1,1]
  var w3 f32[8,5] persistable
  var y f32[-1,5]
  var z f32[-1,5]
  var m f32[-1,5]
  conv2d(Input=x, Filter=w) -> (Output=a) {paddings=[1, 1]}
  elementwise_add(X=a, Y=bias) -> (Out=s) {axis=1}
  relu(X=s) -> (Out=r)
  conv2d(Input=r, Filter=w2) -> (Output=b) {paddings=[1, 1]}
  elementwise_add(X=b, Y=r) -> (Out=t) {axis=-1}
  concat(X=[t, a]) -> (Out=c) {axis=1}
  pool2d(X=c) -> (Out=p) {pooling_type="avg", global_pooling=true, ksize=[1, 1]}
  mul(X=p, Y=w3) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
  softmax(X=y) -> (Out=z)
  elementwise_mul(X=z, Y=y) -> (Out=m) {axis=-1}
)";

constexpr char kActivations[] = R"(
  var x f32[-1,4,4]
  var r f32[-1,4,4]
  var e f32[-1,4,4]
  var y f32[-1,4,4]
  var z f32[-1,4,4]
  relu(X=x) -> (Out=r)
  exp(X=r) -> (Out=e)
  matmul_v2(X=r, Y=e) -> (Out=y)
  matmul_v2(X=y, Y=y) -> (Out=z)
)";

std::vector<std::string> Targets() {
  std::vector<std::string> names = BuiltInTargets();
  for (const auto& file : std::filesystem::directory_iterator("examples/targets")) {
    if (file.path().extension() == ".textproto") names.push_back(file.path().string());
  }
  return names;
}

// The same target, which also quantizes what some ops write.
Target WithOutputs(Target target) {
  Target::ObservedOutputs& outputs = *target.add_outputs();
  for (const char* type : {"relu", "conv2d", "matmul_v2", "elementwise_add"}) {
    outputs.add_types(type);
  }
  *outputs.mutable_spec() = target.activations();
  outputs.set_quantize(true);
  outputs.set_always(true);
  return target;
}

// Whether what the planner makes passes as a file; false also where the target quantizes no such
// outputs.
bool IsFollowed(const Target& target, const char* text) {
  TranspileOptions options;
  options.target = target;
  Program program = ParsedProgram(text);
  const auto made = Transpile(&program, options);
  if (!made.ok()) return false;
  options.plan = &made->plan;
  Program again = ParsedProgram(text);
  const auto followed = Transpile(&again, options);
  EXPECT_TRUE(followed.ok()) << target.name() << ": " << followed.status();
  if (!followed.ok()) return false;
  EXPECT_EQ(PrintTextMessage(followed->plan), PrintTextMessage(made->plan));
  return true;
}

TEST(PlanOnTarget, PassesWhatThePlannerMade) {
  int with_outputs = 0;
  for (const std::string& name : Targets()) {
    SCOPED_TRACE(name);
    const auto target = LoadTarget(name, QuantizerTable());
    ASSERT_TRUE(target.ok()) << target.status();
    for (const char* text : {kSum, kNetwork, kActivations}) {
      EXPECT_TRUE(IsFollowed(*target, text)) << text;
      if (target->outputs_size() == 0) with_outputs += IsFollowed(WithOutputs(*target), text);
    }
  }
  EXPECT_GE(with_outputs, 12);
}

}  // namespace
}  // namespace fixpoint
