#include "runtime/op_by_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/backends.h"
#include "runtime/comparison.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

// 0.5 is a tie, which even.txt rounds the other way; the sum after it is twice that.
constexpr char kAway[] = R"(var x f32[-1,2]
var s f32[1] persistable
var zero i32[1] persistable
var q f32[-1,2]
var y f32[-1,2]
var z f32[-1,2]
quantize_linear(X=x, Scale=s, ZeroPoint=zero) -> (Y=q) {quant_axis=-1, bit_length=2, round_type=1}
scale(X=q) -> (Out=y) {scale=2.0}
elementwise_add(X=y, Y=y) -> (Out=z)
)";
constexpr char kEven[] = R"(var x f32[-1,2]
var q i8[-1,2]
var y f32[-1,2]
var z f32[-1,2]
integer_quantize(X=x) -> (Out=q) {multiplier=0.5, smallest_code=-1, out_dtype=21, out_range=2.0, out_largest_code=1}
integer_dequantize(X=q) -> (Out=y) {range=2.0, largest_code=1}
elementwise_add(X=y, Y=y) -> (Out=z)
)";

class OpByOp : public testing::TestWithParam<BackendKind> {
 protected:
  // "q: 1 of 2 differ, 1 ties" of each variable.
  std::vector<std::string> Differences(bool op_by_op) {
    const Program away = ParsedProgram(kAway);
    const Program even = ParsedProgram(kEven);
    Scope range;
    range.Set("s", Tensor::FromValues<float>({1}, {2}));
    range.Set("zero", Tensor::FromValues<int32_t>({1}, {0}));
    const OpByOpProgram given = MakeOpByOp(even, away);
    const Program& program = op_by_op ? given.program : even;
    const auto backend = MakeBackend(GetParam(), program, &range);
    const auto other = MakeBackend(GetParam(), away, &range);
    RunnableProgram runnable = {&program, backend->get(), &range};
    if (op_by_op) runnable.given = given.given;
    auto comparison = Comparison::Create(runnable, {&away, other->get(), &range});
    const Tensor x = Tensor::FromValues<float>({1, 2}, {1, 2});
    const Feed feeds[] = {{"x", &x}};
    EXPECT_EQ(comparison->Run(feeds), absl::OkStatus());
    std::vector<std::string> lines;
    for (const ComparedVariable& variable : comparison->variables()) {
      lines.push_back(absl::StrCat(variable.name, ": ", variable.different, " of ",
                                   variable.elements, " differ, ", variable.ties, " ties"));
    }
    return lines;
  }
};

TEST_P(OpByOp, ADifferenceIsSeenWhereItArises) {
  EXPECT_THAT(Differences(/*op_by_op=*/false),
              ElementsAre("q: 1 of 2 differ, 1 ties", "y: 1 of 2 differ, 0 ties",
                          "z: 1 of 2 differ, 0 ties"));
  EXPECT_THAT(Differences(/*op_by_op=*/true),
              ElementsAre("q: 1 of 2 differ, 1 ties", "y: 0 of 2 differ, 0 ties",
                          "z: 0 of 2 differ, 0 ties"));
}

// A value that is not a code is given as the nearest code.
TEST_P(OpByOp, CodesAreGivenForNumbers) {
  const Program numbers = ParsedProgram(
      "var x f32[4]\nvar q f32[4]\nvar y f32[4]\nassign(X=x) -> (Out=q)\nassign(X=q) -> (Out=y)\n");
  const Program codes = ParsedProgram(R"(var x f32[4]
var q i8[4]
var y f32[4]
integer_quantize(X=x) -> (Out=q) {multiplier=1.0, smallest_code=-128, out_dtype=21, out_range=127.0, out_largest_code=127}
integer_dequantize(X=q) -> (Out=y) {range=127.0, largest_code=127}
)");
  const OpByOpProgram given = MakeOpByOp(codes, numbers);
  Scope none;
  const auto backend = MakeBackend(GetParam(), given.program, &none);
  const auto other = MakeBackend(GetParam(), numbers, &none);
  RunnableProgram runnable = {&given.program, backend->get(), &none};
  runnable.given = given.given;
  auto comparison = Comparison::Create(runnable, {&numbers, other->get(), &none});
  const Tensor x = Tensor::FromValues<float>({4}, {5, -1000, 3, 1000});
  const Feed feeds[] = {{"x", &x}};
  EXPECT_EQ(comparison->Run(feeds), absl::OkStatus());
  const ComparedVariable& y = comparison->variables()[1];
  EXPECT_EQ(y.different, 2);
  EXPECT_EQ(y.noise, (1000.0 - 128) * (1000 - 128) + (1000.0 - 127) * (1000 - 127));
}

INSTANTIATE_TEST_SUITE_P(Backends, OpByOp,
                         testing::Values(BackendKind::kOneDnn, BackendKind::kReference),
                         [](const auto& info) {
                           return info.param == BackendKind::kOneDnn ? "OneDnn" : "Reference";
                         });

TEST(MakeOpByOp, LeavesShapesWhichAPlanHasToKnow) {
  const Program program = ParsedProgram(R"(var x f32[-1,2]
var extents i32[2]
var y f32[-1,2]
shape(Input=x) -> (Out=extents)
reshape(X=x, Shape=extents) -> (Out=y) {shape=[0]}
)");
  const OpByOpProgram given = MakeOpByOp(program, program);
  ASSERT_EQ(given.given.size(), 1);
  EXPECT_EQ(given.given[0].name, "y");
  EXPECT_EQ(given.program.block(0).last_op()->Input("Shape")->name(), "extents");
}

TEST(MakeOpByOp, LeavesTensorsOfNoDeclaredType) {
  const Program program = ParsedProgram(R"(var x f32[2]
var h lod_tensor
var y f32[2]
relu(X=x) -> (Out=h)
relu(X=h) -> (Out=y)
)");
  const OpByOpProgram given = MakeOpByOp(program, program);
  ASSERT_EQ(given.given.size(), 1);
  EXPECT_EQ(given.given[0].name, "y");
  EXPECT_EQ(given.program.block(0).last_op()->Input("X")->name(), "h");
}

TEST(MakeOpByOp, LeavesWhatIsWrittenTwiceAndWhatTheOtherLacks) {
  const Program program = ParsedProgram(R"(var x f32[2]
var once f32[2]
var twice f32[2]
var own f32[2]
var out f32[2]
relu(X=x) -> (Out=once)
relu(X=x) -> (Out=twice)
relu(X=once) -> (Out=own)
elementwise_add(X=twice, Y=own) -> (Out=twice)
elementwise_add(X=once, Y=twice) -> (Out=out)
)");
  const Program other = ParsedProgram(R"(var x f32[2]
var once f32[2]
var twice f32[2]
relu(X=x) -> (Out=once)
relu(X=once) -> (Out=twice)
)");
  const OpByOpProgram given = MakeOpByOp(program, other);
  ASSERT_EQ(given.given.size(), 1);
  EXPECT_EQ(given.given[0].name, "once");
  EXPECT_EQ(given.given[0].given_as, "once.given");
  std::vector<std::string> ops;
  for (const Op& op : given.program.block(0).ops()) ops.push_back(PrintOp(op.desc()));
  EXPECT_THAT(ops, ElementsAre("relu(X=x) -> (Out=once)", "relu(X=x) -> (Out=twice)",
                               "relu(X=once.given) -> (Out=own)",
                               "elementwise_add(X=twice, Y=own) -> (Out=twice)",
                               "elementwise_add(X=once.given, Y=twice) -> (Out=out)"));
}

}  // namespace
}  // namespace fixpoint
