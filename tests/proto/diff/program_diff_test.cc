#include "proto/diff/program_diff.h"

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/random_message.h"

namespace fixpoint {
namespace {

Program ParsedProgram(absl::string_view text) {
  auto desc = ParseProgramText(text, "program.txt");
  EXPECT_TRUE(desc.ok()) << desc.status();
  auto program = Program::Create(*std::move(desc), "program.txt");
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

std::string Diff(absl::string_view a, absl::string_view b, const DiffOptions& options = {}) {
  return PrintDiff(DiffPrograms(ParsedProgram(a), ParsedProgram(b), options));
}

DiffOptions IgnoreNames() {
  DiffOptions options;
  options.ignore_temporary_names = true;
  return options;
}

DiffOptions Strict() {
  DiffOptions options;
  options.strict = true;
  return options;
}

TEST(ProgramDiff, OfAProgramAndItselfIsEmpty) {
  constexpr char kText[] = R"(
    var x f32[-1,3]
    mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1}
    mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1}
  )";
  EXPECT_EQ(Diff(kText, kText), "");
  EXPECT_EQ(Diff(kText, kText, IgnoreNames()), "");
  EXPECT_EQ(Diff(kText, kText, Strict()), "");
}

TEST(ProgramDiff, AnInsertedOpAndItsReaderAreTwoDifferences) {
  EXPECT_EQ(Diff(R"(
              var x f32[-1,3]
              mul(X=x, Y=w) -> (Out=y)
              relu(X=y) -> (Out=z)
            )",
                 R"(
              var x f32[-1,3]
              var x.q f32[-1,3]
              fake_quantize_dequantize_abs_max(X=x) -> (Out=x.q) {bit_length=8}
              mul(X=x.q, Y=w) -> (Out=y)
              relu(X=y) -> (Out=z)
            )"),
            R"(@@ block 0 @@
+ var x.q f32[-1,3]
+ op 0: fake_quantize_dequantize_abs_max(X=x) -> (Out=x.q) {bit_length=8}
~ op 0 -> 1: mul(X=x.q, Y=w) -> (Out=y)
    input X: x -> x.q
)");
}

TEST(ProgramDiff, EachChangedPartOfAnOpHasALine) {
  EXPECT_EQ(Diff(R"(
              conv2d(Bias=b, Filter=w, Input=x) -> (Output=y) {groups=1, strides=[1, 1]}
              sum(X=[y, x]) -> (Out=z)
            )",
                 R"(
              conv2d(Filter=w, Input=x) -> (Output=y) {groups=1L, strides=[2, 2], alpha=0.5}
              sum(X=[y, x, x]) -> (Out=z, "odd slot"="odd name")
            )"),
            R"(@@ block 0 @@
~ op 0: conv2d(Filter=w, Input=x) -> (Output=y)
    input Bias: b -> absent
    attribute alpha: absent -> 0.5
    attribute groups: 1 -> 1L
    attribute strides: [1, 1] -> [2, 2]
~ op 1: sum(X=[y, x, x]) -> (Out=z, "odd slot"="odd name")
    input X: [y, x] -> [y, x, x]
    output "odd slot": absent -> "odd name"
)");
}

TEST(ProgramDiff, RemovedOpsAndVariablesAreShownWhole) {
  EXPECT_EQ(Diff(R"(
              var y f32[-1,3]
              relu(X=x) -> (Out=y) {use_cudnn=false}
              relu(X=y) -> (Out=z)
            )",
                 R"(
              relu(X=y) -> (Out=z)
            )"),
            R"(@@ block 0 @@
- var y f32[-1,3]
- op 0: relu(X=x) -> (Out=y) {use_cudnn=false}
)");
}

TEST(ProgramDiff, AChangedDeclarationIsShownBeforeAndAfter) {
  EXPECT_EQ(Diff("var w f32[3,4] persistable\n", "var w i8[3,4] persistable\n"),
            R"(@@ block 0 @@
- var w f32[3,4] persistable
+ var w i8[3,4] persistable
)");
}

TEST(ProgramDiff, TheHeaderIsComparedFieldByField) {
  EXPECT_EQ(Diff(R"(program retired_version="ab" version=1008000 op_versions={conv2d=1, mul=1}
                    block 0 {
                    })",
                 R"(program version=2006002 op_versions={matmul=1, conv2d=2}
                    block 0 {
                    })"),
            R"(@@ program @@
~ version: 1008000 -> 2006002
~ op version conv2d: 1 -> 2
~ op version matmul: absent -> 1
~ op version mul: 1 -> absent
~ retired_version: 2 bytes -> absent
)");
}

