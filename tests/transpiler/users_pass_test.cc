// Passes of a user's own in the pipeline of a transpile.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "proto/op_builder.h"
#include "proto/program.h"
#include "proto/rewriter.h"
#include "proto/status_macros.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

class AddDoubled final : public Pass {
 public:
  absl::string_view name() const override { return "add_doubled"; }
  absl::string_view doc() const override { return "Appends the sum of y with itself."; }
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    const Block& block = program.block(0);
    ASSIGN_OR_RETURN(const Variable* sum,
                     rewriter.AddVariable(block, MakeTensorVar(rewriter.FreshName("doubled"),
                                                               VarType::FP32, {-1, 2})));
    rewriter.Append(block, rewriter.New("elementwise_add")
                               .Input("X", "y")
                               .Input("Y", "y")
                               .Output("Out", sum->name())
                               .IntAttr("op_role", kForward));
    return absl::OkStatus();
  }
};

TEST(UsersPass, MayInsertAnOpThatIsQuantized) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable
    var y f32[-1,2]
    mul(X=x, Y=w) -> (Out=y) {op_role=0}
  )");
  PassTable passes = TrainPasses();
  ASSERT_TRUE(passes.Add(std::make_unique<AddDoubled>()).ok());
  TranspileOptions options;
  options.passes = &passes;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("elementwise_add");
  options.pipeline = "add_doubled,plan_quantizers,insert_quantizers,initialize_state";
  const auto result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->plan.decisions_size(), 2);
  EXPECT_EQ(result->plan.decisions(1).type(), "elementwise_add");
  EXPECT_EQ(result->plan.decisions(1).op(), 1);
  EXPECT_TRUE(result->plan.decisions(1).quantized());
}

// Puts relu(x) before the program's mul, and forgets its gradient op.
class RewireMulAlone final : public Pass {
 public:
  absl::string_view name() const override { return "rewire_mul_alone"; }
  absl::string_view doc() const override { return "A relu before mul."; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    const Block& block = program.block(0);
    const Op& mul = *block.first_op();
    RETURN_IF_ERROR(
        rewriter.AddVariable(block, MakeTensorVar("r", VarType::FP32, {-1, 2})).status());
    rewriter.InsertBefore(mul, OpBuilder("relu").Input("X", "x").Output("Out", "r").Build());
    rewriter.SetArgument(*mul.Input("X"), "r");
    return absl::OkStatus();
  }
};

// Else the op would be quantized, and its gradient would read floats.
TEST(UsersPass, DoesNotLeaveAGradientOpBehind) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable
    var y f32[-1,2]
    var y@GRAD f32[-1,2]
    var w@GRAD f32[2,2]
    mul(X=x, Y=w) -> (Out=y) {op_role=0}
    fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=1}
    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
  )");
  PassTable passes = TrainPasses();
  ASSERT_TRUE(passes.Add(std::make_unique<RewireMulAlone>()).ok());
  TranspileOptions options;
  options.passes = &passes;
  options.pipeline = "rewire_mul_alone,plan_quantizers,insert_quantizers,initialize_state";
  const absl::Status status = Transpile(&program, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(status.message()),
            "error: program.txt: block 0, op 3 (mul_grad): input X reads \"x\"; want \"r\", which "
            "block 0, op 1 (mul) reads [gradient_mismatch]\n"
            "    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}\n"
            " [after rewire_mul_alone]");
}

}  // namespace
}  // namespace fixpoint
