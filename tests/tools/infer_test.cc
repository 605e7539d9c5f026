// infer as a user runs it on arrays and data sets, and to measure time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/backends.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/npy.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/infer_fixture.h"

namespace fixpoint {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST_F(Infer, ArraysGoInAndOutByNameOnEachBackend) {
  for (const std::string& backend : BackendNames()) {
    SCOPED_TRACE(backend);
    const BinaryRun run =
        Run({"net.txt", "--params=params", "--feeds=x=x.npy", "--fetches=y=y.npy"}, backend);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, "wrote y.npy\n");
    Scope written;
    written.Set("y", *LoadNpy(folder_.Path("y.npy")));
    EXPECT_EQ(PrintParameters(written), "y f32[2,2] 2 4 6 8\n");
    std::filesystem::remove(folder_.Path("y.npy"));
  }
}

// The reference runs all ops, the executor those that a fetch is computed of.
TEST_F(Infer, WantsTheArraysThatAreRead) {
  folder_.Write("two.txt", R"(var x f32[-1,2]
var label f32[-1,2]
var y f32[-1,2]
var loss f32[-1,2]
relu(X=x) -> (Out=y)
elementwise_sub(X=y, Y=label) -> (Out=loss)
)");
  const struct {
    std::string fetch;
    std::string backend;
    int exit_code;
    std::string error;
  } kCases[] = {
      {"--fetches=y=y.npy", "onednn", 0, ""},
      {"--fetches=y=y.npy", "reference", 2, "is fed \"label\"; want --feeds=label="},
      {"--fetches=loss=y.npy", "onednn", 2, "is fed \"label\"; want --feeds=label="},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.fetch + c.backend);
    const BinaryRun run = Run({"two.txt", "--feeds=x=x.npy", c.fetch}, c.backend);
    EXPECT_EQ(run.exit_code, c.exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.error));
  }
}

// Exporters declare the extents of an example.
TEST_F(Infer, AnArrayMayHaveOtherExtentsThanDeclared) {
  Save("long.npy", Tensor::FromValues<float>({1, 3}, {1, 2, 3}));
  for (const std::string& backend : BackendNames()) {
    const BinaryRun run =
        Run({"net.txt", "--params=params", "--feeds=x=long.npy", "--fetches=y=y.npy"}, backend);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    Scope written;
    written.Set("y", *LoadNpy(folder_.Path("y.npy")));
    EXPECT_EQ(PrintParameters(written), "y f32[1,3] 2 4 6\n");
  }
}

TEST_F(Infer, WhatAnOpOverwritesIsFed) {
  folder_.Write("over.txt", R"(var x f32[-1,2]
var y f32[-1,2]
scale(X=x) -> (Out=x) {scale=3.0}
scale(X=x) -> (Out=y) {scale=2.0}
)");
  Save("labels.npy", Tensor::FromValues<int64_t>({2}, {1, 1}));
  for (const std::string& backend : BackendNames()) {
    const BinaryRun run = Run({"over.txt", "--feeds=x=x.npy", "--fetches=y=y.npy"}, backend);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    Scope written;
    written.Set("y", *LoadNpy(folder_.Path("y.npy")));
    EXPECT_EQ(PrintParameters(written), "y f32[2,2] 6 12 18 24\n");
    const BinaryRun measured =
        Run({"over.txt", "--data=npy:x=x.npy,labels=labels.npy", "--scores=y"}, backend);
    EXPECT_EQ(measured.exit_code, 0) << measured.err;
    EXPECT_EQ(measured.out, "samples 2, accuracy 100.00 %\n");
  }
}

