#include "tools/program_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ProgramStats Stats(absl::string_view text) {
  auto desc = ParseProgramText(text, "program.txt");
  EXPECT_TRUE(desc.ok()) << desc.status();
  const auto program = Program::Create(*std::move(desc), "program.txt");
  EXPECT_TRUE(program.ok()) << program.status();
  return CollectStats(*program);
}

constexpr char kTraining[] = R"(program version=1008005
block 0 {
  var x f32[-1,3]
  var label i64[-1,1]
  var w f32[3,4] persistable
  var w2 f32[4,4] persistable
  var moment f32[4,4] persistable
  var mean f32[4] persistable
  var h f32[-1,4]
  var unused f32[2]
  mul(X=x, Y=w) -> (Out=h) {op_role=0}
  mul(X=h, Y=w2) -> (Out=h2) {op_role=256}
  batch_norm(X=h2, Mean=mean, Label=label) -> (Y=y, MeanOut=mean)
  mul_grad(X=x, Y=w) -> ("Y@GRAD"=g) {op_role=1}
  scale(X=rate) -> (Out=rate) {op_role=16}
  momentum(Param=w2, Grad=g, Velocity=moment) -> (ParamOut=w2, VelocityOut=moment) {op_role=2}
  send(X=g) {op_role=5}
}
)";

TEST(ProgramStats, TablesForPeople) {
  EXPECT_EQ(PrintStats(Stats(kTraining)), R"(version     1008005 (1.8.5)
edit log    no
quantized   no
blocks      1
variables   8
ops         7: 3 forward, 1 backward, 1 optimizer, 1 learning rate, 1 other
parameters  2 tensors, 112 bytes
other state 2 tensors, 80 bytes
feeds       x f32[-1,3]
            label i64[-1,1]
fetches     none

op type       count  forward  backward  optimizer  learning rate  other
mul               2        2         0          0              0      0
batch_norm        1        1         0          0              0      0
momentum          1        0         0          1              0      0
mul_grad          1        0         1          0              0      0
scale             1        0         0          0              1      0
send              1        0         0          0              0      1

parameters    count         bytes
f32[4,4]          1            64
f32[3,4]          1            48

other state    count         bytes
f32[4,4]           1            64
f32[4]             1            16
)");
}

TEST(ProgramStats, FeedAndFetchOpsNameFeedsAndFetches) {
  const ProgramStats stats = Stats(R"(
    var feed feed_minibatch persistable
    var image f32[-1,3]
    var other f32[1]
    feed(X=feed) -> (Out=image) {col=0}
    relu(X=image) -> (Out=y)
    relu(X=other) -> (Out=z)
    fetch(X=y) -> (Out=fetch)
  )");
  ASSERT_EQ(stats.feeds.size(), 1);
  EXPECT_EQ(stats.feeds[0].name, "image");
  EXPECT_EQ(stats.feeds[0].type, "f32[-1,3]");
  ASSERT_EQ(stats.fetches.size(), 1);
  EXPECT_EQ(stats.fetches[0].name, "y");
  EXPECT_EQ(stats.fetches[0].type, "");
  EXPECT_TRUE(stats.parameters.empty());
}

TEST(ProgramStats, SizesThatNobodyKnowsOrThatNoNumberHoldsAreBounded) {
  const ProgramStats stats = Stats(R"(
    var a f32[-1] persistable
    var b i8[9223372036854775807] persistable
    var c i8[9223372036854775807] persistable
    var d i8[9223372036854775807,2] persistable
    sum(X=[a, b, c, d]) -> (Out=y)
  )");
  ASSERT_EQ(stats.parameters.size(), 3);
  EXPECT_EQ(stats.parameters[0].type, "i8[9223372036854775807]");
  EXPECT_EQ(stats.parameters[0].tensors, 2);
  EXPECT_EQ(stats.parameters[0].bytes, 9223372036854775807);
  EXPECT_EQ(stats.parameters[1].bytes, 0);
  EXPECT_EQ(stats.parameters[2].bytes, 0);
  EXPECT_THAT(PrintStats(stats), HasSubstr("parameters  4 tensors, 9223372036854775808 bytes\n"));
}

TEST(ProgramStats, OpsOfEveryBlockCount) {
  const ProgramStats stats = Stats(R"(program
block 0 {
  while(X=n) {sub_block=block(1)}
}
block 1 parent=0 {
  var t f32[1]
  increment(X=n) -> (Out=n)
  increment(X=n) -> (Out=n)
}
)");
  EXPECT_EQ(stats.ops.total(), 3);
  ASSERT_EQ(stats.blocks.size(), 2);
  EXPECT_EQ(stats.blocks[1].ops, 2);
  EXPECT_EQ(stats.blocks[1].variables, 1);
}

TEST(ProgramStats, QuantizersAreCountedAndTheirWriterNamed) {
  EXPECT_THAT(PrintStats(Stats(R"(
    var w f32[4,4] persistable
    fake_quantize_dequantize_abs_max(X=w) -> (Out=w.q, OutScale=w.s) {bit_length=4}
    fake_quantize_dequantize_abs_max(X=x) -> (Out=x.q, OutScale=x.s)
    fake_quantize_dequantize_abs_max(X=y) -> (Out=y.q, OutScale=y.s)
  )")),
              AllOf(HasSubstr("\nquantized   by another tool\n"), HasSubstr(R"(
quantizers                        bits  of weights  of activations
fake_quantize_dequantize_abs_max     4           1               0
fake_quantize_dequantize_abs_max     8           0               2
)")));
}

TEST(ProgramStats, AProgramThatFixpointChangedAndDidNotQuantizeIsNotQuantized) {
  EXPECT_THAT(PrintStats(Stats(R"(
    relu(X=x) -> (Out=y) {fixpoint.rewired=["X.0=z"]}
  )")),
              HasSubstr("\nquantized   no; changed by Fixpoint\n"));
}

}  // namespace
}  // namespace fixpoint
