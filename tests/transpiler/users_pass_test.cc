// Passes of a user's own in the pipeline of a transpile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/read_replacer.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

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

// Puts relu(x) before the program's mul.
class PutReluBeforeMul final : public Pass {
 public:
  enum class How {
    kReplacer,  // the gradient op that repeats mul's input follows
    kMulAlone,  // it keeps reading the old value
  };
  explicit PutReluBeforeMul(How how) : how_(how) {}

  absl::string_view name() const override { return "put_relu_before_mul"; }
  absl::string_view doc() const override { return "A relu before mul."; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    ReadReplacer reads(program, &rewriter);
    const Block& block = program.block(0);
    const Op& mul = *block.first_op();
    ASSIGN_OR_RETURN(const Variable* r,
                     rewriter.AddVariable(block, MakeTensorVar("r", VarType::FP32, {-1, 2})));
    rewriter.InsertBefore(mul, OpBuilder("relu").Input("X", "x").Output("Out", "r").Build());
    const std::vector<const Argument*> read = {mul.Input("X")};
    return how_ == How::kReplacer ? reads.Replace(read, *r->values().back())
                                  : rewriter.RedirectReads(read, *r);
  }

 private:
  const How how_;
};

constexpr char kTrainedMul[] = R"(
  var x f32[-1,2]
  var w f32[2,2] persistable
  var y f32[-1,2]
  var y@GRAD f32[-1,2]
  var w@GRAD f32[2,2]
  mul(X=x, Y=w) -> (Out=y) {op_role=0}
  fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=1}
  mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
)";

absl::Status TranspileWith(PutReluBeforeMul::How how, Program* program) {
  PassTable passes = TrainPasses();
  EXPECT_TRUE(passes.Add(std::make_unique<PutReluBeforeMul>(how)).ok());
  TranspileOptions options;
  options.passes = &passes;
  options.pipeline = "put_relu_before_mul,plan_quantizers,insert_quantizers,initialize_state";
  return Transpile(program, options).status();
}

TEST(UsersPass, TakesGradientOpsAlong) {
  Program program = ParsedProgram(kTrainedMul);
  const absl::Status status = TranspileWith(PutReluBeforeMul::How::kReplacer, &program);
  ASSERT_TRUE(status.ok()) << status;
  const std::string text = PrintProgram(program.Proto());
  EXPECT_THAT(text, HasSubstr("mul(X=r.quantized.dequantized, Y=w.quantized.dequantized)"));
  EXPECT_THAT(text, HasSubstr("mul_grad(X=r.quantized.dequantized, Y=w.quantized.dequantized"));
}

// Else the op would be quantized, and its gradient would read floats.
TEST(UsersPass, DoesNotLeaveAGradientOpBehind) {
  Program program = ParsedProgram(kTrainedMul);
  const absl::Status status = TranspileWith(PutReluBeforeMul::How::kMulAlone, &program);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(status.message()),
            "error: program.txt: block 0, op 3 (mul_grad): input X reads \"x\"; want \"r\", which "
            "block 0, op 1 (mul) reads [gradient_mismatch]\n"
            "    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}\n"
            " [after put_relu_before_mul]");
}

}  // namespace
}  // namespace fixpoint