TEST_F(Infer, AnArrayGoesToStandardOutput) {
  const BinaryRun run = Run({"net.txt", "--params=params", "--feeds=x=x.npy", "--fetches=y=-"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(absl::StartsWith(run.out, "\x93NUMPY"));
  EXPECT_EQ(run.err, "wrote -\n");
}

// A disk that is full after 100 bytes of a file.
TEST_F(Infer, AnArrayThatDoesNotFitOnTheDiskIsNotHalfWritten) {
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  options.largest_file = 100;
  const std::vector<std::string> before = folder_.Files();
  const BinaryRun run =
      RunBinary("tools/infer",
                {"net.txt", "--params=params", "--feeds=x=x.npy", "--fetches=y=y.npy"}, options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err, "infer: y.npy: cannot be written: File too large\n");
  EXPECT_EQ(folder_.Files(), before);
}

TEST_F(Infer, ADataSetIsMeasured) {
  folder_.Write("zero.txt", kAlwaysZero);
  const BinaryRun run = Run({"zero.txt", "--data=digits:500", "--scores=scores", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"images\": 100,\n  \"accuracy\": 0.1\n"));
}

TEST_F(Infer, ArraysAreMeasuredComparedAndTimed) {
  Save("labels.npy", Tensor::FromValues<int64_t>({2}, {1, 0}));
  const std::string data = "--data=npy:x=x.npy,labels=labels.npy";
  const BinaryRun measured = Run({"net.txt", "--params=params", data});
  EXPECT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_EQ(measured.out, "samples 2, accuracy 50.00 %\n");
  const BinaryRun json = Run({"net.txt", "--params=params", data, "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"samples\": 2,"));
  const BinaryRun compared =
      Run({"net.txt", "--params=params", data, "--compare=net.txt", "--compare_backend=onednn"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("0 elements differ, of 4 in 1 variables"));
  const BinaryRun timed =
      Run({"net.txt", "--params=params", data, "--bench", "--seconds=0"}, /*backend=*/"");
  EXPECT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_THAT(timed.out, HasSubstr("batch size 2, threads 1\n"));
}

// y is what the sum of each sequence is.
TEST_F(Infer, SequencesAreCutByLengths) {
  folder_.Write("sums.txt", R"(var x f32[-1,2] lod=1
var y f32[-1,2]
var max_index i32[-1,2]
sequence_pool(X=x) -> (Out=y, MaxIndex=max_index) {pooltype="SUM"}
)");
  Save("rows.npy", Tensor::FromValues<float>({3, 2}, {0, 1, 5, 0, 0, 2}));
  Save("lengths.npy", Tensor::FromValues<int64_t>({2}, {2, 1}));
  Save("labels.npy", Tensor::FromValues<int64_t>({2}, {0, 1}));
  for (const std::string& backend : BackendNames()) {
    const BinaryRun run = Run(
        {"sums.txt", "--data=npy:x=rows.npy,x.lengths=lengths.npy,labels=labels.npy", "--scores=y"},
        backend);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, "samples 2, accuracy 100.00 %\n");
  }
}

TEST_F(Infer, WhatIsWrongWithDataIsTold) {
  Save("nan.npy", Tensor::FromValues<float>({2, 2}, {1, 2, 3, std::nanf("")}));
  Save("labels.npy", Tensor::FromValues<int64_t>({2}, {1, 0}));
  Save("three.npy", Tensor::FromValues<int64_t>({3}, {1, 0, 1}));
  Save("doubles.npy", Tensor::FromValues<double>({2, 2}, {1, 2, 3, 4}));
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    std::string error;
  } kCases[] = {
      {{"--data=npz:none.npz"}, 3, "none.npz: "},
      {{"--data=npy:X=x.npy,labels=labels.npy"},
       3,
       "net.txt: the program is fed \"x\", and no field of the samples has that name; not fed are "
       "\"X\""},
      {{"--data=npy:x=x.npy,labels=three.npy"},
       3,
       "three.npy: \"labels\" has 3 samples, and \"x\" has 2; want as many"},
      {{"--data=npy:x=doubles.npy,labels=labels.npy"},
       3,
       "net.txt: doubles.npy: a sample of \"x\" is FP64; want what the program declares of \"x\", "
       "FP32"},
      {{"--data=npy:x=x.npy"}, 3, "nothing is measured: the program has no loss, and the samples "},
      {{"--data=npy:x=nan.npy,labels=labels.npy", "--check_finite"},
       4,
       "nan.npy: sample 1 of \"x\": element 1 is nan; want finite numbers"},
      {{"--data=npy:x=x.npy", "--feeds=x=x.npy", "--bench"}, 2, "--feeds and --data: "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.error);
    std::vector<std::string> arguments = {"net.txt", "--params=params"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const BinaryRun run = Run(arguments, /*backend=*/"");
    EXPECT_EQ(run.exit_code, c.exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.error));
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(Infer, TheLossIsToldWhereItIsNamed) {
  folder_.Write("zero.txt", absl::StrCat(kAlwaysZero, "mean(X=no_ink) -> (Out=loss)\n"));
  const BinaryRun run = Run({"zero.txt", "--data=digits:100", "--scores=scores", "--loss=loss"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "images 20, loss 0.0000, accuracy 10.00 %\n");
}

TEST_F(Infer, TimesAndMemoryAreMeasured) {
  const BinaryRun run = Run({"net.txt", "--params=params", "--bench", "--seconds=0"}, "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, MatchesRegex("runs          1, batch size 64, threads 1\n"
                                    "latency       p50 [0-9.]+ ms, p90 [0-9.]+ ms, p99 [0-9.]+ ms\n"
                                    "throughput    [0-9.]+ samples a second\n"
                                    "first output  [0-9.]+ ms\n"
                                    "peak memory   [0-9]+ bytes\n"
                                    "bytes moved   1028 a run, [0-9.]+ GB/s\n"
                                    "parameters    4 bytes\n"
                                    "constants     [0-9]+ bytes\n"));
}

TEST_F(Infer, MeasurementsAreJsonToo) {
  const BinaryRun run = Run({"net.txt", "--params=params", "--bench", "--seconds=0.01", "--json",
                             "--feeds=x=x.npy", "--threads=2"},
                            "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"batch_size\": 2,\n  \"threads\": 2,\n  \"latency_ms\": {\n"));
  EXPECT_THAT(run.out, HasSubstr("\"bytes_moved\": 36,\n  \"parameter_bytes\": 4,\n"));
}

// The labels, whose shape nothing says, are not needed for them.
TEST_F(Infer, TheOutputsThatAreTimedMayBeNamed) {
  folder_.Write("two.txt", R"(var x f32[-1,2]
var labels i64[-1,-1]
var a f32[-1,2]
var b f32[-1,2]
var c i64[-1,-1]
relu(X=x) -> (Out=a)
relu(X=a) -> (Out=b)
assign(X=labels) -> (Out=c)
)");
  const BinaryRun one = Run({"two.txt", "--bench", "--seconds=0", "--fetches=a"}, "");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("bytes moved   1024 a run"));
  const BinaryRun both = Run({"two.txt", "--bench", "--seconds=0", "--fetches=a,b"}, "");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("bytes moved   1536 a run"));
}

