// Passes of users that insert ops before the plan is made.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
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

// Before the program's mul it inserts r = relu(X), then r = scale(r), which is in place.
class InsertBeforeMul final : public Pass {
 public:
  absl::string_view name() const override { return "insert_before_mul"; }
  absl::string_view doc() const override { return "A relu and a scale before mul."; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    const Op& mul = *program.block(0).last_op();
    const std::string x(mul.Input("X")->name());
    ReadReplacer reads(program, &rewriter);
    ASSIGN_OR_RETURN(
        const Variable* r,
        rewriter.AddVariable(program.block(0), MakeTensorVar("r", VarType::FP32, {-1, 2})));
    rewriter.InsertBefore(mul, OpBuilder("relu").Input("X", x).Output("Out", "r").Build());
    rewriter.InsertBefore(mul, OpBuilder("scale").Input("X", "r").Output("Out", "r").Build());
    return reads.Replace({mul.Input("X")}, *r->values().back());
  }
};

TEST(UsersInsertingPass, MayWriteWhatIsThenQuantized) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable
    var y f32[-1,2]
    mul(X=x, Y=w) -> (Out=y)
  )");
  PassTable passes = TrainPasses();
  ASSERT_TRUE(passes.Add(std::make_unique<InsertBeforeMul>()).ok());
  TranspileOptions options;
  options.passes = &passes;
  options.config.mutable_weights()->set_quantizer("abs_max");
  options.config.mutable_activations()->set_quantizer("abs_max");
  options.pipeline = "insert_before_mul,plan_quantizers,insert_quantizers,initialize_state";
  const auto result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  program.ClearEditLog();
  EXPECT_EQ(PrintProgram(program.Proto()), R"(program
block 0 {
  var x f32[-1,2]
  var w f32[2,2] persistable
  var y f32[-1,2]
  var r f32[-1,2]
  var r.quantized f32[-1,2]
  var r@scale f32[1]
  var r.quantized.dequantized f32[-1,2]
  var w.quantized f32[2,2]
  var w@scale f32[1] persistable
  var w.quantized.dequantized f32[2,2]
  relu(X=x) -> (Out=r)
  scale(X=r) -> (Out=r)
  fake_quantize_abs_max(X=r) -> (Out=r.quantized, OutScale=r@scale) {bit_length=8, op_role=0, fixpoint.inserted_by="insert_quantizers"}
  fake_dequantize_max_abs(X=r.quantized, Scale=r@scale) -> (Out=r.quantized.dequantized) {max_range=127.0, op_role=0, fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_abs_max(X=w) -> (Out=w.quantized, OutScale=w@scale) {bit_length=8, op_role=0, fixpoint.inserted_by="insert_quantizers"}
  fake_dequantize_max_abs(X=w.quantized, Scale=w@scale) -> (Out=w.quantized.dequantized) {max_range=127.0, op_role=0, fixpoint.inserted_by="insert_quantizers"}
  mul(X=r.quantized.dequantized, Y=w.quantized.dequantized) -> (Out=y) {quantization_type="qat_with_weight", with_quant_attr=true, fixpoint.rewired=["X.0=r", "Y.0=w", "quantization_type+", "with_quant_attr+"]}
}
)");
}

}  // namespace
}  // namespace fixpoint
