// What is not given back, and why.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/backward.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using testing::HasSubstr;

constexpr char kSwish[] = R"(program version=2006002
block 0 {
  var x f32[2,4]
  var a f32[2,4]
  var s f32[2,4]
  relu(X=x) -> (Out=a)
  swish(X=a) -> (Out=s) {beta=1.0}
}
)";

const Op& Sigmoid(const Program& program) {
  for (const Op& op : program.ops()) {
    if (op.type() == "sigmoid") return op;
  }
  CHECK(false) << "there is no sigmoid";
}

// The error of raise_composites.
absl::Status Refusal(Program program) {
  program.ForgetEdits();
  return RunPasses(&program, "raise_composites").status();
}

// The same after an edit of an expanded swish.
absl::Status RefusalAfter(const std::function<void(const Program&, Rewriter&)>& edit) {
  Program program = Expanded(ParsedProgram(kSwish));
  {
    Rewriter rewriter(&program, "test");
    edit(program, rewriter);
  }
  return Refusal(std::move(program));
}

void ExpectRefused(const absl::Status& status, const std::string& why) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(RefusedComposites, AComponentIsGone) {
  ExpectRefused(RefusalAfter([](const Program& program, Rewriter& rewriter) {
                  rewriter.Remove(Sigmoid(program));
                }),
                "swish \"s\" cannot be given back: no op writes its component sigmoid");
}

TEST(RefusedComposites, AComponentReadsSomethingElse) {
  ExpectRefused(RefusalAfter([](const Program& program, Rewriter& rewriter) {
                  const Variable& x = *program.Find(program.block(0), "x");
                  CHECK(rewriter.RedirectReads({Sigmoid(program).Input("X")}, x).ok());
                }),
                "was changed: it reads \"x\" where it read \"a\"");
}

TEST(RefusedComposites, SomethingElseReadsAComponent) {
  ExpectRefused(RefusalAfter([](const Program& program, Rewriter& rewriter) {
                  CHECK(rewriter.AddTensor(program.block(0), "t", VarType::FP32, {2, 4}).ok());
                  OpDesc tanh = Sigmoid(program).desc();
                  tanh.set_type("tanh");
                  tanh.mutable_outputs(0)->set_arguments(0, "t");
                  tanh.mutable_inputs(0)->set_arguments(0, "s.sigmoid");
                  rewriter.Append(program.block(0), tanh);
                }),
                "(tanh) reads its component sigmoid, \"s.sigmoid\", and is none of its ops");
}

// A composite's own gradient is another than that of its components.
constexpr char kNoGradient[] = "as one op it would have a gradient of its own, which knows nothing";

TEST(RefusedComposites, GradientsCameAfterItWasExpanded) {
  Program program = Expanded(ParsedProgram(kTrained));
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  const absl::Status status = Refusal(std::move(program));
  ExpectRefused(status, "reads its component");
  ExpectRefused(status, kNoGradient);
}

TEST(RefusedComposites, ItsComponentsAreQuantizedAndTrained) {
  Program program = ParsedProgram(kTrained);
  ASSERT_TRUE(AppendBackward(&program, "l").ok());
  program.ForgetEdits();
  program = Expanded(program);
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("elementwise_mul");
  const auto transpiled = Transpile(&program, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  program.ClearEditLog();
  ExpectRefused(Refusal(std::move(program)), kNoGradient);
}

// A relu without a result.
class InsertWrongOp final : public Pass {
 public:
  absl::string_view name() const override { return "insert_wrong_op"; }
  absl::string_view doc() const override { return "Inserts an op that is wrong."; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter(&program, name()).Append(program.block(0), OpBuilder("relu").Input("X", "s").Build());
    return absl::OkStatus();
  }
};

TEST(RefusedComposites, AreNotBlamedForWhatAnotherPassInserted) {
  Program program = Expanded(ParsedProgram(kSwish));
  auto passes = RewritePasses({});
  ASSERT_TRUE(passes.ok() && AddCompositePasses(&*passes).ok());
  ASSERT_TRUE(passes->Add(std::make_unique<InsertWrongOp>()).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = "insert_wrong_op,raise_composites";
  options.pipeline_options.verify = false;
  const auto report = Rewrite(&program, {}, options);
  EXPECT_TRUE(report.ok()) << report.status();
}

TEST(RefusedComposites, AMapThatCannotBeRead) {
  Program program = Expanded(ParsedProgram(kSwish));
  Rewriter(&program, "test").SetComposites("\xff");
  const absl::Status status = Refusal(std::move(program));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the map of composites cannot be read: its bytes are no CompositeMap"));
}

TEST(RefusedComposites, AMapOfAnotherProgram) {
  Program program = Expanded(ParsedProgram(kSwish));
  CompositeMap map = *ReadCompositeMap(program);
  map.mutable_composites(0)->set_block(7);
  Rewriter(&program, "test").SetComposites(map.SerializeAsString());
  const absl::Status status = Refusal(std::move(program));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the map of composites does not fit the program: there is no block 7"));
}

}  // namespace
}  // namespace fixpoint