TEST_F(Infer, ProductsOfCodesThatAreSlowOnTheMachineAreToldOf) {
  // The product of x with itself, of rows of so many elements.
  const auto squares = [](int bits, int inner) {
    return absl::StrCat("program version=2006002\nblock 0 {\nvar x f32[-1,", inner,
                        "]\nvar q f32[-1,", inner, R"(]
var s f32[1]
var y f32[-1,-1]
fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s) {bit_length=)",
                        bits, "}\nmatmul(X=q, Y=q) -> (Out=y) {transpose_Y=true}\n}\n");
  };
  folder_.Write("few.txt", squares(8, 2));
  folder_.Write("many.txt", squares(8, 300));
  folder_.Write("wide.txt", squares(16, 2));
  folder_.Write("no_product.txt", kCodes);
  Save("long.npy", Tensor::FromValues<float>({2, 300}, std::vector<float>(600, 1)));
  const auto run_on = [&](const std::string& instructions, const std::string& program) {
    setenv("ONEDNN_MAX_CPU_ISA", instructions.c_str(), /*overwrite=*/1);
    const std::string feed = program == "many.txt" ? "--feeds=x=long.npy" : "--feeds=x=x.npy";
    const BinaryRun run = Run({program, feed, "--fetches=y=y.npy", "--dump_plan"}, "onednn");
    unsetenv("ONEDNN_MAX_CPU_ISA");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run;
  };
  const BinaryRun without_avx2 = run_on("SSE41", "few.txt");
  EXPECT_EQ(
      without_avx2.err,
      "note: few.txt: slower than in float on this machine (SSE4.1), with the same results: 1 of "
      "1 products of codes; --dump_plan marks them, and a rule with skip: true leaves an op in "
      "float\n");
  EXPECT_THAT(without_avx2.out,
              ContainsRegex("matmul on integers <.*, 0\\.[0-9]+ of the speed of floats> "));
  EXPECT_THAT(run_on("SSE41", "many.txt").err, HasSubstr("1 of 1 products of codes"));
  EXPECT_EQ(run_on("SSE41", "wide.txt").err, "");
  EXPECT_EQ(run_on("SSE41", "no_product.txt").err, "");
  if (kernels::BestInstructionSet() == kernels::InstructionSet::kSse41) {
    GTEST_SKIP() << "the machine has no AVX2";
  }
  for (const char* program : {"few.txt", "many.txt"}) {
    const BinaryRun with_avx2 = run_on("AVX2", program);
    EXPECT_EQ(with_avx2.err, "");
    EXPECT_THAT(with_avx2.out, Not(HasSubstr("of the speed of floats")));
  }
}

