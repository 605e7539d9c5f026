// inspect cost as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A product that integers compute, and a softmax that they do not.
constexpr char kProgram[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[-1,8]
  var w f32[8,4] persistable
  var y f32[-1,4]
  var z f32[-1,4]
  feed(X=feed) -> (Out=x) {col=0}
  mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
  softmax(X=y) -> (Out=z) {axis=-1}
  fetch(X=z) -> (Out=fetch) {col=0}
}
)";

class InspectCost : public testing::Test {
 protected:
  InspectCost() { folder_.Write("net.txt", kProgram); }

  BinaryRun Run(std::vector<std::string> arguments) const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    arguments.insert(arguments.begin(), "cost");
    return RunBinary("tools/inspect", arguments, options);
  }

  TemporaryFolder folder_;
};

TEST_F(InspectCost, TellsOfBothFormsSideBySide) {
  const BinaryRun run = Run({"--batch_size=2", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("program  net.txt, batch size 2, one thread\nkernels  "));
  EXPECT_THAT(run.out, ContainsRegex("\n +float +integers\n"
                                     "parameters +128 bytes +48 bytes\n"));
  EXPECT_THAT(run.out, ContainsRegex("\nmultiply-adds +64 +64\n"
                                     "  on integers +0\\.0 % +100\\.0 %\n"
                                     "expected time +[0-9.]+ ms +[0-9.]+ ms\n"));
}

TEST_F(InspectCost, TellsWhatBoundsTheStepsOfEach) {
  const BinaryRun run = Run({"--batch_size=2", "net.txt"});
  EXPECT_THAT(run.out, ContainsRegex("\nsteps +multiply-adds +bytes +expected ms +share +bound by "
                                     "+float\n"));
  EXPECT_THAT(run.out, ContainsRegex("\n +1 +64 +[0-9]+ +[0-9.]+ +[0-9.]+% +[a-z]+ +mul <"));
  EXPECT_THAT(run.out, ContainsRegex("\n +1 +64 +[0-9]+ +[0-9.]+ +[0-9.]+% +[a-z]+ +integer_mul"));
  EXPECT_THAT(run.out, ContainsRegex("\n +1 +0 +64 +[0-9.]+ +[0-9.]+% +[a-z]+ +softmax"));
}

TEST_F(InspectCost, TellsWhichProductsAreSlowerThanInFloat) {
  setenv("ONEDNN_MAX_CPU_ISA", "SSE41", /*overwrite=*/1);
  const BinaryRun run = Run({"net.txt"});
  const BinaryRun json = Run({"--json", "net.txt"});
  unsetenv("ONEDNN_MAX_CPU_ISA");
  EXPECT_THAT(run.out, HasSubstr("\nslower than in float: 1 of 1 products of codes\n"));
  EXPECT_THAT(run.out, ContainsRegex("integer_mul <[^>]*, 0\\.[0-9]+ of the speed of floats>\n"));
  EXPECT_THAT(json.out, HasSubstr("\"coded_products\": 1,\n    \"slower_than_floats\": 1,\n"));
}

TEST_F(InspectCost, TellsWhyAnOpStaysOnNumbers) {
  const BinaryRun run = Run({"net.txt"});
  EXPECT_THAT(run.out, HasSubstr("\nstays in float:\n"
                                 "softmax -> z: no_rule: float: no rule computes its type on "
                                 "integers\n"));
}

TEST_F(InspectCost, IsJsonToo) {
  const BinaryRun run = Run({"--json", "--batch_size=2", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("\"given\": {\n    \"parameter_bytes\": 128,\n"),
            HasSubstr("\"integers\": {\n    \"parameter_bytes\": 48,\n"),
            HasSubstr("\"multiply_adds\": 64,\n    \"integer_multiply_adds\": 64,\n"),
            HasSubstr("\"floats\": [\n    {\n      \"type\": \"softmax\",\n      \"output\": "
                      "\"z\",\n      \"reason\": \"no_rule\",\n")));
}

// The backward pass is left out, and what is fed and computed is found.
TEST_F(InspectCost, OfATrainingProgramIsThatOfItsInference) {
  folder_.Write("train.txt", R"(program version=2006002
block 0 {
  var x f32[-1,8]
  var label i64[-1,1]
  var w f32[8,4] persistable
  var y f32[-1,4]
  var p f32[-1,4]
  var loss f32[-1,1]
  var w@GRAD f32[8,4]
  mul(X=x, Y=w) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
  softmax_with_cross_entropy(Logits=y, Label=label) -> (Loss=loss, Softmax=p)
  mul_grad(X=x, Y=w, Out@GRAD=p) -> (Y@GRAD=w@GRAD) {op_role=1}
}
)");
  const BinaryRun run = Run({"train.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("\nmultiply-adds +32 +32\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("mul_grad")));
}

TEST_F(InspectCost, SaysWhyNothingRunsOnIntegers) {
  folder_.Write("net.txt", "var x f32[-1,8]\nvar y f32[-1,8]\nsin(X=x) -> (Out=y)\n");
  const BinaryRun run = Run({"--fetches=y", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nnot on integers: net.txt: "));
}

TEST_F(InspectCost, OfALoweredProgramSaysThatItIsOne) {
  folder_.Write("lowered.txt", R"(var x f32[-1,2]
var x.q i8[-1,2]
var w.int8 i8[2,2] persistable
var y.scales f32[2] persistable
var y f32[-1,2]
integer_quantize(X=x) -> (Out=x.q) {multiplier=63.5, smallest_code=-128, out_dtype=21, out_range=2.0, out_largest_code=127}
integer_mul(Scales=y.scales, X=x.q, Y=w.int8) -> (Out=y) {x_num_col_dims=1}
)");
  setenv("ONEDNN_MAX_CPU_ISA", "SSE41", /*overwrite=*/1);
  const BinaryRun run = Run({"--fetches=y", "lowered.txt"});
  unsetenv("ONEDNN_MAX_CPU_ISA");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("\non integers as given: lowered.txt: is lowered already: it has an "
                        "op integer_quantize\n"
                        "without VNNI codes are multiplied as floats: the results are the "
                        "same bits\n"
                        "slower than in float: 1 of 1 products of codes\n"));
}

TEST_F(InspectCost, ExtentsThatTheProgramLeavesOpenAreGiven) {
  folder_.Write("net.txt", "var x f32[-1,-1]\nvar y f32[-1,-1]\nsin(X=x) -> (Out=y)\n");
  const BinaryRun run = Run({"--fetches=y", "--shapes=x=3x5", "net.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("\nbytes moved +120 bytes\n"));
}

TEST_F(InspectCost, SamplesGiveExtentsAndLengths) {
  folder_.Write("words.txt", "var x f32[-1,8] lod=1\nvar y f32[-1,8]\nsin(X=x) -> (Out=y)\n");
  folder_.Write("x.npy", *NpyBytes(Tensor::FromValues<float>({3, 8}, std::vector<float>(24, 1))));
  folder_.Write("lengths.npy", *NpyBytes(Tensor::FromValues<int64_t>({2}, {2, 1})));
  const BinaryRun run = Run(
      {"--fetches=y", "--data=npy:x=x.npy,x.lengths=lengths.npy", "--batch_size=2", "words.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("program  words.txt, batch size 2, one thread\n"));
  // Three rows of eight floats are read, and as many are written.
  EXPECT_THAT(run.out, ContainsRegex("\nbytes moved +192 bytes"));
}

// Two tables of integers, one of them of sequences of sequences, and floats, none an image.
TEST_F(InspectCost, OfAnyInputs) {
  folder_.Write("words.txt", R"(
var words i64[-1,1] lod=2
var user i64[-1,1]
var price f32[-1,4]
var weather f32[-1,-1]
var table f32[100,4] persistable
var rows f32[-1,4] lod=2
var text f32[-1,4] lod=1
var known f32[-1,4]
var sum f32[-1,4]
var unused f32[-1,-1]
lookup_table(Ids=words, W=table) -> (Out=rows)
sequence_pool(X=rows) -> (Out=text) {pooltype="SUM"}
lookup_table(Ids=user, W=table) -> (Out=known)
elementwise_add(X=known, Y=price) -> (Out=sum)
relu(X=weather) -> (Out=unused)
)");
  const BinaryRun run =
      Run({"--fetches=text,sum", "--shapes=words=2+1/5+7+3x1", "--batch_size=2", "words.txt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("lookup_table"));
  EXPECT_THAT(run.out, ContainsRegex("sequence_pool"));
  EXPECT_THAT(run.out, Not(HasSubstr("relu")));
}

TEST_F(InspectCost, AFedVariableThatNoBlockDeclaresIsTold) {
  folder_.Write("undeclared.txt", R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var y f32[-1,3]
feed(X=feed) -> (Out=x) {col=0}
relu(X=x) -> (Out=y)
fetch(X=y) -> (Out=fetch) {col=0}
)");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--batch_size=2"}, {"--fetches=y"}, {"--shapes=x=1x3"}}) {
    std::vector<std::string> arguments = {"undeclared.txt"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const BinaryRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_EQ(run.err,
              "inspect: undeclared.txt: block 0, op 0 (feed): output Out names \"x\", which no "
              "block declares; want it declared\n");
  }
}

TEST_F(InspectCost, WhatCannotBeKnownIsTold) {
  folder_.Write("open.txt", "var x f32[-1,-1]\nvar y f32[-1,-1]\nsin(X=x) -> (Out=y)\n");
  folder_.Write("parameter.txt",
                "var x f32[-1,8]\nvar w f32[-1,4] persistable\nvar y f32[-1,4]\n"
                "mul(X=x, Y=w) -> (Out=y)\n");
  folder_.Write("words.txt", "var x f32[-1,8] lod=1\nvar y f32[-1,8]\nsin(X=x) -> (Out=y)\n");
  folder_.Write("nested.txt", "var x f32[-1,8] lod=2\nvar y f32[-1,8]\nsin(X=x) -> (Out=y)\n");
  folder_.Write("rule.textproto", "rules { op_type: \"conv2d\" }\n");
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    std::string error;
  } kCases[] = {
      {{"--fetches=y", "open.txt"},
       2,
       "the program does not declare the shape of \"x\", which it is fed; want --shapes=x=EXTENTS"},
      {{"--fetches=y", "--shapes=x", "open.txt"},
       2,
       "--shapes: \"x\"; want NAME=EXTENTS, as image=1x3x224x224"},
      {{"--fetches=y", "--shapes=z=1x2", "open.txt"}, 2, "--shapes: open.txt is not fed \"z\""},
      {{"--shapes=x=1x8x1", "net.txt"},
       2,
       "--shapes: \"x\" is declared [-1, 8], and cannot be [1, 8, 1]"},
      {{"--shapes=x=1x9", "net.txt"},
       3,
       "inspect: net.txt: block 0, op 1 (mul): X is [1, 9] and Y [8, 4]; want matrices that can "},
      {{"open.txt"}, 2, "open.txt fetches nothing and has no cross entropy: which variable is "},
      {{"--fetches=q", "net.txt"}, 2, "--fetches: block 0 of net.txt has no variable \"q\""},
      {{"--batch_size=0", "net.txt"}, 2, "--batch_size=0"},
      {{"--target=tpu", "net.txt"}, 2, "--target: "},
      {{"--config=rule.textproto", "net.txt"}, 3, "rule.textproto: "},
      {{"--fetches=y", "parameter.txt"},
       3,
       "inspect: parameter.txt: the parameter \"w\" is declared FP32 [-1, 4]; want known extents"},
      {{"--shapes=x=1x8", "--data=npz:x.npz", "net.txt"}, 2, "--shapes and --data: "},
      {{"--fetches=y", "words.txt"},
       2,
       "the cost depends on the lengths of the sequences in \"x\", which words.txt is fed as [-1, "
       "8]; want them in --shapes=x=EXTENTS, the first as their sum: 5+7+3x1, or in samples: "
       "--data=NAME"},
      {{"--fetches=y", "--shapes=x=3+x8", "words.txt"},
       2,
       "--shapes: \"x=3+x8\"; want NAME=EXTENTS"},
      {{"--fetches=y", "--shapes=x=9223372036854775807+1x8", "words.txt"}, 2, "want NAME=EXTENTS"},
      {{"--fetches=y", "--shapes=x=2/1+3x8", "words.txt"},
       2,
       "--shapes: \"x\" is declared with 1 level of sequences, and is given 2"},
      {{"--shapes=x=1+2x8", "net.txt"},
       2,
       "--shapes: \"x\" is declared with 0 levels of sequences, and is given 1"},
      {{"--fetches=y", "--shapes=x=2+1/5+7x8", "nested.txt"},
       2,
       "--shapes: \"x\": a level counts 3 sequences, and the next one has 2"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.error);
    const BinaryRun run = Run(c.arguments);
    EXPECT_EQ(run.exit_code, c.exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.error));
    EXPECT_EQ(run.out, "");
  }
}

}  // namespace
}  // namespace fixpoint