TEST(ProgramDiff, OrderAndWrittenDefaultsAndEmptySlotsCountOnlyWhenStrict) {
  constexpr char kA[] = R"(
    var a f32[1]
    var b f32[1] persistable=false
    conv2d(Input=x, Filter=w, Bias=[]) -> (Output=y) {groups=1, strides=[1, 1]}
  )";
  constexpr char kB[] = R"(
    var b f32[1]
    var a f32[1] lod=0
    conv2d(Filter=w, Input=x) -> (Output=y) {strides=[1, 1], groups=1}
  )";
  EXPECT_EQ(Diff(kA, kB), "");
  EXPECT_EQ(Diff(kA, kB, IgnoreNames()), "");
  EXPECT_EQ(Diff(kA, kB, Strict()),
            R"(@@ block 0 @@
- var a f32[1]
+ var a f32[1] lod=0
- var b f32[1] persistable=false
+ var b f32[1]
~ order of variables: one order -> another order
~ op 0: conv2d(Filter=w, Input=x) -> (Output=y)
    written form: conv2d(Input=x, Filter=w, Bias=[]) -> (Output=y) {groups=1, strides=[1, 1]} -> conv2d(Filter=w, Input=x) -> (Output=y) {strides=[1, 1], groups=1}
)");
}

TEST(ProgramDiff, DebugAttributesAreIgnoredWhenAsked) {
  constexpr char kA[] = R"(relu(X=x) -> (Out=y) {op_callstack=["a.py"], op_role=0})";
  constexpr char kB[] = R"(relu(X=x) -> (Out=y) {op_role=0, op_callstack=["b.py"]})";
  EXPECT_EQ(Diff(kA, kB), R"(@@ block 0 @@
~ op 0: relu(X=x) -> (Out=y)
    attribute op_callstack: ["a.py"] -> ["b.py"]
)");
  DiffOptions options;
  options.ignore_debug_attributes = true;
  EXPECT_EQ(Diff(kA, kB, options), "");
  options.strict = true;
  EXPECT_EQ(Diff(kA, kB, options), "");
}

TEST(ProgramDiff, ARenamedTemporaryIsNoDifferenceWhenAsked) {
  constexpr char kA[] = R"(
    var x f32[1]
    var w f32[1] persistable
    var t f32[1]
    mul(X=x, Y=w) -> (Out=t)
    relu(X=t) -> (Out=undeclared)
    relu(X=undeclared) -> (Out=t)
  )";
  constexpr char kB[] = R"(
    var x f32[1]
    var w f32[1] persistable
    var s f32[1]
    mul(X=x, Y=w) -> (Out=s)
    relu(X=s) -> (Out=t)
    relu(X=t) -> (Out=s)
  )";
  EXPECT_EQ(Diff(kA, kB, IgnoreNames()), "");
  DiffOptions strict_but_names = IgnoreNames();
  strict_but_names.strict = true;
  EXPECT_EQ(Diff(kA, kB, strict_but_names), "");
  EXPECT_NE(Diff(kA, kB), "");
}

TEST(ProgramDiff, WhatOthersKnowByNameIsNotIgnored) {
  EXPECT_EQ(Diff(R"(
              var w f32[1] persistable
              feed(X=feed) -> (Out=image)
              mul(X=image, Y=w) -> (Out=y)
            )",
                 R"(
              var v f32[1] persistable
              feed(X=feed) -> (Out=picture)
              mul(X=picture, Y=v) -> (Out=z)
            )",
                 IgnoreNames()),
            R"(@@ block 0 @@
- var w f32[1] persistable
+ var v f32[1] persistable
~ op 0: feed(X=feed) -> (Out=picture)
    output Out: image -> picture
~ op 1: mul(X=picture, Y=v) -> (Out=z)
    input X: image -> picture
    input Y: w -> v
)");
}

TEST(ProgramDiff, TwoTemporariesAreNotOne) {
  // b's writes both go to one variable, so that its last op reads another value than a's.
  EXPECT_EQ(Diff(R"(
              relu(X=x) -> (Out=s)
              tanh(X=x) -> (Out=t)
              mul(X=s, Y=t) -> (Out=y)
            )",
                 R"(
              relu(X=x) -> (Out=u)
              tanh(X=x) -> (Out=u)
              mul(X=u, Y=u) -> (Out=y)
            )",
                 IgnoreNames()),
            R"(@@ block 0 @@