TEST_F(Infer, WhatIsWrongIsToldByExitCode) {
  Save("bytes.npy", Tensor::FromValues<uint8_t>({2, 2}, {1, 2, 3, 4}));
  Save("row.npy", Tensor::FromValues<float>({2}, {1, 2}));
  folder_.Write("train.txt",
                absl::StrCat(kProgram, "relu_grad(Out=y, Out@GRAD=y) -> (X@GRAD=y) {op_role=1}\n"));
  folder_.Write("zero.txt", kAlwaysZero);
  folder_.Write("other.txt", absl::StrCat(kProgram, "var other f32[2] persistable\n"));
  folder_.Write("undeclared.txt", R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var y f32[-1,3]
feed(X=feed) -> (Out=x) {col=0}
relu(X=x) -> (Out=y)
fetch(X=y) -> (Out=fetch) {col=0}
)");
  const std::string params = "--params=params";
  const std::string fetch = "--fetches=y=y.npy";
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string error;
  };
  const std::vector<Case> cases = {
      {{"net.txt", params},
       2,
       "nothing to do; want --fetches=NAME=FILE.npy, --data=mnist:FOLDER or another, "
       "--compare=OTHER, or --bench"},
      {{"net.txt", params, fetch, "--data=digits:50"},
       2,
       "--fetches and --data: one of them at a time"},
      {{"net.txt", params, "--feeds=x=x.npy,x=row.npy", fetch},
       2,
       "--feeds: \"x\" is named twice; want one file"},
      {{"net.txt", fetch, "--json"},
       2,
       "--json is not a flag of arrays; it is one of data, compare and bench"},
      {{"net.txt", fetch}, 2, "net.txt has 1 parameters; want --params=FILE"},
      {{"net.txt", params, "--fetches=y"}, 2, "--fetches: \"y\"; want NAME=FILE.npy"},
      {{"net.txt", params, "--fetches=yy=y.npy"},
       2,
       "--fetches: block 0 of net.txt has no variable \"yy\""},
      {{"net.txt", params, "--feeds=z=x.npy", fetch},
       2,
       "--feeds: block 0 of net.txt has no variable \"z\""},
      {{"net.txt", params, "--feeds=x=x.npy", "--fetches=y=x.npy"}, 2, "would replace the input"},
      {{"net.txt", params, "--data=mnist"}, 2, "--data: \"mnist\" is not a data set"},
      {{"zero.txt", "--data=digits:50"},
       2,
       "zero.txt has no cross entropy and not one fetch: which variable holds the scores of the "
       "classes? --scores=NAME"},
      {{"net.txt", params, fetch, "--threads=200000"}, 2, "--threads=200000; want 1 to 1024"},
      {{"net.txt", params, "--bench", "--compare=net.txt"}, 2, "--bench and --compare: one of"},
      {{"net.txt", params, "--bench", "--seconds=-1"}, 2, "--seconds=-1; want 0 or more"},
      {{"net.txt", params, "--bench", "--feeds=y=x.npy"}, 2, "--feeds: net.txt is not fed \"y\""},
      {{"net.txt", params, "--bench", "--fetches=z"},
       2,
       "--fetches: block 0 of net.txt has no variable \"z\""},
      {{"net.txt", params, "--bench", "--fetches=y=y.npy"},
       2,
       "--fetches: \"y=y.npy\"; --bench writes no outputs: want their names alone"},
      {{"net.txt", params, "--bench", "--scores=z"},
       2,
       "--scores: block 0 of net.txt has no variable \"z\""},
      {{"net.txt", params, "--compare=net.txt", "--batches=0"}, 2, "--batches=0"},
      {{"net.txt", params, "--compare=net.txt", "--compare_backend=gpu"}, 2, "--compare_backend: "},
      {{"net.txt", params, "--compare=net.txt", "--data=digits:50", "--feeds=x=x.npy"},
       2,
       "--feeds and --data: what is compared runs on one of them"},
      {{"net.txt", params, "--compare=net.txt", "--feeds=z=x.npy"},
       2,
       "--feeds: block 0 of net.txt has no variable \"z\""},
      {{"net.txt", params, "--data=digits:50", "--scores=z"},
       2,
       "--scores: block 0 of net.txt has no variable \"z\""},
      {{"undeclared.txt", "--bench"},
       3,
       "undeclared.txt: block 0, op 0 (feed): output Out names \"x\", which no block declares"},
      {{"undeclared.txt", "--feeds=x=x.npy", fetch},
       3,
       "undeclared.txt: block 0, op 0 (feed): output Out names \"x\", which no block declares"},
      {{"net.txt", "--params=nowhere", fetch}, 3, "nowhere: "},
      {{"net.txt", params, "--compare=none.txt"}, 3, "none.txt: cannot be read"},
      {{"net.txt", params, "--compare=other.txt"},
       3,
       "; --compare_params=WHERE gives the parameters of other.txt"},
      {{"net.txt", params, "--compare=net.txt", "--compare_params=none"}, 3, "none: "},
      {{"net.txt", params, "--compare=zero.txt"},
       4,
       "no tensor is written under the same name in net.txt and zero.txt"},
      {{"net.txt", params, "--feeds=x=none.npy", fetch}, 3, "none.npy: cannot be opened"},
      {{"net.txt", params, "--feeds=x=bytes.npy", fetch},
       3,
       "bytes.npy: is UINT8 [2, 2]; want what the program declares of \"x\", FP32 [-1, 2]"},
      {{"net.txt", params, "--feeds=x=row.npy", fetch},
       3,
       "row.npy: is FP32 [2]; want what the program declares of \"x\", FP32 [-1, 2]"},
      {{"net.txt", params, fetch}, 2, "net.txt is fed \"x\"; want --feeds=x=FILE.npy"},
      {{"train.txt", params, fetch},
       4,
       "train.txt: block 0, op 3 (relu_grad) is an op of training; want a test program (transpile "
       "--mode=test makes one)"},
      {{"net.txt", params, "--feeds=x=x.npy", "--fetches=y=nowhere/y.npy"},
       5,
       "nowhere/y.npy: cannot be written"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrJoin(c.arguments, " "));
    const bool is_bench = std::count(c.arguments.begin(), c.arguments.end(), "--bench") > 0;
    const BinaryRun run = Run(c.arguments, is_bench ? "" : "reference");
    EXPECT_EQ(run.exit_code, c.exit_code);
    EXPECT_THAT(run.err, HasSubstr(c.error));
  }
}

