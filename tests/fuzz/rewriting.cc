#include "tests/fuzz/rewriting.h"

#include <glog/logging.h>

#include <optional>
#include <string>

#include "proto/text/program_text.h"
#include "tests/fuzz/input_error.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

constexpr char kSmallTrainingProgram[] = R"(
program
block 0 {
  var x f32[-1,3,8,8]
  var k f32[4,3,3,3] persistable
  var c f32[-1,4,6,6]
  var b f32[4] persistable
  var d f32[-1,4,6,6]
  var r f32[-1,4,6,6]
  var w f32[144,4] persistable
  var h f32[-1,4]
  var u f32[4,4] persistable
  var cond bool[1]
  var scopes step_scopes
  var lr f32[1] persistable
  var c@GRAD f32[-1,4,6,6]
  var k@GRAD f32[4,3,3,3]
  var d@GRAD f32[-1,4,6,6]
  var r@GRAD f32[-1,4,6,6]
  var w@GRAD f32[144,4]
  var h@GRAD f32[-1,4]
  conv2d(Input=x, Filter=k) -> (Output=c) {strides=[1, 1], paddings=[0, 0], dilations=[1, 1], groups=1, op_namescope="/head/", op_role=0}
  elementwise_add(X=c, Y=b) -> (Out=d) {axis=1, op_role=0}
  relu(X=d) -> (Out=r) {op_role=0}
  mul(X=r, Y=w) -> (Out=h) {x_num_col_dims=1, y_num_col_dims=1, op_role=0}
  while(Condition=cond, X=[h, u]) -> (Out=h, StepScopes=scopes) {sub_block=block(1), op_role=0}
  fill_constant() -> (Out=h@GRAD) {shape=[1L, 4L], dtype=5, value=1.0, op_role=1}
  mul_grad(Out@GRAD=h@GRAD, X=r, Y=w) -> (X@GRAD=r@GRAD, Y@GRAD=w@GRAD) {x_num_col_dims=1, y_num_col_dims=1, op_role=1, op_role_var=["w", "w@GRAD"]}
  relu_grad(Out=r, Out@GRAD=r@GRAD) -> (X@GRAD=d@GRAD) {op_role=1}
  elementwise_add_grad(Out@GRAD=d@GRAD, X=c, Y=b) -> (X@GRAD=c@GRAD) {axis=1, op_role=1}
  conv2d_grad(Filter=k, Input=x, Output@GRAD=c@GRAD) -> (Filter@GRAD=k@GRAD) {strides=[1, 1], paddings=[0, 0], dilations=[1, 1], groups=1, op_role=1, op_role_var=["k", "k@GRAD"]}
  sgd(Grad=w@GRAD, LearningRate=lr, Param=w) -> (ParamOut=w) {op_role=2, op_role_var=["w", "w@GRAD"]}
  sgd(Grad=k@GRAD, LearningRate=lr, Param=k) -> (ParamOut=k) {op_role=2, op_role_var=["k", "k@GRAD"]}
}
block 1 parent=0 {
  var t f32[-1,4]
  mul(X=h, Y=u) -> (Out=t) {x_num_col_dims=1, y_num_col_dims=1}
  tanh(X=t) -> (Out=h)
}
)";

}  // namespace

const Program& SmallTrainingProgram() {
  static const Program& program = *new Program(ParsedProgram(kSmallTrainingProgram));
  return program;
}

void TranspileAndUndo(const Program& program, const TranspileOptions& options) {
  Program copy = program.Clone();
  const std::string before = copy.Proto().SerializeAsString();
  const absl::StatusOr<TranspileResult> result = Transpile(&copy, options);
  if (!result.ok()) {
    CheckIsInputError(result.status());
  } else if (copy.Proto().has_edit_log() && !program.Proto().has_edit_log()) {
    const absl::Status undone = Untranspile(&copy);
    CHECK(undone.ok()) << undone;
  }
  CHECK(copy.Proto().SerializeAsString() == before) << PrintProgram(copy.Proto());
}

}  // namespace fixpoint