~ op 1: tanh(X=x) -> (Out=u)
    output Out: t -> u
~ op 2: mul(X=u, Y=u) -> (Out=y)
    input Y: t -> u
)");
}

TEST(ProgramDiff, AReaderOfAnotherTemporaryIsADifferenceThoughNamesAreIgnored) {
  EXPECT_EQ(Diff(R"(
              relu(X=x) -> (Out=s)
              tanh(X=x) -> (Out=t)
              sigmoid(X=s) -> (Out=y)
            )",
                 R"(
              relu(X=x) -> (Out=s2)
              tanh(X=x) -> (Out=t2)
              sigmoid(X=t2) -> (Out=y2)
            )",
                 IgnoreNames()),
            R"(@@ block 0 @@
~ op 2: sigmoid(X=t2) -> (Out=y2)
    input X: s -> t2
)");
}

TEST(ProgramDiff, AnInsertionAmongRenamedTemporariesIsOneDifference) {
  EXPECT_EQ(Diff(R"(
              relu(X=x) -> (Out=a)
              relu(X=a) -> (Out=b)
              tanh(X=b) -> (Out=c)
              relu(X=c) -> (Out=d)
            )",
                 R"(
              relu(X=x) -> (Out=t0)
              relu(X=t0) -> (Out=t1)
              sigmoid(X=t1) -> (Out=t2)
              tanh(X=t2) -> (Out=t3)
              relu(X=t3) -> (Out=t4)
            )",
                 IgnoreNames()),
            R"(@@ block 0 @@
+ op 2: sigmoid(X=t1) -> (Out=t2)
~ op 2 -> 3: tanh(X=t2) -> (Out=t3)
    input X: b -> t2
)");
}

constexpr char kLoop[] = R"(program
block 0 {
  while(X=n, Condition=c) -> (Out=n) {sub_block=block(1)}
}
block 1 parent=0 {
  var t f32[1]
  increment(X=n) -> (Out=n) {step=1.0}
}
)";

TEST(ProgramDiff, BlocksBelongTogetherByTheOpsThatRunThem) {
  constexpr char kWithOneBefore[] = R"(program
block 0 {
  conditional_block(Cond=p) -> (Out=q) {sub_block=block(1)}
  while(X=n, Condition=c) -> (Out=n) {sub_block=block(2)}
}
block 1 parent=0 {
  assign(X=p) -> (Out=q)
}
block 2 parent=0 {
  var t f32[1]
  increment(X=n) -> (Out=n) {step=2.0}
}
)";
  EXPECT_EQ(Diff(kLoop, kWithOneBefore), R"(@@ block 0 @@
+ op 0: conditional_block(Cond=p) -> (Out=q) {sub_block=block(1)}
@@ blocks @@
+ block 1 with 1 ops and 0 variables
@@ block 2 @@
~ op 0: increment(X=n) -> (Out=n)
    attribute step: 1.0 -> 2.0
)");
  EXPECT_EQ(Diff(kWithOneBefore, kLoop), R"(@@ block 0 @@
- op 0: conditional_block(Cond=p) -> (Out=q) {sub_block=block(1)}
@@ block 1 @@
~ op 0: increment(X=n) -> (Out=n)
    attribute step: 2.0 -> 1.0
@@ blocks @@
- block 1 with 1 ops and 0 variables
)");
}

TEST(ProgramDiff, TheNumberOfABlockCountsOnlyWhenStrict) {
  constexpr char kFirst[] = R"(program
block 0 {
  while(X=n) -> (Out=n) {sub_block=block(1)}
}
block 1 parent=0 {
}
block 2 parent=0 {
}
)";
  constexpr char kSecond[] = R"(program
block 0 {
  while(X=n) -> (Out=n) {sub_block=block(2)}
}
block 1 parent=0 {
}
block 2 parent=0 {
}
)";
  EXPECT_EQ(Diff(kFirst, kSecond), R"(@@ blocks @@
+ block 1 with 0 ops and 0 variables
- block 2 with 0 ops and 0 variables
)");
  EXPECT_THAT(Diff(kFirst, kSecond, Strict()),
              testing::HasSubstr("    attribute sub_block: block(1) -> block(2)\n"));
}

