// infer --compare as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/infer_fixture.h"

namespace fixpoint {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The file of one INT32 [1]: 0.
const std::string kZero =
    std::string(16, '\0') + std::string("\x04\0\0\0\x08\x02\x10\x01", 8) + std::string(4, '\0');

TEST_F(Infer, AProgramIsComparedWithItself) {
  const BinaryRun run = Run({"net.txt", "--params=params", "--compare=net.txt", "--feeds=x=x.npy",
                             "--compare_backend=onednn"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "variable   elements     differ         largest        SNR  first\n"
            "y                 4          0               -          -  -\n"
            "0 elements differ, of 4 in 1 variables\n");
}

TEST_F(Infer, CodesAreComparedInSteps) {
  folder_.Write("codes.txt", kCodes);
  const BinaryRun run =
      Run({"codes.txt", "--compare=net.txt", "--compare_params=params", "--feeds=x=x.npy"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(run.out,
            "variable   elements     differ         largest        SNR  first\n"
            "y                 4          2         1 steps    17.8 dB  "
            "run 0, element 2: 7 and 6\n"
            "2 elements differ, of 4 in 1 variables; the first is y\n");
}

TEST_F(Infer, WhatDiffersIsToldAsJson) {
  folder_.Write("codes.txt", kCodes);
  const BinaryRun run = Run(
      {"codes.txt", "--compare=net.txt", "--compare_params=params", "--feeds=x=x.npy", "--json"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(run.out, R"({
  "schema_version": 1,
  "program": "codes.txt",
  "other": "net.txt",
  "elements": 4,
  "different": 2,
  "ties": 0,
  "other_zeros": 0,
  "first_that_differs": "y",
  "variables": [
    {
      "name": "y",
      "elements": 4,
      "different": 2,
      "ties": 0,
      "other_zeros": 0,
      "unit": "steps",
      "largest": 1,
      "largest_as_number": 1,
      "signal_to_noise_db": 17.7815125,
      "first": {
        "run": 0,
        "element": 2,
        "value": 7,
        "other": 6
      }
    }
  ],
  "left_out": []
}
)");
}

TEST_F(Infer, WhatDiffersIsReportedForPeople) {
  folder_.Write("codes.txt", kCodes);
  const std::vector<std::string> flags = {"net.txt", "--compare=codes.txt", "--params=params",
                                          "--feeds=x=x.npy"};
  const auto report = [&](const std::string& file) {
    std::vector<std::string> arguments = flags;
    arguments.push_back("--report=" + file);
    const BinaryRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_THAT(run.out, EndsWith("the first is y\n"));
    return folder_.Read(file);
  };
  EXPECT_THAT(report("found.textproto"), HasSubstr("  difference {\n"
                                                   "    elements: 4\n"
                                                   "    different: 2\n"
                                                   "    largest: 1\n"
                                                   "    in_steps: true\n"
                                                   "  }\n"));
  // Not EXPECT_THAT, which would print the page.
  EXPECT_TRUE(absl::StrContains(report("found.html"), "2 of 4, at most 1 steps"));
  EXPECT_EQ(Run({"net.txt", "--params=params", "--feeds=x=x.npy", "--report=r.html"}).exit_code, 2);
}

TEST_F(Infer, WhatIsNotComparedIsTold) {
  folder_.Write("one.txt", R"(var x f32[-1,2]
var a f32[-1,2]
var n f32[1] persistable
var y f32[-1,2]
scale(X=x) -> (Out=a) {scale=2.0}
fill_constant() -> (Out=n) {shape=[1L], dtype=5, value=1.0}
relu(X=a) -> (Out=y)
)");
  folder_.Write("two.txt", R"(var x f32[-1,2]
var b f32[-1,2]
var c f32[-1,2]
var y f32[-1,2]
relu(X=x) -> (Out=b)
scale(X=b) -> (Out=c) {scale=1.0}
scale(X=c) -> (Out=y) {scale=2.0}
)");
  folder_.Write("state/n", kTwo);
  const std::vector<std::string> arguments = {"one.txt", "--params=state", "--compare=two.txt",
                                              "--feeds=x=x.npy"};
  const BinaryRun run = Run(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, EndsWith("left out, because only one.txt writes them: a\n"
                                "left out, because only two.txt writes them: b, c\n"
                                "left out, because they are state, which is persistable: n\n"
                                "0 elements differ, of 4 in 1 variables\n"));
  std::vector<std::string> as_json = arguments;
  as_json.push_back("--json");
  EXPECT_THAT(Run(as_json).out, HasSubstr(R"("left_out": [
    {
      "name": "a",
      "why": "only_in_program"
    },
)"));
}

TEST_F(Infer, WhatOpsWriteInTrainingAloneIsNotCompared) {
  folder_.Write("dropout.txt", R"(var x f32[-1,2]
var m u8[-1,2]
var y f32[-1,2]
dropout(X=x) -> (Mask=m, Out=y) {is_test=true}
)");
  for (const char* backend : {"onednn", "reference"}) {
    const BinaryRun run = Run({"dropout.txt", "--compare=dropout.txt", "--feeds=x=x.npy",
                               std::string("--compare_backend=") + backend});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, EndsWith("left out, because ops write them in training alone: m\n"
                                  "0 elements differ, of 4 in 1 variables\n"));
  }
}

TEST_F(Infer, ImagesThatTheOtherProgramLacksAreToldAsAFlag) {
  folder_.Write("zero.txt", kAlwaysZero);
  folder_.Write("other.txt", absl::StrReplaceAll(kAlwaysZero, {{"image", "input"}}));
  const BinaryRun run = Run({"zero.txt", "--compare=other.txt", "--data=digits:500"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--images: block 0 of other.txt has no variable \"image\""));
}

TEST_F(Infer, ZerosOfTheOtherSignAreEqualAndTold) {
  Save("signs.npy", Tensor::FromValues<float>({1, 2}, {-0.0F, 1}));
  folder_.Write("sum.txt", "var x f32[-1,2]\nvar y f32[-1,2]\nscale(X=x) -> (Out=y) {bias=0.0}\n");
  folder_.Write("same.txt", "var x f32[-1,2]\nvar y f32[-1,2]\nassign(X=x) -> (Out=y)\n");
  const BinaryRun run = Run({"sum.txt", "--compare=same.txt", "--feeds=x=signs.npy"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, EndsWith("0 elements differ, of 2 in 1 variables; 1 zeros have the other "
                                "sign\n"));
}

TEST_F(Infer, TiesThatAreRoundedAreTold) {
  folder_.Write("away.txt", R"(var x f32[-1,2]
var s f32[1] persistable
var zero i32[1] persistable
var q f32[-1,2]
var y f32[-1,2]
quantize_linear(X=x, Scale=s, ZeroPoint=zero) -> (Y=q) {quant_axis=-1, bit_length=2, round_type=1}
scale(X=q) -> (Out=y) {scale=2.0}
)");
  folder_.Write("even.txt", R"(var x f32[-1,2]
var q i8[-1,2]
var y f32[-1,2]
integer_quantize(X=x) -> (Out=q) {multiplier=0.5, smallest_code=-1, out_dtype=21, out_range=2.0, out_largest_code=1}
integer_dequantize(X=q) -> (Out=y) {range=2.0, largest_code=1}
)");
  folder_.Write("range/s", kTwo);
  folder_.Write("range/zero", kZero);
  const BinaryRun run = Run({"even.txt", "--compare=away.txt", "--compare_params=range",
                             "--op_by_op", "--feeds=x=x.npy"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, EndsWith("1 element differs, of 8 in 2 variables; the first is q; 1 by one "
                                "step where a tie is rounded\n"));
}

TEST_F(Infer, BatchesOfADataSetAreCompared) {
  folder_.Write("zero.txt", kAlwaysZero);
  const BinaryRun run = Run({"zero.txt", "--compare=zero.txt", "--data=digits:500",
                             "--batch_size=10", "--batches=3", "--compare_backend=onednn"});
  EXPECT_THAT(run.out, HasSubstr("scores           60 "));
}

// What ops are given is none of what the program is fed.
TEST_F(Infer, BatchesOfADataSetAreComparedOpByOp) {
  constexpr char kTwoOps[] = R"(
    var images f32[-1,1,28,28]
    var rows f32[-1,784]
    var scores f32[-1,784]
    flatten(X=images) -> (Out=rows) {axis=1}
    relu(X=rows) -> (Out=scores)
  )";
  folder_.Write("two.txt", kTwoOps);
  const BinaryRun run =
      Run({"two.txt", "--compare=two.txt", "--op_by_op", "--data=digits:500", "--batch_size=10"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("0 elements differ, of 15680 in 2 variables"));
}

}  // namespace
}  // namespace fixpoint