// A NaN would be a code like any other, and nothing of it seen.
TEST_F(Infer, ValuesThatAreNotFiniteAreLookedFor) {
  folder_.Write("log.txt", R"(var x f32[-1,2]
var y f32[-1,2]
var q f32[-1,2]
var s f32[1]
log(X=x) -> (Out=y)
fake_quantize_abs_max(X=y) -> (Out=q, OutScale=s) {bit_length=8}
)");
  Save("negative.npy", Tensor::FromValues<float>({1, 2}, {1, -1}));
  const std::vector<std::string> arguments = {"log.txt", "--feeds=x=negative.npy",
                                              "--fetches=q=q.npy"};
  std::vector<std::string> looking = arguments;
  looking.emplace_back("--check_finite");
  for (const std::string& backend : BackendNames()) {
    EXPECT_EQ(Run(arguments, backend).exit_code, 0);
    const BinaryRun run = Run(looking, backend);
    EXPECT_EQ(run.exit_code, 4);
    EXPECT_THAT(run.err, HasSubstr("log.txt: block 0, op 0 (log): element 1 of "));
    EXPECT_THAT(run.err, HasSubstr("nan; want finite numbers"));
  }
}

TEST_F(Infer, ALoopWithoutAnEndEnds) {
  folder_.Write("loop.txt", R"(program version=2006002
block 0 {
  var c bool[1]
  var x f32[1]
  var s step_scopes
  fill_constant() -> (Out=x) {shape=[1L], dtype=5, value=1.0}
  fill_constant() -> (Out=c) {shape=[1L], dtype=0, value=1.0}
  while(X=x, Condition=c) -> (Out=x, StepScopes=s) {sub_block=block(1), is_test=true}
}
block 1 parent=0 {
  relu(X=x) -> (Out=x)
}
)");
  for (const std::string& backend : BackendNames()) {
    const BinaryRun run = Run({"loop.txt", "--fetches=x=x.npy"}, backend);
    EXPECT_EQ(run.exit_code, 4);
    EXPECT_THAT(run.err,
                HasSubstr("loop.txt: block 0, op 2 (while): the loops of this run have gone round "
                          "100000 times, the most that --max_iterations"));
    EXPECT_THAT(Run({"loop.txt", "--fetches=x=x.npy", "--max_iterations=7"}, backend).err,
                HasSubstr("gone round 7 times"));
  }
}

TEST_F(Infer, HelpTellsTheFlagsOfEachUse) {
  const BinaryRun run = Run({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  std::vector<std::string> titles;
  for (absl::string_view line : absl::StrSplit(run.out, '\n')) {
    if (absl::EndsWith(line, ":")) titles.emplace_back(line);
  }
  EXPECT_THAT(
      titles,
      ElementsAre(
          "What runs:", "Flags of arrays, compare and bench:", "Flags of arrays and bench:",
          "Flags of arrays, data and compare:", "Flags of arrays, data and bench:",
          "Flags of arrays and data:", "Flags of data, compare and bench:", "Flags of data:",
          "Flags of data and bench:", "Flags of compare:", "Flags of bench:", "Examples:"));
}

}  // namespace
}  // namespace fixpoint