TEST(ProgramDiff, ANameThatABlockDeclaresTwiceIsNoDifferenceFromItself) {
  constexpr char kTwice[] = "var x f32[1]\nvar x f32[2]\n";
  EXPECT_EQ(Diff(kTwice, kTwice), "");
}

TEST(ProgramDiff, ProgramsWithTooLittleInCommonAreDifferentAndSaySo) {
  std::string a, b;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&a, "relu(X=a", i, ") -> (Out=a", i + 1, ")\n");
    absl::StrAppend(&b, "tanh(X=b", i, ") -> (Out=b", i + 1, ")\n");
  }
  const Program a_program = ParsedProgram(a);
  const Program b_program = ParsedProgram(b);
  const ProgramDiff diff = DiffPrograms(a_program, b_program);
  EXPECT_EQ(diff.differences.size(), 2000);
  EXPECT_THAT(diff.given_up_blocks, testing::ElementsAre(0));
  EXPECT_THAT(
      PrintDiff(diff),
      testing::EndsWith("# block 0: parts have too little in common to be compared op by op\n"));
}

// Gives one message at any place of a program other contents, or none.
void ChangeSomething(std::mt19937* random, ProgramDesc* program) {
  const auto below = [random](int bound) { return static_cast<int>((*random)() % bound); };
  BlockDesc& block = *program->mutable_blocks(below(program->blocks_size()));
  const auto change = [&](google::protobuf::Message* message) {
    message->Clear();
    FillRandomly(random, message);
  };
  if (block.ops().empty() || block.vars().empty()) return;
  OpDesc& op = *block.mutable_ops(below(block.ops_size()));
  VarDesc& var = *block.mutable_vars(below(block.vars_size()));
  switch (below(12)) {
    case 0:
      return change(&op);
    case 1:
      return change(&var);
    case 2:
      return change(op.mutable_inputs()->empty() ? op.add_inputs() : op.mutable_inputs(0));
    case 3:
      return change(op.add_outputs());
    case 4:
      return change(op.add_attrs());
    case 5:
      return change(var.mutable_type());
    case 6:
      return change(program->mutable_version());
    case 7:
      return change(program->mutable_op_version_map());
    case 8:
      return op.set_is_target(false);
    case 9:
      return block.set_forward_block_idx(-1);
    case 10:
      return op.mutable_attrs()->SwapElements(0, op.attrs_size() - 1);
    case 11:
      return block.mutable_vars()->SwapElements(0, block.vars_size() - 1);
  }
}

TEST(ProgramDiff, IsEmptyWhenStrictIfAndOnlyIfTheBytesAreEqual) {
  const Program original = ParsedProgram(R"(program version=2006002 op_versions={conv2d=1}
block 0 {
  var x f32[-1,3]
  var w f32[3,4] persistable
  var n i32[1]
  mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, alpha=0.5}
  while(X=[n, y], Condition=c) -> (Out=n) {sub_block=block(1), is_test=false}
}
block 1 parent=0 {
  var t f32[1]
  var s f32[1]
  increment(X=n) -> (Out=t) {step=1.0, role=1}
  relu(X=t) -> (Out=s) {a="1", b=[1, 2]}
}
)");
  const std::string original_bytes = original.Proto().SerializePartialAsString();
  const google::protobuf::LogSilencer names_need_not_be_utf8;
  std::mt19937 random(1);
  int compared = 0;
  for (int round = 0; round < 1000; ++round) {
    ProgramDesc desc = original.Proto();
    ChangeSomething(&random, &desc);
    const std::string bytes = desc.SerializePartialAsString();
    const auto changed = Program::Create(std::move(desc));
    if (!changed.ok()) continue;
    ++compared;
    const std::string text = PrintDiff(DiffPrograms(original, *changed, Strict()));
    ASSERT_EQ(text.empty(), bytes == original_bytes) << PrintProgram(changed->Proto()) << text;
    ASSERT_EQ(PrintDiff(DiffPrograms(*changed, *changed, Strict())), "");
    ASSERT_EQ(PrintDiff(DiffPrograms(*changed, *changed, IgnoreNames())), "");
    DiffPrograms(original, *changed, IgnoreNames());
  }
  EXPECT_GT(compared, 600);
}

}  // namespace
}  // namespace fixpoint
